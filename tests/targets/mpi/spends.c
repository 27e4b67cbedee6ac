/* spends.c - ranks that spend known times outside MPI, or want CPUs
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     spends parts ROUNDS MS FILE   each round computes, waits for a file's
 *                                   data, waits for a lock and sleeps, MS each;
 *                                   writes FILE.RANK to the disk
 *     spends spin MS                computes for so long, by the clock
 *     spends yield THREADS MS       (no MPI) threads that yield all the time
 *
 * "parts" prints what it spent by its own clocks, in ns:
 *     truth RANK CPU IO LOCK SLEEP     CPU is CPU time, the rest is elapsed
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#define MS 1000000LL

static int64_t now(clockid_t clock)
{
    struct timespec ts;

    (void)clock_gettime(clock, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void pause_ns(int64_t ns)
{
    struct timespec ts = {ns / 1000000000LL, ns % 1000000000LL};

    (void)nanosleep(&ts, NULL);
}

/* So much CPU time of this thread. */
static void compute(int64_t ns)
{
    int64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ns;

    while (now(CLOCK_THREAD_CPUTIME_ID) < until) {
        for (int i = 0; i < 20000; i++) {
            __asm__ volatile("" : : "r"(i));
        }
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meet;
static int pipe_ends[2];
static int rounds;
static int64_t length;

/* Holds the lock, and lets the reader wait for its data. */
static void *helper(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        (void)pthread_barrier_wait(&meet);
        pause_ns(length);
        if (write(pipe_ends[1], "x", 1) != 1) {
            abort();
        }
        (void)pthread_mutex_lock(&lock);
        (void)pthread_barrier_wait(&meet);
        pause_ns(length);
        (void)pthread_mutex_unlock(&lock);
    }
    return unused;
}

static int64_t io(int fd)
{
    int64_t begin = now(CLOCK_MONOTONIC);
    char byte;

    if (read(pipe_ends[0], &byte, 1) != 1 || write(fd, "data\n", 5) != 5 ||
        fsync(fd) != 0) {
        abort();
    }
    return now(CLOCK_MONOTONIC) - begin;
}

static int parts(const char *file)
{
    int64_t spent[4] = {0}, begin;
    char path[4096];
    pthread_t thread;
    int rank, fd;

    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)snprintf(path, sizeof(path), "%s.%d", file, rank);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || pipe(pipe_ends) != 0 ||
        pthread_barrier_init(&meet, NULL, 2) != 0 ||
        pthread_create(&thread, NULL, helper, NULL) != 0) {
        return 1;
    }
    (void)MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < rounds; i++) {
        begin = now(CLOCK_THREAD_CPUTIME_ID);
        compute(length);
        spent[0] += now(CLOCK_THREAD_CPUTIME_ID) - begin;
        (void)pthread_barrier_wait(&meet);
        spent[1] += io(fd);
        (void)pthread_barrier_wait(&meet);
        begin = now(CLOCK_MONOTONIC);
        (void)pthread_mutex_lock(&lock);
        (void)pthread_mutex_unlock(&lock);
        spent[2] += now(CLOCK_MONOTONIC) - begin;
        begin = now(CLOCK_MONOTONIC);
        pause_ns(length);
        spent[3] += now(CLOCK_MONOTONIC) - begin;
        (void)MPI_Barrier(MPI_COMM_WORLD);
    }
    (void)pthread_join(thread, NULL);
    printf("truth %d %lld %lld %lld %lld\n", rank, (long long)spent[0],
           (long long)spent[1], (long long)spent[2], (long long)spent[3]);
    return fflush(stdout);
}

static void spin(int64_t ns)
{
    int64_t until = now(CLOCK_MONOTONIC) + ns;

    while (now(CLOCK_MONOTONIC) < until) {
        for (int i = 0; i < 20000; i++) {
            __asm__ volatile("" : : "r"(i));
        }
    }
}

static int64_t yield_until;

static void *yield(void *unused)
{
    while (now(CLOCK_MONOTONIC) < yield_until) {
        (void)sched_yield();
    }
    return unused;
}

static int yield_all(int count, int64_t ns)
{
    pthread_t threads[64];

    yield_until = now(CLOCK_MONOTONIC) + ns;
    count = count < 64 ? count : 64;
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, yield, NULL) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc == 4 && strcmp(argv[1], "yield") == 0) {
        return yield_all(atoi(argv[2]), atoi(argv[3]) * MS);
    }
    (void)MPI_Init(&argc, &argv);
    if (argc == 5 && strcmp(argv[1], "parts") == 0) {
        rounds = atoi(argv[2]);
        length = atoi(argv[3]) * MS;
        status = parts(argv[4]);
    } else if (argc == 3 && strcmp(argv[1], "spin") == 0) {
        spin(atoi(argv[2]) * MS);
    } else {
        status = 2;
    }
    (void)MPI_Finalize();
    return status;
}
