/* shapes.c - programs of shapes that others have, late for known reasons
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     shapes late     the last rank sleeps 8 ms more, then all meet
 *     shapes threads  two threads of each rank meet those of the others, each
 * in a communicator of its own, while the first one waits for both; of the last
 * rank the second one sleeps 8 ms more
 *
 * Each step is 40 times. The lines that take the time end in "here: NAME". Each
 * rank prints how long one of its threads at least was outside MPI between its
 * first and its last step, and how long these took:
 *
 *     outside RANK NS OF_NS
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STEPS 40
#define THREADS 2

static int rank, size;
static MPI_Comm comms[THREADS];

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void sleep_of_all(void)
{
    struct timespec pause = {0, 2000000};

    (void)nanosleep(&pause, NULL); /* here: all */
}

static void sleep_late(void)
{
    struct timespec pause = {0, 8000000};

    (void)nanosleep(&pause, NULL); /* here: late */
}

static void meet(MPI_Comm comm)
{
    double mine = 1, sum;

    (void)MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

/* The steps of one thread; how long it was outside MPI in them. */
static int64_t steps(int is_late, MPI_Comm comm)
{
    int64_t outside = 0;

    for (int i = 0; i < STEPS; i++) {
        int64_t begin = now();

        sleep_of_all();
        if (is_late) {
            sleep_late();
        }
        outside += now() - begin;
        meet(comm);
    }
    return outside;
}

struct part {
    int number;
    int64_t outside;
};

static void *part_run(void *argument)
{
    struct part *part = argument;

    part->outside =
        steps(rank == size - 1 && part->number == 1, comms[part->number]);
    return NULL;
}

static int64_t threads(void)
{
    struct part parts[THREADS] = {{0, 0}, {1, 0}};
    pthread_t ids[THREADS];

    for (int i = 0; i < THREADS; i++) {
        (void)pthread_create(&ids[i], NULL, part_run, &parts[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(ids[i], NULL);
    }
    return parts[1].outside;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "late";
    int64_t begin, outside;
    int provided;

    (void)MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < THREADS; i++) {
        (void)MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    begin = now();
    if (strcmp(what, "threads") == 0) {
        outside = threads();
    } else {
        outside = steps(rank == size - 1, MPI_COMM_WORLD);
    }
    printf("outside %d %lld %lld\n", rank, (long long)outside,
           (long long)(now() - begin));
    (void)MPI_Finalize();
    return 0;
}
