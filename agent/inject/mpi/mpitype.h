/* mpitype.h - bytes of a datatype, remembered
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_MPI_MPITYPE_H
#define CK_AGENT_INJECT_MPI_MPITYPE_H

#include <stdint.h>

/* Number of the types freed so far; a call takes it when it is entered. */
uint32_t mpi_type_generation(void);

/* MPI_Type_size of a type's handle, from a small table of this thread; 0 for
 * a type without one. Only for a type that a call has just used with success,
 * and with that call's generation: MPI hands a handle that is none to the
 * program's error handler, even if ck asks. 0 also where a type was freed
 * during the call and the table does not know this one. */
uint64_t mpi_type_bytes(uint64_t type, uint32_t generation);

/* A type is being freed: its handle may name another type from now on. */
void mpi_type_forget(void);

#endif
