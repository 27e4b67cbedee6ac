/* teams.c - teams of OpenMP threads that wait for known reasons at known lines
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     teams imbalance MS   thread 1 works MS longer than the others
 *     teams barrier MS     the same before a barrier within the region
 *     teams critical MS    all threads work MS in one critical section each
 *     teams serial MS      one thread works MS between two regions
 *     teams tasks MS       thread 0 makes 8 tasks of MS each, all run them
 *     teams nested MS      each of 2 threads begins a team of 2, whose second
 *                          thread works MS longer
 *     teams even MS        all threads work MS
 *
 * THREADS (2) and STEPS (40) are environment variables. With MPI the ranks meet
 * after each step, and only rank 1 has its MS. Work is until a time has passed,
 * on a CPU or not. Each thread prints, in sum over the steps, how long it
 * waited by its own clock, and the program how long it was between regions:
 *
 *     end RANK THREAD NS          at the end of the region, for the last one
 *     barrier RANK THREAD NS      at the barrier, for the last one
 *     critical RANK THREAD NS     for the critical section
 *     serial RANK 0 NS
 *     span RANK 0 NS              from the first region's begin to the last's
 * end
 *
 * Lines are found by "here: NAME".
 */
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

#define THREADS_MAX 64

static int64_t came[THREADS_MAX]; /* to the end, in this step */
static int64_t met[THREADS_MAX];  /* to the barrier */
static int64_t ends[THREADS_MAX]; /* waits, in sum */
static int64_t barriers[THREADS_MAX];
static int64_t criticals[THREADS_MAX];
static int64_t serial, left, first;
static int threads = 2, steps = 40, rank, size = 1;

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static __attribute__((noinline)) void work_of_all(int64_t ns)
{
    volatile double sink = 1;

    for (int64_t end = now() + ns; now() < end;) {
        for (int i = 0; i < 300; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
}

static __attribute__((noinline)) void own_work(int64_t ns)
{
    volatile double sink = 2;

    for (int64_t end = now() + ns; now() < end;) {
        for (int i = 0; i < 300; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
}

/* How long each waited for the last of them. */
static void waits_add(const int64_t times[], int64_t sums[])
{
    int64_t last = 0;

    for (int i = 0; i < threads; i++) {
        last = times[i] > last ? times[i] : last;
    }
    for (int i = 0; i < threads; i++) {
        sums[i] += last - times[i];
    }
}

static __attribute__((noinline)) void imbalance(int64_t ns)
{
#pragma omp parallel num_threads(threads) /* here: imbalance */
    {
        int me = omp_get_thread_num();

        work_of_all(1000000);
        if (me == 1) {
            own_work(ns);
        }
        came[me] = now();
    }
    waits_add(came, ends);
}

static __attribute__((noinline)) void barrier(int64_t ns)
{
#pragma omp parallel num_threads(threads)
    {
        int me = omp_get_thread_num();

        if (me == 1) {
            own_work(ns);
        }
        met[me] = now();
#pragma omp barrier /* here: barrier */
        work_of_all(100000);
        came[me] = now();
    }
    waits_add(met, barriers);
    waits_add(came, ends);
}

/* Another thread is the first in the section each time, and works when all are
 * there: else a kernel that runs the threads one after the other on one CPU
 * leaves none that waits. */
static __attribute__((noinline)) void critical(int64_t ns)
{
    static int turn;
    atomic_bool is_taken = false;
    atomic_int there = 0;

#pragma omp parallel num_threads(threads)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        int64_t begin;

        while (me != turn % all && !atomic_load(&is_taken)) {
            (void)sched_yield();
        }
        begin = now();
        atomic_fetch_add(&there, 1);
#pragma omp critical /* here: critical */
        {
            criticals[me] += now() - begin;
            atomic_store(&is_taken, true);
            while (atomic_load(&there) < all) {
                (void)sched_yield();
            }
            own_work(ns);
        }
        came[me] = now();
    }
    waits_add(came, ends);
    turn++;
}

static __attribute__((noinline)) void alone(int64_t ns)
{
    if (left != 0) {
        own_work(ns);
        serial += now() - left;
    }
#pragma omp parallel num_threads(threads)
    work_of_all(1000000);
    left = now();
}

static __attribute__((noinline)) void tasks(int64_t ns)
{
#pragma omp parallel num_threads(threads)
    {
#pragma omp single
        for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(ns)
            own_work(ns); /* here: task */
        }
    }
}

static __attribute__((noinline)) void nested(int64_t ns)
{
#pragma omp parallel num_threads(2)
    {
        work_of_all(500000);
#pragma omp parallel num_threads(2) /* here: nested */
        {
            if (omp_get_thread_num() == 1) {
                own_work(ns);
            }
        }
    }
}

static __attribute__((noinline)) void even(int64_t ns)
{
#pragma omp parallel num_threads(threads)
    work_of_all(ns);
}

struct shape {
    const char *name;
    void (*step)(int64_t ns);
};

static const struct shape shapes[] = {
    {"imbalance", imbalance}, {"barrier", barrier}, {"critical", critical},
    {"serial", alone},        {"tasks", tasks},     {"nested", nested},
    {"even", even},
};

static void meet(void)
{
#ifdef WITH_MPI
    (void)MPI_Barrier(MPI_COMM_WORLD);
#endif
}

static void begin(int *argc, char ***argv)
{
#ifdef WITH_MPI
    (void)MPI_Init(argc, argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
#else
    (void)argc;
    (void)argv;
#endif
}

static void end(void)
{
#ifdef WITH_MPI
    (void)MPI_Finalize();
#endif
}

int main(int argc, char **argv)
{
    const char *count = getenv("STEPS"), *wide = getenv("THREADS");
    double ms = argc > 2 ? atof(argv[2]) : 5;

    begin(&argc, &argv);
    steps = count == NULL ? steps : atoi(count);
    threads = wide == NULL ? threads : atoi(wide);
    omp_set_max_active_levels(2);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (int k = 0;
             argc > 1 && strcmp(argv[1], shapes[i].name) == 0 && k < steps;
             k++) {
            first = first == 0 ? now() : first;
            shapes[i].step(size > 1 && rank != 1 ? 0 : (int64_t)(ms * 1e6));
            meet();
        }
    }
    printf("span %d 0 %lld\n", rank, (long long)(now() - first));
    for (int i = 0; i < threads; i++) {
        printf("end %d %d %lld\n", rank, i, (long long)ends[i]);
        printf("barrier %d %d %lld\n", rank, i, (long long)barriers[i]);
        printf("critical %d %d %lld\n", rank, i, (long long)criticals[i]);
    }
    printf("serial %d 0 %lld\n", rank, (long long)serial);
    end();
    return 0;
}
