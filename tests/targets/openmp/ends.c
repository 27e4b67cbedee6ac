/* ends.c - a program that ends within a parallel region
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One region of 5 ms is over; in the other one both threads compute for a
 * second of their own CPU time before the first one calls exit().
 */
#include <stdlib.h>
#include <time.h>

static void compute(long ms)
{
    struct timespec at;
    volatile double sum = 0;
    long begin, now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    now = begin = at.tv_sec * 1000 + at.tv_nsec / 1000000;
    while (now - begin < ms) {
        for (int i = 0; i < 100000; i++) {
            sum += i;
        }
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
        now = at.tv_sec * 1000 + at.tv_nsec / 1000000;
    }
}

int main(void)
{
#pragma omp parallel num_threads(2)
    compute(5);
#pragma omp parallel num_threads(2)
    {
        compute(1000);
#pragma omp barrier
#pragma omp master
        exit(0);
    }
    return 1;
}
