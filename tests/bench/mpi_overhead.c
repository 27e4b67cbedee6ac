/* mpi_overhead.c - what a wrapper adds to an 8-byte MPI_Allreduce
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks call PMPI_Allreduce and MPI_Allreduce in alternating blocks, so
 * with and without the wrapper are in one run; a barrier is between the
 * blocks. Rank 0 prints: pairs, median ns a call of either, median of the
 * differences of neighbouring blocks. mpi_overhead.sh compares tools.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BLOCK 1000
#define PAIRS 400

static double now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double block_plain(void)
{
    double in = 1;
    double out;
    double start;

    PMPI_Barrier(MPI_COMM_WORLD);
    start = now_ns();
    for (int i = 0; i < BLOCK; i++) {
        PMPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return (now_ns() - start) / BLOCK;
}

static double block_wrapped(void)
{
    double in = 1;
    double out;
    double start;

    PMPI_Barrier(MPI_COMM_WORLD);
    start = now_ns();
    for (int i = 0; i < BLOCK; i++) {
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return (now_ns() - start) / BLOCK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, PAIRS, sizeof(*values), by_value);
    return values[PAIRS / 2];
}

int main(int argc, char **argv)
{
    static double plain[PAIRS];
    static double wrapped[PAIRS];
    static double added[PAIRS];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        (void)block_plain();
        (void)block_wrapped();
    }
    for (int i = 0; i < PAIRS; i++) {
        plain[i] = block_plain();
        wrapped[i] = block_wrapped();
        added[i] = wrapped[i] - plain[i];
    }
    if (rank == 0) {
        printf("pairs %d plain %.1f wrapped %.1f added %.1f\n", PAIRS,
               median(plain), median(wrapped), median(added));
    }
    MPI_Finalize();
    return 0;
}
