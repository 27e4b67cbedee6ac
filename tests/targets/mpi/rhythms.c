/* rhythms.c - programs that mark no steps, with and without a rhythm
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     rhythms setup     63 tiny collectives in a row, then work without one
 *     rhythms output    320 steps, output in each 20th of them
 *     rhythms nested    20 steps of a solver that iterates as long as it takes
 *     rhythms rows      40 steps; the ranks of each row meet in each, then all
 *     rhythms leaders   the same, and in each step some ranks meet once more
 *     rhythms few       9 steps
 *     rhythms burst     one place is called three times in each of 30 steps
 *     rhythms window    1000 steps; in 400 to 449 the last rank is late
 *     rhythms phase     as window, but neighbours only exchange messages, and
 *                       nothing in it can be taken for a step
 *
 * The shapes of molecular dynamics (setup, output), of implicit solvers
 * (nested), of transforms on a grid of ranks (rows, leaders), and of
 * benchmarks. A line with "the step" or "not a step" ends what a reader would
 * call one. Each rank prints when it left each of these, or in window and
 * phase when it came to each wait; and when it left MPI_Init and came to
 * MPI_Finalize:
 *
 *     left RANK NUMBER NS
 *     came RANK NUMBER NS
 *     within RANK NS NS
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STAMPS 1000

static int rank, size;
static int64_t left[STAMPS], came[STAMPS];
static int lefts, cames;

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}

static void work_us(long us)
{
    struct timespec left = {us / 1000000, us % 1000000 * 1000};

    while (nanosleep(&left, &left) != 0) {
    }
}

static double sum(double value)
{
    double all = value;

    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void setup(void)
{
    double value = 0;

    for (int i = 0; i < 63; i++) {
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* not a step */
    }
    for (int i = 0; i < 300; i++) {
        work_us(1000);
    }
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void output(void)
{
    double all[64], value = 0;

    for (int i = 1; i <= 320; i++) {
        work_us(1000);
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD); /* the step */
        left[lefts++] = now();
        if (i % 20 == 0) {
            MPI_Gather(&value, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0,
                       MPI_COMM_WORLD); /* not a step */
        }
    }
}

static void nested(void)
{
    double value = 0;

    for (int i = 0; i < 20; i++) {
        work_us(5000);
        for (int k = 0; k < 8 + i * 7 % 11; k++) {
            work_us(500);
            MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX,
                          MPI_COMM_WORLD); /* not a step */
        }
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* the step */
        left[lefts++] = now();
    }
}

static void rows(int has_leaders)
{
    MPI_Comm row, leaders;
    double value = 0;

    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, rank,
                   &leaders);
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 3; k++) {
            work_us(2000);
            MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, row);
        }
        if (has_leaders && leaders != MPI_COMM_NULL) {
            MPI_Bcast(&value, 1, MPI_DOUBLE, 0, leaders);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* the step */
        left[lefts++] = now();
    }
}

static void few(void)
{
    for (int i = 0; i < 9; i++) {
        work_us(20000);
        MPI_Barrier(MPI_COMM_WORLD); /* not a step */
    }
}

static void burst(void)
{
    double value = 0;

    for (int i = 0; i < 30; i++) {
        work_us(8000);
        for (int k = 0; k < 3; k++) {
            MPI_Bcast(&value, 1, MPI_DOUBLE, 0,
                      MPI_COMM_WORLD); /* not a step */
        }
    }
}

static void window(void)
{
    for (int i = 0; i < 1000; i++) {
        int is_late = rank == size - 1 && i >= 400 && i < 450;

        work_us(is_late ? 20000 : 1000);
        came[cames++] = now();
        MPI_Barrier(MPI_COMM_WORLD); /* the step */
    }
}

static void phase(void)
{
    double value = 0;
    int other = rank ^ 1;

    for (int i = 0; i < 1000; i++) {
        int is_late = rank == size - 1 && i >= 400 && i < 450;

        work_us(is_late ? 20000 : 1000);
        came[cames++] = now();
        if (other < size) {
            MPI_Sendrecv_replace(&value, 1, MPI_DOUBLE, other, 1, other, 1,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static void stamps_print(int64_t begin)
{
    for (int i = 0; i < lefts; i++) {
        printf("left %d %d %lld\n", rank, i, (long long)left[i]);
    }
    for (int i = 0; i < cames; i++) {
        printf("came %d %d %lld\n", rank, i, (long long)came[i]);
    }
    printf("within %d %lld %lld\n", rank, (long long)begin, (long long)now());
}

int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "output";
    int64_t begin;

    MPI_Init(&argc, &argv);
    begin = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    (void)sum(1);
    if (strcmp(shape, "setup") == 0) {
        setup();
    } else if (strcmp(shape, "nested") == 0) {
        nested();
    } else if (strcmp(shape, "rows") == 0 || strcmp(shape, "leaders") == 0) {
        rows(shape[0] == 'l');
    } else if (strcmp(shape, "few") == 0) {
        few();
    } else if (strcmp(shape, "burst") == 0) {
        burst();
    } else if (strcmp(shape, "window") == 0) {
        window();
    } else if (strcmp(shape, "phase") == 0) {
        phase();
    } else {
        output();
    }
    stamps_print(begin);
    MPI_Finalize();
    return 0;
}
