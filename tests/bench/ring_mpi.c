/* ring_mpi.c - each rank sends to the next, and now and then all meet
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     ring_mpi [ROUNDS]
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;
    int rounds = argc > 1 ? atoi(argv[1]) : 20000;
    double mine = 1, sum;
    char out[8] = "", in[8];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++) {
        MPI_Request request;

        MPI_Isend(out, sizeof(out), MPI_CHAR, (rank + 1) % size, i % 7,
                  MPI_COMM_WORLD, &request);
        MPI_Recv(in, sizeof(in), MPI_CHAR, (rank + size - 1) % size, i % 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (i % 10 == 0) {
            MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
