/* taskloop.c - a loop of tasks that both threads run, where none waits
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <time.h>

static long now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static void compute(long ms)
{
    volatile double sum = 0;

    for (long end = now() + ms; now() < end;) {
        for (int i = 0; i < 10000; i++) {
            sum += i;
        }
    }
}

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop grainsize(1)
    for (int i = 0; i < 100; i++) {
        compute(10);
    }
    return 0;
}
