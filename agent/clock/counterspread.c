/* counterspread.c - is the processor's counter the same on all CPUs?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/clock/counterspread.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define CPUS_LOOKED_AT 64
#define STACK_BYTES ((size_t)128 << 10)
/* The rate is known to so much, and the brackets leave so much more open. */
#define PPM 2
#define SLACK_NS 20

struct counterspread {
    pthread_t thread;
    cpu_set_t cpus;
    double ns_per_tick;
    atomic_int verdict; /* enum counterspread_verdict */
};

bool counterspread_fits(const struct clocksync_pair *pair,
                        const struct clocksync_pair *other,
                        double ns_per_tick)
{
    double passed = (double)(other->raw - pair->raw);
    double off = passed - (double)(other->other - pair->other) * ns_per_tick;

    return fabs(off) <= (double)(pair->width + other->width) + SLACK_NS +
                            fabs(passed) * PPM * 1e-6;
}

/* A pair that was read there; false: this thread may not go there. */
static bool pair_on(int cpu, struct clocksync_pair *pair)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) {
        return false;
    }
    *pair = clocksync_pair(CK_CLOCK_TSC);
    return true;
}

static void *look(void *state)
{
    struct counterspread *spread = state;
    int step = (CPU_COUNT(&spread->cpus) + CPUS_LOOKED_AT - 1) / CPUS_LOOKED_AT;
    struct clocksync_pair last, pair;
    bool has_last = false;
    int seen = 0;

    (void)prctl(PR_SET_NAME, "ck-counter");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &spread->cpus) || seen++ % step != 0 ||
            !pair_on(cpu, &pair)) {
            continue;
        }
        if (has_last &&
            !counterspread_fits(&last, &pair, spread->ns_per_tick)) {
            atomic_store(&spread->verdict, COUNTERSPREAD_DIFFERENT);
            return NULL;
        }
        last = pair;
        has_last = true;
    }
    atomic_store(&spread->verdict,
                 has_last ? COUNTERSPREAD_SAME : COUNTERSPREAD_DIFFERENT);
    return NULL;
}

/* Signals are the collector's. 0, or an error's number. */
static int thread_start(struct counterspread *spread)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int error = pthread_attr_init(&attr);

    if (error != 0) {
        return error;
    }
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&spread->thread, &attr, look, spread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return error;
}

struct counterspread *counterspread_create(pid_t target, double ns_per_tick)
{
    struct counterspread *spread = calloc(1, sizeof(*spread));

    if (spread == NULL) {
        return NULL;
    }
    spread->ns_per_tick = ns_per_tick;
    atomic_store(&spread->verdict, COUNTERSPREAD_LOOKING);
    if (sched_getaffinity(target, sizeof(spread->cpus), &spread->cpus) != 0 ||
        thread_start(spread) != 0) {
        free(spread);
        return NULL;
    }
    return spread;
}

enum counterspread_verdict
counterspread_verdict(const struct counterspread *spread)
{
    return (enum counterspread_verdict)atomic_load(&spread->verdict);
}

void counterspread_destroy(struct counterspread *spread)
{
    if (spread != NULL) {
        (void)pthread_join(spread->thread, NULL);
        free(spread);
    }
}
