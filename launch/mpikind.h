/* mpikind.h - which MPI a program is linked with
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_LAUNCH_MPIKIND_H
#define CK_LAUNCH_MPIKIND_H

/* Families of MPI libraries, by how a launcher has to start their ranks. */
enum mpi_kind {
    CK_MPI_UNKNOWN, /* not linked with MPI, a script, or another library */
    CK_MPI_OPEN,    /* Open MPI: PMIx */
    CK_MPI_MPICH,   /* MPICH and what has its interface (Intel, MVAPICH) */
};

/* By the names of the libraries that the file itself asks the loader for. */
enum mpi_kind mpi_kind_of(const char *path);

#endif
