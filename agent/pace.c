/* pace.c - how long a collector may sleep between two turns
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/pace.h"

ck_time_t
pace_look(struct pace *pace, uint64_t flow, uint64_t size, ck_time_t now)
{
    ck_time_t period = PACE_QUIET;
    ck_time_t calm;

    if (now - pace->flow_at > PACE_PAUSE) {
        pace->since = 0;
    }
    if (flow > 0) {
        pace->flow_at = now;
        pace->since = pace->since == 0 ? now : pace->since;
    }
    if (flow > pace->highest) {
        pace->highest = flow;
    }
    calm = pace->since == 0 ? 0 : (now - pace->since) / PACE_CALM;
    while (2 * period <= calm && period < PACE_MAX &&
           pace->highest * PACE_MARGIN <=
               size * CK_TIME_S / (uint64_t)(2 * period)) {
        period *= 2;
    }
    return period;
}

void pace_upset(struct pace *pace)
{
    pace->since = 0;
}

ck_time_t pace_until(ck_time_t now, ck_time_t period)
{
    ck_time_t left = period - now % period;

    if (period < PACE_QUIET) {
        return now + period;
    }
    return now + (left < period / 8 ? left + period : left);
}
