/* interval.c - unions of intervals, exact in integer nanoseconds
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/interval.h"

#include <string.h>

void interval_union_init(struct interval_union *u, struct region region)
{
    memset(u, 0, sizeof(*u));
    u->region = region;
    u->from = region.start;
    u->to = region.start;
}

ck_time_t interval_union_length(const struct interval_union *u)
{
    return u->closed + (u->to - u->from);
}

ck_time_t interval_union_idle(const struct interval_union *u)
{
    return u->idle + (u->region.end - u->to);
}

uint64_t interval_union_gaps(const struct interval_union *u)
{
    return u->gaps + (u->region.end > u->to);
}

ck_time_t interval_union_longest_gap(const struct interval_union *u)
{
    ck_time_t tail = u->region.end - u->to;

    return tail > u->longest_gap ? tail : u->longest_gap;
}
