/* marks.c - records numbered marks from threads that begin one after the other
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     marks COUNT THREADS [ENDED]    COUNT marks 0..COUNT-1 in all, 20 a
 *                                    millisecond in each thread; then ends with
 *                                    3. ENDED is a file that is made with
 *                                    half of them recorded.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/inject/ck.h"

#define THREADS_MOST 64
#define PAUSE_NS 1000000

struct part {
    pthread_t thread;
    long begin;
    long end;
};

static void *part_say(void *argument)
{
    const struct part *part = argument;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    for (long i = part->begin; i < part->end; i++) {
        ck_mark("number", i);
        if (i % 20 == 19) {
            (void)nanosleep(&pause, NULL);
        }
    }
    return NULL;
}

static void half_tell(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    if (fd >= 0) {
        (void)close(fd);
    }
}

int main(int argc, char **argv)
{
    static struct part parts[THREADS_MOST];
    long count = argc > 1 ? atol(argv[1]) : 0;
    long threads = argc > 2 ? atol(argv[2]) : 1;

    if (threads < 1 || threads > THREADS_MOST) {
        return 2;
    }
    for (long i = 0; i < threads; i++) {
        parts[i].begin = count * i / threads;
        parts[i].end = count * (i + 1) / threads;
        if (i == threads / 2 && argc > 3) {
            half_tell(argv[3]);
        }
        if (pthread_create(&parts[i].thread, NULL, part_say, &parts[i]) != 0) {
            return 1;
        }
        /* The next one begins when half of it is recorded. */
        (void)nanosleep(
            &(struct timespec){.tv_nsec = count / threads / 40 * PAUSE_NS},
            NULL);
    }
    for (long i = 0; i < threads; i++) {
        (void)pthread_join(parts[i].thread, NULL);
    }
    return 3;
}
