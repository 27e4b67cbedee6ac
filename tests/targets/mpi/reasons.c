/* reasons.c - a late rank whose reason is a function that calls a helper
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * All ranks smooth in each step; rank 2 does remesh as well, from step 20 on.
 * Both compute in kernel().
 */
#include <mpi.h>

#define STEPS 80
#define FIRST 20

static volatile double sink;

__attribute__((noipa)) static void kernel(double from, int rounds)
{
    double sum = 0;

    for (int i = 0; i < rounds * 1000; i++) {
        sum += 1.0 / (from + i + 1); /* here: kernel */
    }
    sink = sum;
}

__attribute__((noipa)) static void smooth(int parts)
{
    for (int i = 0; i < parts; i++) {
        kernel(i, 20);
    }
}

__attribute__((noipa)) static void remesh(int parts)
{
    for (int i = 0; i < parts; i++) {
        kernel(i, 40);
    }
}

__attribute__((noipa)) static void step(int rank, int number)
{
    smooth(40);
    if (rank == 2 && number >= FIRST) {
        remesh(60);
    }
}

int main(int argc, char **argv)
{
    int rank, sum, one = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < STEPS; i++) {
        step(rank, i);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
