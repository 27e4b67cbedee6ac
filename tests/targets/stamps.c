/* stamps.c - marks that carry the time at which they were made
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     stamps SECONDS THREADS
 *
 * In each thread, about each 30 us: the mark "raw" with what
 * CLOCK_MONOTONIC_RAW was right before it, and "width" with how much later it
 * was right behind it. Threads change their CPU each few milliseconds.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "agent/inject/ck.h"

#define THREADS_MOST 16
#define STAY 200 /* marks on one CPU */

static int64_t until;

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* The next CPU that is allowed. */
static void move(const cpu_set_t *all, int *cpu)
{
    cpu_set_t one;

    do {
        *cpu = (*cpu + 1) % CPU_SETSIZE;
    } while (!CPU_ISSET((size_t)*cpu, all));
    CPU_ZERO(&one);
    CPU_SET((size_t)*cpu, &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}

static void *marks_make(void *unused)
{
    const struct timespec pause = {.tv_nsec = 20000};
    cpu_set_t all;
    int cpu = 0;

    (void)unused;
    (void)sched_getaffinity(0, sizeof(all), &all);
    for (int i = 0; now() < until; i++) {
        int64_t before = now();
        int64_t after;

        ck_mark("raw", before);
        after = now();
        ck_mark("width", after - before);
        if (i % STAY == STAY - 1) {
            move(&all, &cpu);
        }
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t threads[THREADS_MOST];
    int count = argc > 2 ? atoi(argv[2]) : 2;

    if (count < 1 || count > THREADS_MOST) {
        return 2;
    }
    until = now() + (argc > 1 ? atoi(argv[1]) : 2) * INT64_C(1000000000);
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, marks_make, NULL) != 0) {
            return 2;
        }
    }
    for (int i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return 0;
}
