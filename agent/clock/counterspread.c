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
/* Pairs that are further apart, as a CPU was busy, show too little. */
#define APART_MOST (20 * CK_TIME_MS)
#define TRIES 3

struct counterspread {
    cpu_set_t cpus;
    double ns_per_tick;
    atomic_int verdict; /* enum counterspread_verdict */
    atomic_int owners;  /* who ends last frees it */
    atomic_bool is_over;
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

/* Are both CPUs' counters on one line? */
static bool is_same(const struct counterspread *spread, int cpu, int other)
{
    struct clocksync_pair here, there;

    for (int i = 0; i < TRIES && !atomic_load(&spread->is_over); i++) {
        if (!pair_on(cpu, &here) || !pair_on(other, &there)) {
            return false;
        }
        if (there.raw - here.raw <= APART_MOST) {
            return counterspread_fits(&here, &there, spread->ns_per_tick);
        }
    }
    return false;
}

static void release(struct counterspread *spread)
{
    if (atomic_fetch_sub(&spread->owners, 1) == 1) {
        free(spread);
    }
}

static void *look(void *state)
{
    struct counterspread *spread = state;
    int step = (CPU_COUNT(&spread->cpus) + CPUS_LOOKED_AT - 1) / CPUS_LOOKED_AT;
    int verdict = COUNTERSPREAD_SAME;
    int first = -1;
    int seen = 0;

    (void)prctl(PR_SET_NAME, "ck-counter");
    for (int cpu = 0; cpu < CPU_SETSIZE && verdict == COUNTERSPREAD_SAME;
         cpu++) {
        if (!CPU_ISSET((size_t)cpu, &spread->cpus) || seen++ % step != 0) {
            continue;
        }
        if (first < 0) {
            first = cpu;
        } else if (!is_same(spread, first, cpu)) {
            verdict = COUNTERSPREAD_DIFFERENT;
        }
    }
    atomic_store(&spread->verdict, verdict);
    release(spread);
    return NULL;
}

/* Signals are the collector's. 0, or an error's number. */
static int thread_start(struct counterspread *spread)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    int error = pthread_attr_init(&attr);

    if (error != 0) {
        return error;
    }
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &attr, look, spread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return error;
}

struct counterspread *counterspread_create(const cpu_set_t *cpus,
                                           double ns_per_tick)
{
    struct counterspread *spread = calloc(1, sizeof(*spread));

    if (spread == NULL) {
        return NULL;
    }
    spread->cpus = *cpus;
    spread->ns_per_tick = ns_per_tick;
    atomic_store(&spread->verdict, COUNTERSPREAD_LOOKING);
    atomic_store(&spread->owners, 2);
    if (thread_start(spread) != 0) {
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
        atomic_store(&spread->is_over, true);
        release(spread);
    }
}
