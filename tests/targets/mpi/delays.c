/* delays.c - ranks that are late for known reasons at known lines
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     delays early    rank 1 computes 20 ms, then all compute 30 ms and meet
 *     delays slept    the same with sleeps
 *     delays half     rank 1 computes 20 ms before and 20 ms after the work of
 *                     all
 *     delays chain    rank 0 sleeps 20 ms and sends to rank 1, which then does
 *                     the work of all before it sends to rank 2, and so on; all
 *                     are late because of rank 0, one after the other
 *     delays alike    all sleep 20 ms and meet
 *     delays child    rank 1 waits 30 ms for a child process, and has computed
 *                     3 ms before; then all compute 3 ms and meet
 *     delays team     the first of two OpenMP threads computes 3 ms, the second
 *                     one of rank 1 computes 20 ms, then all meet
 *
 * Each step is 40 times. The lines that take the time end in "here: NAME". Each
 * rank prints for how long it was at its own work before, at the work of all
 * and at its own work after in each step:
 *
 *     did RANK STEP BEFORE_NS ALL_NS AFTER_NS
 */
#include <mpi.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS 40
/* Between two looks at the clock, which are calls of the kernel. */
#define SPIN 20000

enum part { BEFORE, ALL, AFTER, PARTS };

static int64_t took[STEPS][PARTS];
static int number; /* of the step */

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* No function of its own: samples are to be in those that call it. */
static inline __attribute__((always_inline)) double cpu_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static __attribute__((noinline)) void own_before(double ms)
{
    volatile double sink = 1;
    int64_t begin = now();

    for (double end = cpu_ms() + ms; cpu_ms() < end;) {
        for (int i = 0; i < SPIN; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
    took[number][BEFORE] += now() - begin;
}

static __attribute__((noinline)) void own_after(double ms)
{
    volatile double sink = 2;
    int64_t begin = now();

    for (double end = cpu_ms() + ms; cpu_ms() < end;) {
        for (int i = 0; i < SPIN; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
    took[number][AFTER] += now() - begin;
}

static __attribute__((noinline)) void work_of_all(double ms)
{
    volatile double sink = 3;
    int64_t begin = now();

    for (double end = cpu_ms() + ms; cpu_ms() < end;) {
        for (int i = 0; i < SPIN; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
    took[number][ALL] += now() - begin;
}

static struct timespec of_ms(int ms)
{
    return (struct timespec){0, ms * 1000000L};
}

static void sleep_before(void)
{
    struct timespec pause = of_ms(20);
    int64_t begin = now();

    (void)nanosleep(&pause, NULL); /* here: before */
    took[number][BEFORE] += now() - begin;
}

/* No call of it is recorded. */
static void wait_for_child(void)
{
    struct timespec pause = of_ms(30);
    int64_t begin = now();
    pid_t child = fork();

    if (child == 0) {
        (void)nanosleep(&pause, NULL);
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
    took[number][AFTER] += now() - begin;
}

static void sleep_of_all(int ms)
{
    struct timespec pause = of_ms(ms);
    int64_t begin = now();

    (void)nanosleep(&pause, NULL); /* here: all */
    took[number][ALL] += now() - begin;
}

/* The first thread of a team waits for the others in the runtime. */
static void team(int is_late)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            work_of_all(3);
        } else if (is_late) {
            own_after(20);
        }
    }
}

static void meet(void)
{
    double mine = 1, sum;

    (void)MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void pieces(int count)
{
    for (int i = 0; i < count; i++) {
        sleep_of_all(10);
    }
}

/* Each rank but the first has three pieces of work, one of them between the
 * message it takes and the one it sends; without rank 0's sleep no rank waits.
 */
static void chain(int rank, int size)
{
    int token = 0;

    if (rank == 0) {
        sleep_before();
    } else {
        pieces(rank - 1);
        (void)MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
        pieces(1);
    }
    if (rank + 1 < size) {
        (void)MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    }
    pieces(size - 1 - rank);
    (void)MPI_Barrier(MPI_COMM_WORLD);
}

static void step(const char *what, int rank, int size)
{
    int is_late = rank == 1;

    if (strcmp(what, "chain") == 0) {
        chain(rank, size);
        return;
    }
    if (strcmp(what, "slept") == 0) {
        if (is_late) {
            sleep_before();
        }
        sleep_of_all(30);
    } else if (strcmp(what, "alike") == 0) {
        sleep_of_all(20);
    } else if (strcmp(what, "team") == 0) {
        team(is_late);
    } else if (strcmp(what, "child") == 0) {
        if (is_late) {
            own_before(3);
            wait_for_child();
        }
        work_of_all(3);
    } else {
        if (is_late) {
            own_before(20);
        }
        work_of_all(30);
        if (is_late && strcmp(what, "half") == 0) {
            own_after(20);
        }
    }
    meet();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "early";
    int rank, size;

    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    (void)MPI_Barrier(MPI_COMM_WORLD);
    for (number = 0; number < STEPS; number++) {
        step(what, rank, size);
    }
    (void)MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < STEPS; i++) {
        printf("did %d %d %lld %lld %lld\n", rank, i,
               (long long)took[i][BEFORE], (long long)took[i][ALL],
               (long long)took[i][AFTER]);
    }
    (void)MPI_Finalize();
    return 0;
}
