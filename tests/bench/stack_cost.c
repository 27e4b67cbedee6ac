/* stack_cost.c - fixed work of 8 threads, 13 calls deep; prints its CPU time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * stack_cost [PIECES]: of each thread; ms of CPU time of the process.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define THREADS 8
#define DEPTH 12
#define PIECE 20000

static long pieces = 15000;

static __attribute__((noinline)) double leaf(double sum)
{
    for (long i = 0; i < PIECE; i++) {
        sum = sum * 0.5 + (double)i;
    }
    return sum;
}

static __attribute__((noinline)) double below(int level, double sum)
{
    volatile char held[64];

    held[level] = 1;
    sum = level > 0 ? below(level - 1, sum) : leaf(sum);
    return sum + held[level];
}

static void *work(void *result)
{
    double sum = 0;

    for (long i = 0; i < pieces; i++) {
        sum = below(DEPTH, sum);
    }
    *(volatile double *)result = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    double results[THREADS];
    struct rusage used;

    pieces = argc > 1 ? strtol(argv[1], NULL, 10) : pieces;
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, &results[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)getrusage(RUSAGE_SELF, &used);
    printf("%.1f\n",
           1e3 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               1e-3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
    return 0;
}
