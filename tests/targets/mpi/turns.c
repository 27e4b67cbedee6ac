/* turns.c - programs whose late rank, or its reason, is not the same all along
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     turns wander   in each step the next rank sleeps 8 ms more
 *     turns two      of the steps rank 0 sleeps 8 ms more in one half and the
 *                    last rank calls usleep for as long in the other
 *     turns seventh  rank 1 sleeps 8 ms more in each seventh step
 *     turns lock     a thread of rank 1 holds a lock for 8 ms, for which the
 *                    first one waits
 *     turns pairs    rank 1 sleeps 8 ms more, then pairs of ranks meet in turn,
 *                    each in a communicator of its own
 *
 * All sleep 2 ms a step and meet. Each rank prints how long it took more than
 * that: "late RANK NS"; and when it came to each meeting and left the one
 * before: "came RANK NS LEFT".
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEPS 70
#define RANKS_MAX 16

static int rank, size;
static int64_t late;
static int64_t came[STEPS], left[STEPS + 1];
static MPI_Comm pairs[RANKS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void rest(long ns)
{
    struct timespec pause = {0, ns};

    (void)nanosleep(&pause, NULL);
}

static void *hold(void *barrier)
{
    (void)pthread_mutex_lock(&lock);
    (void)pthread_barrier_wait(barrier);
    rest(8000000); /* here: hold */
    (void)pthread_mutex_unlock(&lock);
    return NULL;
}

static void want(void)
{
    pthread_barrier_t barrier;
    pthread_t holder;

    (void)pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&holder, NULL, hold, &barrier) == 0) {
        (void)pthread_barrier_wait(&barrier);
        (void)pthread_mutex_lock(&lock); /* here: want */
        (void)pthread_mutex_unlock(&lock);
        (void)pthread_join(holder, NULL);
    }
    (void)pthread_barrier_destroy(&barrier);
}

static void more(const char *how, int step)
{
    if (strcmp(how, "lock") == 0) {
        want();
    } else if (strcmp(how, "two") == 0 && step % 2 == 0) {
        (void)usleep(8000); /* here: second */
    } else {
        rest(8000000); /* here: more */
    }
}

static int is_late(const char *how, int step)
{
    if (strcmp(how, "wander") == 0) {
        return step % size == rank;
    }
    if (strcmp(how, "two") == 0) {
        return rank == (step % 2 == 0 ? size - 1 : 0);
    }
    return rank == 1 && (strcmp(how, "seventh") != 0 || step % 7 == 0);
}

static void meet(const char *how)
{
    double mine = 1, sum;

    if (strcmp(how, "pairs") != 0) {
        (void)MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM,
                            MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < size; i++) {
        if (pairs[i] != MPI_COMM_NULL) {
            (void)MPI_Barrier(pairs[i]);
        }
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size && i < RANKS_MAX; i++) {
        int is_in = rank == i || rank == (i + 1) % size;

        (void)MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, rank,
                             &pairs[i]);
    }
    (void)MPI_Barrier(MPI_COMM_WORLD);
    left[0] = now();
    for (int i = 0; i < STEPS; i++) {
        int64_t begin;

        rest(2000000);
        begin = now();
        if (is_late(how, i)) {
            more(how, i);
            late += now() - begin;
        }
        came[i] = now();
        meet(how);
        left[i + 1] = now();
    }
    for (int i = 0; i < STEPS; i++) {
        printf("came %d %lld %lld\n", rank, (long long)came[i],
               (long long)left[i]);
    }
    printf("late %d %lld\n", rank, (long long)late);
    (void)fflush(stdout);
    (void)MPI_Finalize();
    return 0;
}
