/* lives_target.c - records numbered marks at a pace
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     lives_target COUNT [kill]    COUNT marks 0..COUNT-1, 20 a millisecond;
 *                                  then ends, or kills itself
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/inject/ck.h"

static const struct timespec short_pause = {.tv_nsec = 1000000};

/* Until the file is there that the environment names, if it names one. */
static void go_wait(void)
{
    const char *path = getenv("LIVES_UNTIL");

    while (path != NULL && access(path, F_OK) != 0) {
        (void)nanosleep(&short_pause, NULL);
    }
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 0;

    for (long i = 0; i < count; i++) {
        if (i == count / 2) {
            go_wait();
        }
        ck_mark("number", i);
        if (i % 20 == 19) {
            (void)nanosleep(&short_pause, NULL);
        }
    }
    if (argc > 2 && strcmp(argv[2], "kill") == 0) {
        (void)kill(getpid(), SIGKILL);
    }
    return 3;
}
