/* producer.c - marks at a steady rate from one thread
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     producer RATE SECONDS     RATE marks a second; 0 = none
 *
 * Marks are made by ck.h in bursts of BURST, each at its time on the clock.
 * What the machine takes away for longer than SLACK_NS is not made up for, so
 * that the rate is never exceeded for long. The last line tells how many were
 * made, in which time, and how late a burst was at most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/inject/ck.h"

#define BURST 16
#define SLACK_NS 100e3

static double now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void idle(double seconds)
{
    struct timespec ts = {
        .tv_sec = (time_t)seconds,
        .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

    (void)nanosleep(&ts, NULL);
}

static void produce(double rate, double seconds)
{
    static const char *const names[] = {"load", "forward", "backward",
                                        "update"};
    long bursts = (long)(rate * seconds / BURST);
    double period = BURST / rate * 1e9;
    double latest = 0;
    double begin = now_ns();
    double due = begin;
    double end;

    for (long b = 0; b < bursts; b++) {
        double now = now_ns();

        while (now < due) {
            now = now_ns();
        }
        latest = now - due > latest ? now - due : latest;
        due = (now - due > SLACK_NS ? now - SLACK_NS : due) + period;
        for (int i = 0; i < BURST; i++) {
            ck_mark(names[i % 4], b);
        }
    }
    end = now_ns();
    printf("made %ld in %.6f s, %.3f M/s, at most %.3f ms late\n",
           bursts * BURST, (end - begin) / 1e9,
           (double)(bursts * BURST) / (end - begin) * 1e3, latest / 1e6);
}

int main(int argc, char **argv)
{
    double rate = argc == 3 ? atof(argv[1]) : -1;
    double seconds = argc == 3 ? atof(argv[2]) : 0;

    if (rate < 0 || seconds <= 0) {
        fprintf(stderr, "usage: producer RATE SECONDS\n");
        return 2;
    }
    if (rate == 0) {
        idle(seconds);
    } else {
        produce(rate, seconds);
    }
    return 0;
}
