/* omp_cost.c - what a parallel region takes, with ck and without
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     omp_cost THREADS ROUNDS    ns of a region with nothing in it, least of 9
 *                                rounds of 20,000
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REGIONS 20000

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 9;
    double least = 1e18;
    volatile int sink = 0;

    for (int k = 0; k < rounds; k++) {
        struct timespec pause = {.tv_nsec = 200000000};
        int64_t begin = now();

        for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel num_threads(threads)
            if (omp_get_thread_num() == 0) {
                sink = i;
            }
        }
        least = (double)(now() - begin) / REGIONS < least
                    ? (double)(now() - begin) / REGIONS
                    : least;
        (void)nanosleep(&pause, NULL); /* the collector empties the ring */
    }
    (void)sink;
    printf("%.1f\n", least);
    return 0;
}
