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

int main(int argc, char **argv)
{
    struct timespec pause = {.tv_nsec = 1000000};
    long count = argc > 1 ? atol(argv[1]) : 0;

    for (long i = 0; i < count; i++) {
        ck_mark("number", i);
        if (i % 20 == 19) {
            (void)nanosleep(&pause, NULL);
        }
    }
    if (argc > 2 && strcmp(argv[2], "kill") == 0) {
        (void)kill(getpid(), SIGKILL);
    }
    return 3;
}
