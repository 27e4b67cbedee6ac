/* pace.h - how long a collector may sleep between two turns
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure: flows and times in, a time out. On a machine whose cores are all
 * busy each turn stops the program for some 20 us, so turns are rare where
 * they may be: when PACE_PART of a slot is filled at the highest flow of late.
 * Nothing has to be foreseen, for between two turns the collector looks each
 * PACE_LOOK how full the slots are (drain_glance()), which costs it a few loads
 * and the program nothing. While threads come each look is a turn, for they
 * want slots.
 */
#ifndef CK_AGENT_PACE_H
#define CK_AGENT_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

#define PACE_LOOK (4 * CK_TIME_MS)
#define PACE_MAX (128 * CK_TIME_MS)
#define PACE_PART(size) ((size) / 8 * 3)
/* So long after a thread came. */
#define PACE_CHURN (64 * CK_TIME_MS)
#define PACE_FADE CK_TIME_S /* in which the highest flow falls to a third */

struct pace {
    uint64_t highest;  /* units a second of one slot; it fades */
    ck_time_t look_at; /* the last turn */
    ck_time_t calm_at; /* not before then */
    bool is_upset;
};

/* A turn found `flow` units a second in the fastest slot; the slots hold
 * `size` units. When the next turn is due at the latest: PACE_LOOK times a
 * power of two, up to PACE_MAX. */
ck_time_t
pace_look(struct pace *pace, uint64_t flow, uint64_t size, ck_time_t now);

/* A thread more writes records now: what was steady is not any more. */
void pace_upset(struct pace *pace);

/* Until when a turn at `now` sleeps. A period of PACE_LOOK and more is cut to
 * PACE_LOOK times a power of two, and ends at a whole multiple of that on the
 * clock that all collectors of this host read:
 * where ranks fill the cores a turn stops one of them, and in a collective
 * that one stops the others: better all at the same time. */
ck_time_t pace_until(ck_time_t now, ck_time_t period);

#endif
