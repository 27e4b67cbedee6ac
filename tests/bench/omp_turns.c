/* omp_turns.c - what ck adds to a region of libgomp, in turn within one process
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     ckagent -- omp_turns ROUNDS
 *
 * Below ckagent, in each round 10,000 regions of one thread by libgomp's own
 * address, which are not recorded, and 10,000 by its name, which is ck's.
 * Prints ns a region of either, for each round. Processes differ from each
 * other by more than what is looked for; their parts do not.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REGIONS 10000

typedef void parallel_f(void (*body)(void *), void *, unsigned, unsigned);
extern parallel_f GOMP_parallel;

static volatile int sink;

static void body(void *unused)
{
    (void)unused;
    sink++;
}

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static double regions_ns(parallel_f *parallel)
{
    int64_t begin = now();

    for (int i = 0; i < REGIONS; i++) {
        parallel(body, NULL, 1, 0);
    }
    return (double)(now() - begin) / REGIONS;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 40;
    void *library = dlopen("libgomp.so.1", RTLD_NOW);
    parallel_f *plain =
        library == NULL ? NULL : (parallel_f *)dlsym(library, "GOMP_parallel");

    if (plain == NULL || plain == GOMP_parallel) {
        fprintf(stderr, "no libgomp of its own: run it below ckagent\n");
        return 2;
    }
    for (int k = 0; k < rounds; k++) {
        struct timespec pause = {.tv_nsec = 100000000};
        double first = regions_ns(k % 2 == 0 ? plain : GOMP_parallel);
        double second = regions_ns(k % 2 == 0 ? GOMP_parallel : plain);

        printf("%.1f %.1f\n", k % 2 == 0 ? first : second,
               k % 2 == 0 ? second : first);
        (void)fflush(stdout);
        (void)nanosleep(&pause, NULL); /* the ring is emptied */
    }
    return 0;
}
