/* pace.h - how long a collector may sleep between two turns
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure: flows and times in, a time out. On a machine whose cores are all
 * busy each turn stops the program for some 20 us, so turns are rare where
 * they may be.
 *
 * With a bell (bell.h), which writers ring at half of a slot, a collector looks
 * when PACE_PART of one is filled at the highest flow of late: nothing has to
 * be foreseen. While threads come it looks each
 * PACE_QUIET, for they want slots. Without: a program that records nothing, or
 * not for long, may begin with millions of records a second at any moment:
 * PACE_QUIET. One that records steadily gets a PACE_CALM-th of the time since
 * it began, at most as much as PACE_MARGIN times its highest flow so far needs
 * to fill a slot.
 */
#ifndef CK_AGENT_PACE_H
#define CK_AGENT_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

#define PACE_QUIET (4 * CK_TIME_MS)
#define PACE_MAX (32 * CK_TIME_MS)
/* Steady: never a pause of PACE_PAUSE. */
#define PACE_CALM 4
#define PACE_PAUSE (250 * CK_TIME_MS)
#define PACE_MARGIN 4
/* With a bell. */
#define PACE_BELL_MAX (128 * CK_TIME_MS)
#define PACE_PART(size) ((size) / 8 * 3)
/* So long after a thread came. */
#define PACE_CHURN (64 * CK_TIME_MS)
#define PACE_FADE CK_TIME_S /* in which the highest flow falls to a third */

struct pace {
    bool has_bell;
    uint64_t highest;  /* units a second of one slot, ever; or it fades */
    ck_time_t since;   /* begin of the flow; 0 = there is none */
    ck_time_t flow_at; /* when records were seen last */
    ck_time_t look_at; /* the last look */
    ck_time_t calm_at; /* with a bell: not before then */
    bool is_upset;
};

/* A turn found `flow` units a second in the fastest slot; the slots hold
 * `size` units. When the next turn is due at the latest: PACE_QUIET times a
 * power of two, up to PACE_MAX or PACE_BELL_MAX. */
ck_time_t
pace_look(struct pace *pace, uint64_t flow, uint64_t size, ck_time_t now);

/* A thread more writes records now: what was steady is not any more. */
void pace_upset(struct pace *pace);

/* Until when a turn at `now` sleeps. A period of PACE_QUIET and more is cut to
 * PACE_QUIET times a power of two, and ends at a whole multiple of that on the
 * clock that all collectors of this host read:
 * where ranks fill the cores a turn stops one of them, and in a collective
 * that one stops the others: better all at the same time. */
ck_time_t pace_until(ck_time_t now, ck_time_t period);

#endif
