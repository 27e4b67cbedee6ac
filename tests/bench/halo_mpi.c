/* halo_mpi.c - each rank swaps with both neighbours, and now and then all meet
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     halo_mpi [ROUNDS [ring]]
 *
 * As a solver of a grid does, in a ring of ranks. "ring": messages go one way
 * round only.
 */
#include <mpi.h>
#include <stdlib.h>

static char out[8];
static char in[8];

/* One message to a rank, one from another. */
static void swap(int to, int from, int tag)
{
    MPI_Request request;

    MPI_Isend(out, sizeof(out), MPI_CHAR, to, tag, MPI_COMM_WORLD, &request);
    MPI_Recv(in, sizeof(in), MPI_CHAR, from, tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size;
    int rounds = argc > 1 ? atoi(argv[1]) : 10000;
    int is_ring = argc > 2;
    double mine = 1, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++) {
        int next = (rank + 1) % size;
        int previous = (rank + size - 1) % size;

        swap(next, previous, i % 7);
        if (is_ring) {
            swap(next, previous, i % 7);
        } else {
            swap(previous, next, i % 7);
        }
        if (i % 5 == 0) {
            MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
