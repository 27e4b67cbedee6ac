/* bursts.c - threads that are born and die, each with some marks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bursts THREADS AT_ONCE MARKS [PAUSE]
 *
 * Starts THREADS threads in all, AT_ONCE of them at a time; those of one wave
 * begin together and are all alive until the last has recorded its marks. Mark
 * i of thread t has the value t * MARKS + i. After each 50 marks a thread
 * sleeps PAUSE microseconds. Prints the number of marks.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/inject/ck.h"

#define AT_ONCE_MAX 1024

struct wave {
    pthread_barrier_t begin;
    pthread_barrier_t end;
    long first; /* number of its first thread */
    long marks;
    long pause; /* us */
};

struct member {
    struct wave *wave;
    long number; /* in the wave */
    pthread_t thread;
};

static void *member_run(void *argument)
{
    const struct member *member = argument;
    struct wave *wave = member->wave;
    long thread = wave->first + member->number;

    (void)pthread_barrier_wait(&wave->begin);
    for (long i = 0; i < wave->marks; i++) {
        ck_mark("burst", thread * wave->marks + i);
        if (wave->pause != 0 && i % 50 == 49) {
            (void)usleep((useconds_t)wave->pause);
        }
    }
    (void)pthread_barrier_wait(&wave->end);
    return NULL;
}

static void wave_run(struct wave *wave, struct member *members, long count)
{
    (void)pthread_barrier_init(&wave->begin, NULL, (unsigned)count);
    (void)pthread_barrier_init(&wave->end, NULL, (unsigned)count);
    for (long i = 0; i < count; i++) {
        members[i] = (struct member){.wave = wave, .number = i};
        if (pthread_create(&members[i].thread, NULL, member_run, &members[i]) !=
            0) {
            perror("bursts: pthread_create");
            exit(1);
        }
    }
    for (long i = 0; i < count; i++) {
        (void)pthread_join(members[i].thread, NULL);
    }
    (void)pthread_barrier_destroy(&wave->begin);
    (void)pthread_barrier_destroy(&wave->end);
}

int main(int argc, char **argv)
{
    static struct member members[AT_ONCE_MAX];
    long threads = argc >= 4 ? atol(argv[1]) : 0;
    long at_once = argc >= 4 ? atol(argv[2]) : 0;
    struct wave wave = {.marks = argc >= 4 ? atol(argv[3]) : 0,
                        .pause = argc == 5 ? atol(argv[4]) : 0};

    if (threads < 1 || at_once < 1 || at_once > AT_ONCE_MAX || wave.marks < 1) {
        fprintf(stderr,
                "usage: bursts THREADS AT_ONCE MARKS [PAUSE] (at most %d at "
                "once)\n",
                AT_ONCE_MAX);
        return 2;
    }
    for (; wave.first < threads; wave.first += at_once) {
        long left = threads - wave.first;

        wave_run(&wave, members, left < at_once ? left : at_once);
    }
    printf("%ld\n", threads * wave.marks);
    return 0;
}
