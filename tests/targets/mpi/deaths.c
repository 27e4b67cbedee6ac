/* deaths.c - a program whose rank 1 dies, or stops, half-way through a step
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     deaths HOW WAIT
 *
 * All ranks work 10 ms of CPU time a step and then meet. In step 20 of 40 rank
 * 1 does this after half of its work:
 *
 *     kill     SIGKILL to itself
 *     abort    abort()
 *     exit     exit(3)
 *     agent    SIGKILL to its parent, the ckagent, and to itself
 *     stop     it is stopped, and goes on 2 s later
 *
 * The others wait for it in
 *
 *     allreduce  MPI_Allreduce
 *     recv       MPI_Recv: it sends to each
 *     poll       the same, by MPI_Test
 *
 * and live on for 2 s when the launcher asks them to end. Prints "died RANK
 * NS", by the clock that the run is recorded on.
 */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEPS 40
#define DEATH 20
#define WORK_NS 10000000

static int rank, size;
static volatile double sink;

static int64_t now(clockid_t clock)
{
    struct timespec ts;

    (void)clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void compute(int64_t ns)
{
    int64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ns;

    while (now(CLOCK_THREAD_CPUTIME_ID) < end) {
        for (int i = 0; i < 1000; i++) {
            sink += i; /* here: work */
        }
    }
}

/* A child lets it go on. */
static void pause_by_child(void)
{
    pid_t self = getpid(), child = fork();

    if (child == 0) {
        struct timespec pause = {2, 0};

        (void)kill(self, SIGSTOP);
        (void)nanosleep(&pause, NULL);
        (void)kill(self, SIGCONT);
        _exit(0);
    }
}

static void die(const char *how)
{
    printf("died %d %lld\n", rank, (long long)now(CLOCK_MONOTONIC_RAW));
    (void)fflush(stdout);
    if (strcmp(how, "exit") == 0) {
        exit(3);
    } else if (strcmp(how, "abort") == 0) {
        abort();
    } else if (strcmp(how, "stop") == 0) {
        pause_by_child();
    } else {
        if (strcmp(how, "agent") == 0) {
            (void)kill(getppid(), SIGKILL);
        }
        (void)kill(getpid(), SIGKILL);
    }
}

static void take(int is_polling)
{
    MPI_Request request;
    int is_here = 0, token;

    if (!is_polling) {
        (void)MPI_Recv(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE); /* here: recv */
        return;
    }
    (void)MPI_Irecv(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
    while (!is_here) {
        (void)MPI_Test(&request, &is_here, MPI_STATUS_IGNORE); /* here: poll */
    }
}

static void meet(const char *wait)
{
    double mine = 1, sum;
    int token = 1;

    if (strcmp(wait, "allreduce") == 0) {
        (void)MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM,
                            MPI_COMM_WORLD); /* here: allreduce */
    } else if (rank != 1) {
        take(strcmp(wait, "poll") == 0);
    } else {
        for (int i = 0; i < size; i++) {
            if (i != 1) {
                (void)MPI_Send(&token, 1, MPI_INT, i, 7, MPI_COMM_WORLD);
            }
        }
    }
}

/* The others wait from here on. */
static void ask(const char *wait)
{
    printf("asks %d %lld\n", rank, (long long)now(CLOCK_MONOTONIC_RAW));
    (void)fflush(stdout);
    meet(wait);
}

static void linger(int signal)
{
    struct timespec pause = {2, 0};

    (void)signal;
    (void)nanosleep(&pause, NULL);
    _exit(1);
}

int main(int argc, char **argv)
{
    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3) {
        return 2;
    }
    (void)signal(SIGTERM, rank == 1 ? SIG_DFL : linger);
    for (int i = 0; i < STEPS; i++) {
        compute(WORK_NS / 2);
        if (rank == 1 && i == DEATH) {
            die(argv[1]);
        }
        compute(WORK_NS / 2);
        (i == DEATH ? ask : meet)(argv[2]);
    }
    (void)MPI_Finalize();
    return 0;
}
