/* aggregatortimeout.c - how long an aggregator may be silent
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/link/aggregatortimeout.h"

ck_time_t
aggregatortimeout_until(const struct aggregatortimeout *aggregatortimeout,
                        ck_time_t heard,
                        ck_time_t leaving)
{
    ck_time_t first = aggregatortimeout->is_given
                          ? AGGREGATORTIMEOUT_FIRST_GIVEN
                          : AGGREGATORTIMEOUT_FIRST_OWN;
    ck_time_t until = aggregatortimeout->started + first;

    if (heard != 0) {
        return (heard > leaving ? heard : leaving) + AGGREGATORTIMEOUT_LATER;
    }
    return until > leaving + AGGREGATORTIMEOUT_LEAST
               ? until
               : leaving + AGGREGATORTIMEOUT_LEAST;
}

ck_time_t aggregatortimeout_away(struct aggregatortimeout *aggregatortimeout,
                                 ck_time_t now)
{
    ck_time_t away =
        aggregatortimeout->looked == 0 ? 0 : now - aggregatortimeout->looked;

    aggregatortimeout->looked = now;
    if (away < AGGREGATORTIMEOUT_AWAY) {
        return 0;
    }
    aggregatortimeout->started += away;
    return away;
}

enum aggregatortimeout_change aggregatortimeout_look(
    struct aggregatortimeout *aggregatortimeout, ck_time_t heard, ck_time_t now)
{
    ck_time_t limit = aggregatortimeout->is_given ? AGGREGATORTIMEOUT_GIVEN
                                                  : AGGREGATORTIMEOUT_OWN;
    ck_time_t since = heard != 0 ? heard : aggregatortimeout->started;
    bool was_on = aggregatortimeout->is_on;

    if (heard != 0) {
        limit = AGGREGATORTIMEOUT_LATER;
    }
    aggregatortimeout->is_on = now - since >= limit;
    if (aggregatortimeout->is_on == was_on) {
        return AGGREGATORTIMEOUT_SAME;
    }
    return aggregatortimeout->is_on ? AGGREGATORTIMEOUT_FELL
                                    : AGGREGATORTIMEOUT_BROKEN;
}
