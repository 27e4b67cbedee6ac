/* sleeps.c - ranks that sleep for known times between MPI calls
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     sleeps balance MS STEPS   rank i sleeps (i + 1) x MS, then all meet
 *     sleeps chain MS STEPS     each receives, sleeps MS and sends on
 *     sleeps unmarked MS STEPS  as balance, without marks of steps
 *     sleeps neighbours MS STEPS  the last rank sleeps MS, then those beside
 *                               each other on a line meet, then all
 *     sleeps ends MS STEPS      the last rank is MS late in MPI_Init, the first
 *                               one in MPI_Finalize
 *
 * Prints one line: the time from the first step's begin to the last one's end
 * over all ranks, and each rank's time outside MPI in it, by its own stamps. A
 * rank may have left MPI before another one begins its first step.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/inject/ck.h"

#if defined(CK_OPENMPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT(call) MPIX_##call
#else
#define PERSISTENT(call) MPI_##call
#endif

#define RANKS_MAX 64

struct stamps {
    int64_t begin;
    int64_t end;
    int64_t inside; /* in MPI, between these */
    int64_t left;   /* MPI, before the first step */
    int64_t back;   /* in MPI, after the last one */
};

#define STAMPS ((int)(sizeof(struct stamps) / sizeof(int64_t)))

static struct stamps stamps;
static int rank, size;

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}

static void pause_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0) {
    }
}

/* Before MPI gives the rank. */
static bool is_last(void)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    const char *count = getenv("OMPI_COMM_WORLD_SIZE");

    number = number == NULL ? getenv("PMI_RANK") : number;
    count = count == NULL ? getenv("PMI_SIZE") : count;
    return number != NULL && count != NULL && atoi(number) == atoi(count) - 1;
}

static void meet(void)
{
    int64_t start = now();

    MPI_Barrier(MPI_COMM_WORLD);
    stamps.inside += now() - start;
}

static void pass_on(long ms)
{
    int token = 0;
    int64_t start = now();

    if (rank > 0) {
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    stamps.inside += now() - start;
    pause_ms(ms);
    start = now();
    if (rank < size - 1) {
        MPI_Send(&token, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
    }
    stamps.inside += now() - start;
}

/* One of the ways to meet one's neighbours, in turn. */
static void beside_meet(MPI_Comm line, int step)
{
    static MPI_Request persistent = MPI_REQUEST_NULL;
    MPI_Request request;
    int in[2], out = rank;

    switch (step % 3) {
    case 0:
        MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, line);
        return;
    case 1:
        MPI_Ineighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, line,
                                &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    default:
        PERSISTENT(Neighbor_allgather_init)
        (&out, 1, MPI_INT, in, 1, MPI_INT, line, MPI_INFO_NULL, &persistent);
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        MPI_Request_free(&persistent);
        return;
    }
}

static void neighbours_step(long ms, int step)
{
    static MPI_Comm line = MPI_COMM_NULL;
    int is_periodic = 0;
    int64_t start = now();

    if (line == MPI_COMM_NULL) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &is_periodic, 0, &line);
    }
    stamps.inside += now() - start;
    pause_ms(rank == size - 1 ? ms : 0);
    start = now();
    beside_meet(line, step);
    stamps.inside += now() - start;
}

static void print(const struct stamps *all)
{
    int64_t begin = INT64_MAX, end = 0;

    for (int i = 0; i < size; i++) {
        begin = all[i].begin < begin ? all[i].begin : begin;
        end = all[i].end > end ? all[i].end : end;
    }
    printf("truth %lld", (long long)(end - begin));
    for (int i = 0; i < size; i++) {
        int64_t from = all[i].left > begin ? all[i].left : begin;
        int64_t to = all[i].back < end ? all[i].back : end;

        printf(" %lld", (long long)(to - from - all[i].inside));
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static struct stamps all[RANKS_MAX];
    long ms = argc > 2 ? strtol(argv[2], NULL, 10) : 20;
    int steps = argc > 3 ? atoi(argv[3]) : 5;

    bool is_marked = argc < 2 || strcmp(argv[1], "unmarked") != 0;

    if (argc > 1 && strcmp(argv[1], "ends") == 0) {
        pause_ms(is_last() ? ms : 0);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    stamps.left = now();
    for (int i = 0; i < steps; i++) {
        if (is_marked) {
            ck_step_begin(i);
        }
        stamps.begin = i == 0 ? now() : stamps.begin;
        if (argc > 1 && strcmp(argv[1], "chain") == 0) {
            pass_on(ms);
        } else if (argc > 1 && strcmp(argv[1], "ends") == 0) {
            pause_ms(1);
        } else if (argc > 1 && strcmp(argv[1], "neighbours") == 0) {
            neighbours_step(ms, i);
        } else {
            pause_ms(ms * (rank + 1));
        }
        meet();
        stamps.end = now();
        if (is_marked) {
            ck_step_end();
        }
    }
    stamps.back = now();
    MPI_Gather(&stamps, STAMPS, MPI_INT64_T, all, STAMPS, MPI_INT64_T, 0,
               MPI_COMM_WORLD);
    if (rank == 0) {
        print(all);
    }
    if (rank == 0 && argc > 1 && strcmp(argv[1], "ends") == 0) {
        pause_ms(ms);
    }
    MPI_Finalize();
    return size > RANKS_MAX;
}
