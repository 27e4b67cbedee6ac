/* paced_mpi.c - one 8-byte MPI_Allreduce after each piece of work
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     paced_mpi --calibrate            iterations of work that take 10 us
 *     paced_mpi CALLS ITERATIONS [FILE]
 *                                      run; rank 0 prints ns a call, and writes
 *                                      when each block began and ended
 *
 * Work is a number of iterations, not a time, so that whatever slows the
 * program down shows in its time. The calls are timed in blocks; printed are
 * the mean of all, the median and the smallest of the blocks. ITERATIONS 0
 * makes calls as fast as they come. Below waker.c it writes a record of each
 * call itself, as large as ck's.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/barering.h"

#define BLOCK 500
#define BLOCKS_MAX 50000
#define WORK_NS 10000.0
#define RECORD_UNITS 3

static struct bare_writer writer;

static double now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double work(double x, long iterations)
{
    for (long i = 0; i < iterations; i++) {
        x = x * 0.999999 + 1e-6;
    }
    return x;
}

static long calibrate(void)
{
    const long probe = 1000000;
    volatile double sink = 1;
    double best = 1e18;

    for (int i = 0; i < 50; i++) {
        double begin = now_ns();

        sink = work(sink, probe);
        if (now_ns() - begin < best) {
            best = now_ns() - begin;
        }
    }
    return (long)(WORK_NS / best * (double)probe);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void block_run(long iterations, double *x)
{
    double sum;

    for (int i = 0; i < BLOCK; i++) {
        int64_t begin;

        *x = work(*x, iterations);
        begin = bare_now(&writer);
        MPI_Allreduce(x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        bare_record(&writer, RECORD_UNITS, begin, bare_now(&writer));
        *x = sum / 2;
    }
}

/* A line a block: when it began and ended, ns of CLOCK_MONOTONIC. */
static void times_write(const char *path, const double (*blocks)[2], int count)
{
    FILE *file = fopen(path, "w");

    if (file == NULL) {
        perror(path);
        return;
    }
    for (int b = 0; b < count; b++) {
        fprintf(file, "%.0f %.0f\n", blocks[b][0], blocks[b][1]);
    }
    (void)fclose(file);
}

static void run(int blocks, long iterations, const char *path)
{
    static double spans[BLOCKS_MAX][2];
    static double times[BLOCKS_MAX];
    double sum = 0;
    double x = 1;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    block_run(iterations, &x);
    for (int b = 0; b < blocks; b++) {
        double begin = now_ns();

        block_run(iterations, &x);
        spans[b][0] = begin;
        spans[b][1] = now_ns();
        times[b] = (spans[b][1] - begin) / BLOCK;
        sum += times[b];
    }
    qsort(times, (size_t)blocks, sizeof(*times), by_value);
    if (rank == 0) {
        printf("call mean %.2f ns median %.2f ns min %.2f ns result %.9f\n",
               sum / blocks, times[blocks / 2], times[0], x);
        if (path != NULL) {
            times_write(path, spans, blocks);
        }
    }
}

int main(int argc, char **argv)
{
    int blocks;

    if (argc == 2 && strcmp(argv[1], "--calibrate") == 0) {
        printf("%ld\n", calibrate());
        return 0;
    }
    blocks = argc == 3 || argc == 4 ? atoi(argv[1]) / BLOCK : 0;
    if (blocks < 1 || blocks > BLOCKS_MAX) {
        fprintf(stderr,
                "usage: paced_mpi --calibrate | CALLS ITERATIONS [FILE] "
                "(CALLS from %d to %d)\n",
                BLOCK, BLOCK * BLOCKS_MAX);
        return 2;
    }
    MPI_Init(&argc, &argv);
    writer = bare_open();
    run(blocks, atol(argv[2]), argv[3]);
    MPI_Finalize();
    return 0;
}
