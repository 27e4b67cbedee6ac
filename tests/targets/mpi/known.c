/* known.c - programs whose efficiencies are known without a tool
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     known SHAPE MS [spin|sleep] [barrier|finalize]
 *
 *     imbalance   rank i works (2 i + 1) x MS: 2/3 with two ranks, 4/7 with 4
 *     serial      the ranks work MS in turn, a barrier behind each: 1/n
 *     broadcast   the root works MS, broadcasts, then the others work MS: 1/2
 *     late        each receives, works MS and sends on: 1/n
 *     balanced    all work 4 x MS: 1
 *
 * Work is a busy loop or a sleep of so long by the clock. With `finalize` the
 * last wait is the one in MPI_Finalize, with `barrier` all meet before. No step
 * is marked. Each rank prints by its own stamps when it came back from MPI_Init
 * and went into MPI_Finalize, and its time in MPI between.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;
static bool is_asleep;
static int64_t inside; /* in MPI */

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}

static void work(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    int64_t until = now() + ms * 1000000;

    if (is_asleep) {
        while (nanosleep(&left, &left) != 0) {
        }
    }
    while (now() < until) {
    }
}

static void meet(void)
{
    int64_t start = now();

    MPI_Barrier(MPI_COMM_WORLD);
    inside += now() - start;
}

static void serial(long ms, bool is_met)
{
    for (int turn = 0; turn < size; turn++) {
        if (rank == turn) {
            work(ms);
        }
        if (turn < size - 1 || is_met) {
            meet();
        }
    }
}

static void broadcast(long ms)
{
    int token = 0;
    int64_t start;

    if (rank == 0) {
        work(ms);
    }
    start = now();
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    inside += now() - start;
    if (rank != 0) {
        work(ms);
    }
}

static void late(long ms)
{
    int token = 0;
    int64_t start = now();

    if (rank > 0) {
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    inside += now() - start;
    work(ms);
    start = now();
    if (rank < size - 1) {
        MPI_Send(&token, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
    }
    inside += now() - start;
}

int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "";
    long ms = argc > 2 ? strtol(argv[2], NULL, 10) : 50;
    bool is_met = argc > 4 && strcmp(argv[4], "barrier") == 0;
    int64_t back, last;

    is_asleep = argc > 3 && strcmp(argv[3], "sleep") == 0;
    MPI_Init(&argc, &argv);
    back = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(shape, "imbalance") == 0) {
        work((2 * rank + 1) * ms);
    } else if (strcmp(shape, "serial") == 0) {
        serial(ms, is_met);
    } else if (strcmp(shape, "broadcast") == 0) {
        broadcast(ms);
    } else if (strcmp(shape, "late") == 0) {
        late(ms);
    } else if (strcmp(shape, "balanced") == 0) {
        work(4 * ms);
    } else {
        fprintf(stderr, "known: no shape '%s'\n", shape);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (is_met && strcmp(shape, "serial") != 0) {
        meet();
    }
    last = now();
    printf("rank %d %lld %lld %lld\n", rank, (long long)back, (long long)last,
           (long long)inside);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
