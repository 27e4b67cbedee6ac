/* where.c - jobs that hang, each in its own way
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     where SHAPE    works a while, then rank 1 stays elsewhere than the
 *                    others, which meet in MPI_Barrier:
 *       loop         computes for ever
 *       pause        sleeps
 *       stop         stops itself (SIGSTOP)
 *       mismatch     is in MPI_Bcast
 *       locks        two threads of it want each other's lock
 *       read PATH    reads a pipe without a writer
 *       die          is killed (SIGKILL)
 *     where circle   each rank receives from the next one
 *     where row      rank 1 does not come to the barrier of the even or odd
 *                    ranks, the odd ones
 *
 * Each rank prints "rank N is there" before it stays.
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static volatile double sink;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void turn(void)
{
    struct timespec time = {0, 5000000};
    int out = rank, in = 0;

    (void)nanosleep(&time, NULL);
    MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

__attribute__((noinline)) static void spin(void)
{
    for (;;) {
        sink = sink * 0.5 + 1;
    }
}

__attribute__((noinline)) static void solve(void)
{
    spin();
    sink = 0;
}

__attribute__((noinline)) static void rest(void)
{
    for (;;) {
        pause();
    }
}

__attribute__((noinline)) static void take_first(void)
{
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&second);
    sink = 1;
}

__attribute__((noinline)) static void take_second(void)
{
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    sink = 2;
}

static void *other(void *unused)
{
    (void)unused;
    take_second();
    return NULL;
}

static void locks(void)
{
    pthread_t thread;

    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, other, NULL);
    take_first();
    pthread_join(thread, NULL);
}

__attribute__((noinline)) static void load(const char *path)
{
    int fd = open(path, O_RDWR);
    char byte;

    sink = (double)read(fd, &byte, 1);
}

__attribute__((noinline)) static void stay(const char *how, const char *path)
{
    int value = 0;

    if (strcmp(how, "loop") == 0) {
        solve();
    } else if (strcmp(how, "pause") == 0) {
        rest();
    } else if (strcmp(how, "stop") == 0) {
        raise(SIGSTOP);
    } else if (strcmp(how, "mismatch") == 0) {
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    } else if (strcmp(how, "locks") == 0) {
        locks();
    } else if (strcmp(how, "read") == 0) {
        load(path);
    } else if (strcmp(how, "die") == 0) {
        raise(SIGKILL);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "loop";
    MPI_Comm row;
    int value = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &row);
    for (int i = 0; i < 20; i++) {
        turn();
    }
    printf("rank %d is there\n", rank);
    fflush(stdout);
    if (strcmp(how, "circle") == 0) {
        MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    } else if (strcmp(how, "row") == 0) {
        if (rank == 1) {
            solve();
        }
        MPI_Barrier(row);
    } else if (rank == 1) {
        stay(how, argc > 2 ? argv[2] : "");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
