/* allocation_cost.c - what malloc() and free() take, with ck and without
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     allocation_cost BYTES ROUNDS    ns of a pair, least of ROUNDS of 200,000;
 *                                     64 blocks are live at a time
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PAIRS 200000
#define LIVE 64

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
    int rounds = argc > 2 ? atoi(argv[2]) : 9;
    void *volatile live[LIVE] = {NULL};
    double least = 1e18;

    for (int k = 0; k < rounds; k++) {
        struct timespec pause = {.tv_nsec = 50000000};
        int64_t begin = now(), took;

        for (int i = 0; i < PAIRS; i++) {
            free(live[i % LIVE]);
            live[i % LIVE] = malloc(bytes);
        }
        took = now() - begin;
        least = (double)took / PAIRS < least ? (double)took / PAIRS : least;
        (void)nanosleep(&pause, NULL);
    }
    printf("%.2f\n", least);
    return 0;
}
