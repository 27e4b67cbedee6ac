/* pace.c - how long a collector may sleep between two turns
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/pace.h"

/* Does this flow bring no more than so many units in the time? */
static bool fits(uint64_t flow, ck_time_t period, uint64_t units)
{
    return flow <= units * CK_TIME_S / (uint64_t)period;
}

/* The longest period in which this flow brings no more than so many units. */
static ck_time_t period_of(uint64_t flow, uint64_t units)
{
    ck_time_t period = PACE_STEP;

    while (period < PACE_MAX && fits(flow, 2 * period, units)) {
        period *= 2;
    }
    return period;
}

ck_time_t
pace_look(struct pace *pace, uint64_t flow, uint64_t size, ck_time_t now)
{
    ck_time_t passed = now - pace->look_at;

    passed = passed < PACE_FADE / 2 ? passed : PACE_FADE / 2;
    pace->highest -=
        pace->highest / 1000 * (uint64_t)passed / (PACE_FADE / 1000);
    pace->highest = flow > pace->highest ? flow : pace->highest;
    pace->look_at = now;
    if (pace->is_upset) {
        pace->is_upset = false;
        pace->calm_at = now + PACE_CHURN;
    }
    return now < pace->calm_at ? PACE_STEP
                               : period_of(pace->highest, PACE_PART(size));
}

ck_time_t pace_glance(uint64_t size)
{
    return period_of(PACE_FASTEST, PACE_LOOK_PART(size));
}

void pace_upset(struct pace *pace)
{
    pace->is_upset = true;
}

ck_time_t pace_until(ck_time_t now, ck_time_t period)
{
    ck_time_t whole = PACE_STEP;
    ck_time_t left;

    if (period < PACE_STEP) {
        return now + period;
    }
    while (2 * whole <= period) {
        whole *= 2;
    }
    left = whole - now % whole;
    return now + (left < whole / 8 ? left + whole : left);
}
