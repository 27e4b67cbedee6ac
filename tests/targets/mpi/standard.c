/* standard.c - a program of MPI's standard interface (libmpi_abi)
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each rank sums 2,000 times over all, and ends with 0 where all sums are
 * right.
 */
#include <mpi.h>

#define TIMES 2000

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < TIMES; i++) {
        int in = rank + i, sum = 0;

        MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        wrong += sum != size * (size - 1) / 2 + size * i;
    }
    MPI_Finalize();
    return wrong != 0;
}
