/* counterscale.c - how fast the processor's counter goes, for programs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/clock/counterscale.h"

#include <math.h>

#include "schema/ring/ringclock.h"

/* Readings of either clock that are compared. */
#define READINGS 32
/* RAW is to take so many times as long. */
#define FASTER 1.25

/* Time of READINGS readings of the ring's clock, least of some. */
static ck_time_t readings_time(enum ck_clock clock)
{
    ck_time_t least = INT64_MAX;

    for (int turn = 0; turn < 4; turn++) {
        ck_time_t began = ck_time_raw();
        ck_time_t took;

        for (int i = 0; i < READINGS; i++) {
            (void)ck_time_stamp(clock);
        }
        took = ck_time_raw() - began;
        least = took < least ? took : least;
    }
    return least;
}

static bool is_worth_it(void)
{
    return (double)readings_time(CK_CLOCK_RAW) >
           FASTER * (double)readings_time(CK_CLOCK_TSC);
}

static void withdraw(struct counterscale *scale)
{
    scale->published = 0;
    atomic_store(&scale->header->counter_scale, 0);
    scale->next_at = INT64_MAX;
}

void counterscale_init(struct counterscale *scale,
                       struct ck_ring_header *header,
                       pid_t target)
{
    *scale = (struct counterscale){.header = header, .next_at = INT64_MAX};
    if (target <= 0 || header->clock != CK_CLOCK_RAW) {
        return;
    }
    if (sched_getaffinity(target, sizeof(scale->cpus), &scale->cpus) != 0 ||
        !is_worth_it()) {
        withdraw(scale); /* of a collector before this one */
        return;
    }
    scale->first = scale->last = clocksync_pair(CK_CLOCK_TSC);
    scale->next_at = scale->first.raw + COUNTERSCALE_HALF;
}

void counterscale_fini(struct counterscale *scale)
{
    counterspread_destroy(scale->spread);
    scale->spread = NULL;
}

/* Is the rate from the last pair to this one that of before? */
static bool is_even(const struct counterscale *scale,
                    const struct clocksync_pair *pair,
                    double rate)
{
    double passed = (double)(pair->raw - scale->last.raw);
    double open = (double)(pair->width + scale->last.width) / passed;
    double ppm =
        scale->published == 0 ? COUNTERSCALE_PPM : COUNTERSCALE_PPM_LATER;

    return fabs(rate / scale->ns_per_tick - 1) <= open + ppm * 1e-6;
}

/* The header's rate, if it is that one, within what pairs leave open: a
 * collector before this one put it there, and lines are by it. */
static uint64_t agreed(const struct counterscale *scale, uint64_t rate)
{
    uint64_t before = atomic_load(&scale->header->counter_scale);

    return before != 0 && fabs((double)before / (double)rate - 1) <
                              COUNTERSCALE_PPM * 1e-6
               ? before
               : rate;
}

/* The rate since the first pair, if RAW may be had from such a counter. */
static void publish(struct counterscale *scale,
                    const struct clocksync_pair *pair)
{
    double rate = (double)(pair->raw - scale->first.raw) /
                  (double)(pair->other - scale->first.other);

    scale->published = agreed(scale, (uint64_t)(rate * 4294967296.0));
    if (scale->published < CK_RINGCLOCK_SCALE_LEAST ||
        scale->published > CK_RINGCLOCK_SCALE_MOST ||
        2 * pair->width > CK_RINGCLOCK_WIDTH) {
        withdraw(scale);
        return;
    }
    scale->ns_per_tick = rate;
    scale->spread = counterspread_create(&scale->cpus, rate);
}

/* Until it is known, a line belongs to the CPU on which it was made. */
static void spread_step(struct counterscale *scale)
{
    enum counterspread_verdict verdict = counterspread_verdict(scale->spread);

    if (verdict != COUNTERSPREAD_LOOKING) {
        atomic_store(&scale->header->is_counter_one,
                     verdict == COUNTERSPREAD_SAME);
        counterscale_fini(scale);
    }
}

void counterscale_learn(struct counterscale *scale,
                        const struct clocksync_pair *pair)
{
    double rate = (double)(pair->raw - scale->last.raw) /
                  (double)(pair->other - scale->last.other);

    scale->next_at = pair->raw + COUNTERSCALE_HALF;
    if (pair->other <= scale->last.other ||
        (scale->ns_per_tick > 0 && !is_even(scale, pair, rate))) {
        withdraw(scale);
        return;
    }
    if (scale->ns_per_tick <= 0) {
        scale->ns_per_tick = rate;
    } else if (scale->published == 0) {
        publish(scale, pair);
    }
    scale->last = *pair;
    if (scale->published != 0) {
        atomic_store(&scale->header->counter_scale, scale->published);
        scale->next_at = pair->raw + COUNTERSCALE_PERIOD;
    }
}

void counterscale_step(struct counterscale *scale, ck_time_t now)
{
    if (scale->spread != NULL) {
        spread_step(scale);
    }
    if (now >= scale->next_at) {
        struct clocksync_pair pair = clocksync_pair(CK_CLOCK_TSC);

        counterscale_learn(scale, &pair);
    }
}
