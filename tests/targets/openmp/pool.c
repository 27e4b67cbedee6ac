/* pool.c - threads of a pool that share a lock, or a queue
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     pool convoy     4 threads each work 2 ms with one mutex locked, and 0.1
 * ms without, 60 times pool asleep     the same, but sleep with it pool queue
 * a producer of 300 pieces, 3 consumers on a condition
 *
 * With MPI rank 0 alone has the shape; the others wait for it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

#define THREADS 4

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int waiting, is_done;

static double cpu_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static __attribute__((noinline)) void update(double ms)
{
    volatile double sink = 1;

    for (double end = cpu_ms() + ms; cpu_ms() < end;) {
        for (int i = 0; i < 5000; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
}

static __attribute__((noinline)) void prepare(double ms)
{
    volatile double sink = 2;

    for (double end = cpu_ms() + ms; cpu_ms() < end;) {
        for (int i = 0; i < 5000; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
}

static void *convoy(void *unused)
{
    for (int i = 0; i < 60; i++) {
        prepare(0.1);
        (void)pthread_mutex_lock(&table); /* here: convoy */
        update(2);
        (void)pthread_mutex_unlock(&table);
    }
    return unused;
}

static void *asleep(void *unused)
{
    static const struct timespec pause = {.tv_nsec = 2000000};

    for (int i = 0; i < 60; i++) {
        prepare(0.1);
        (void)pthread_mutex_lock(&table);
        (void)nanosleep(&pause, NULL); /* here: asleep */
        (void)pthread_mutex_unlock(&table);
    }
    return unused;
}

static void *produce(void *unused)
{
    for (int i = 0; i < 300; i++) {
        prepare(1);
        (void)pthread_mutex_lock(&gate);
        waiting++;
        (void)pthread_cond_signal(&more);
        (void)pthread_mutex_unlock(&gate);
    }
    (void)pthread_mutex_lock(&gate);
    is_done = 1;
    (void)pthread_cond_broadcast(&more);
    (void)pthread_mutex_unlock(&gate);
    return unused;
}

static void *consume(void *unused)
{
    for (;;) {
        (void)pthread_mutex_lock(&gate);
        while (waiting == 0 && !is_done) {
            (void)pthread_cond_wait(&more, &gate);
        }
        if (waiting == 0) {
            (void)pthread_mutex_unlock(&gate);
            return unused;
        }
        waiting--;
        (void)pthread_mutex_unlock(&gate);
        update(1);
    }
}

static void run(const char *what)
{
    void *(*first)(void *) = strcmp(what, "queue") == 0    ? produce
                             : strcmp(what, "asleep") == 0 ? asleep
                                                           : convoy;
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        (void)pthread_create(&threads[i], NULL,
                             i > 0 && first == produce ? consume : first, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

int main(int argc, char **argv)
{
    int rank = 0;

#ifdef WITH_MPI
    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    if (argc > 1 && rank == 0) {
        run(argv[1]);
    }
#ifdef WITH_MPI
    (void)MPI_Barrier(MPI_COMM_WORLD);
    (void)MPI_Finalize();
#endif
    (void)printf("done\n");
    return 0;
}
