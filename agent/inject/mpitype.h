/* mpitype.h - bytes of a datatype, remembered
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_MPITYPE_H
#define CK_AGENT_INJECT_MPITYPE_H

#include <stdint.h>

/* MPI_Type_size of a type's handle, from a small table of this thread; 0 for
 * a type without one. */
uint64_t mpi_type_bytes(uint64_t type);

/* A type is being freed: its handle may name another type from now on. */
void mpi_type_forget(void);

#endif
