/* large.c - calls with 64-bit counts (MPI-4), on two ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Count counts[2] = {3, 5};
    MPI_Aint displacements[2] = {0, 8};
    int out[64] = {0};
    int in[64];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Send_c(out, 10, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv_c(in, 64, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allgatherv_c(out, counts[rank], MPI_INT, in, counts, displacements,
                     MPI_INT, MPI_COMM_WORLD);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
