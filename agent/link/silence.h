/* silence.h - how long an aggregator may be silent
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure: times in, a judgement out.
 */
#ifndef CK_AGENT_LINK_SILENCE_H
#define CK_AGENT_LINK_SILENCE_H

#include <stdbool.h>

#include "schema/time.h"

/* So long without a word before it is said: from an aggregator that the user
 * named, from the job's own (it may still be starting), after its last word.
 */
#define SILENCE_GIVEN (2 * CK_TIME_S)
#define SILENCE_OWN (4 * CK_TIME_S)
#define SILENCE_LATER (5 * CK_TIME_S)

/* How long the end waits. Before the first word it counts from the start, so
 * that nobody is waited for who had time enough to answer. */
#define SILENCE_FIRST_GIVEN (5 * CK_TIME_S)
#define SILENCE_FIRST_OWN (8 * CK_TIME_S)
#define SILENCE_LEAST (1 * CK_TIME_S)

/* Who did not listen for so long was stopped, or had no core. */
#define SILENCE_AWAY (1 * CK_TIME_S)

struct silence {
    ck_time_t started;
    ck_time_t looked; /* when we listened last; 0 = not yet */
    bool is_given;    /* the user named the aggregator */
    bool is_on;       /* it was judged silent */
};

enum silence_change {
    SILENCE_SAME,
    SILENCE_FELL,   /* it is silent now */
    SILENCE_BROKEN, /* it answers again */
};

/* We listen now. How long we did not, 0 = all the time: nobody is to be judged
 * by that. */
ck_time_t silence_away(struct silence *silence, ck_time_t now);

/* `heard`: its last word, 0 = none. */
enum silence_change
silence_look(struct silence *silence, ck_time_t heard, ck_time_t now);

/* When the end stops waiting; `leaving`: when the target had ended. */
ck_time_t silence_until(const struct silence *silence,
                        ck_time_t heard,
                        ck_time_t leaving);

#endif
