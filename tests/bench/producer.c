/* producer.c - marks at a steady rate from one thread
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     producer RATE SECONDS [BURST [CALM]]   RATE marks a second; 0 = none
 *
 * Marks are made by ck.h in bursts of SPIN_BURST, each at its time on the
 * clock, which is watched without a pause; with BURST, in bursts of so many,
 * and the thread sleeps between them and leaves the core to others. With CALM
 * it makes one mark so many seconds before: what comes cannot be foreseen.
 * What the machine takes away for longer than SLACK_NS (4 bursts where the
 * thread sleeps) is not made up for, so that the rate is never exceeded for
 * long. Below waker.c it writes as large records itself instead. The last line
 * has how many were made, in which time, and how late a burst was at most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/inject/ck.h"
#include "tests/bench/barering.h"

#define SPIN_BURST 16
#define SLACK_NS 100e3

static struct bare_writer writer;

static void mark(const char *name, long value)
{
    if (writer.ring != NULL) {
        bare_record(&writer, 1, bare_now(&writer), value);
    } else {
        ck_mark(name, value);
    }
}

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

/* Sleeps, or spins where `burst` is 0, until `due`; the time then. */
static double wait_until(double due, long burst)
{
    double now = now_ns();

    if (burst != 0 && now < due) {
        idle((due - now) / 1e9);
        now = now_ns();
    }
    while (now < due) {
        now = now_ns();
    }
    return now;
}

static void produce(double rate, double seconds, long sleeping_burst)
{
    static const char *const names[] = {"load", "forward", "backward",
                                        "update"};
    long burst = sleeping_burst != 0 ? sleeping_burst : SPIN_BURST;
    long bursts = (long)(rate * seconds / (double)burst);
    double period = (double)burst / rate * 1e9;
    double slack = sleeping_burst != 0 ? 4 * period : SLACK_NS;
    double latest = 0;
    double begin = now_ns();
    double due = begin;
    double end;

    for (long b = 0; b < bursts; b++) {
        double now = wait_until(due, sleeping_burst);

        latest = now - due > latest ? now - due : latest;
        due = (now - due > slack ? now - slack : due) + period;
        for (long i = 0; i < burst; i++) {
            mark(names[i % 4], b);
        }
    }
    end = now_ns();
    printf("made %ld in %.6f s, %.3f M/s, at most %.3f ms late\n",
           bursts * burst, (end - begin) / 1e9,
           (double)(bursts * burst) / (end - begin) * 1e3, latest / 1e6);
}

int main(int argc, char **argv)
{
    int is_right = argc >= 3 && argc <= 5;
    double rate = is_right ? atof(argv[1]) : -1;
    double seconds = is_right ? atof(argv[2]) : 0;
    long burst = argc >= 4 ? atol(argv[3]) : 0;
    double calm = argc == 5 ? atof(argv[4]) : 0;

    if (rate < 0 || seconds <= 0 || burst < 0 || calm < 0) {
        fprintf(stderr, "usage: producer RATE SECONDS [BURST [CALM]]\n");
        return 2;
    }
    writer = bare_open();
    if (calm > 0) {
        mark("calm", 0);
        idle(calm);
    }
    if (rate == 0) {
        idle(seconds);
    } else {
        produce(rate, seconds, burst);
    }
    return 0;
}
