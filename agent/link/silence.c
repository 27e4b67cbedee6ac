/* silence.c - how long an aggregator may be silent
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/link/silence.h"

ck_time_t
silence_until(const struct silence *silence, ck_time_t heard, ck_time_t leaving)
{
    ck_time_t first =
        silence->is_given ? SILENCE_FIRST_GIVEN : SILENCE_FIRST_OWN;
    ck_time_t until = silence->started + first;

    if (heard != 0) {
        return (heard > leaving ? heard : leaving) + SILENCE_LATER;
    }
    return until > leaving + SILENCE_LEAST ? until : leaving + SILENCE_LEAST;
}

ck_time_t silence_away(struct silence *silence, ck_time_t now)
{
    ck_time_t away = silence->looked == 0 ? 0 : now - silence->looked;

    silence->looked = now;
    if (away < SILENCE_AWAY) {
        return 0;
    }
    silence->started += away;
    return away;
}

enum silence_change
silence_look(struct silence *silence, ck_time_t heard, ck_time_t now)
{
    ck_time_t limit = silence->is_given ? SILENCE_GIVEN : SILENCE_OWN;
    ck_time_t since = heard != 0 ? heard : silence->started;
    bool was_on = silence->is_on;

    if (heard != 0) {
        limit = SILENCE_LATER;
    }
    silence->is_on = now - since >= limit;
    if (silence->is_on == was_on) {
        return SILENCE_SAME;
    }
    return silence->is_on ? SILENCE_FELL : SILENCE_BROKEN;
}
