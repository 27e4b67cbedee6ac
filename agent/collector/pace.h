/* pace.h - how long a collector may sleep between two turns
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure: flows and times in, a time out. On a machine whose cores are all
 * busy each turn stops the program for some 20 us, so turns are rare where
 * they may be: when PACE_PART of a slot is filled at the highest flow of late.
 * Nothing has to be foreseen, for between two turns the collector wakes to look
 * how full the slots are (drain_glance()): the larger they are, the more
 * seldom. While threads come it makes turns instead, for they want slots.
 */
#ifndef CK_AGENT_COLLECTOR_PACE_H
#define CK_AGENT_COLLECTOR_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

#define PACE_STEP (4 * CK_TIME_MS) /* the shortest time here */
#define PACE_MAX (128 * CK_TIME_MS)
/* Units a second of one thread that nothing is to be lost of, whenever it
 * begins: between two looks they fill PACE_LOOK_PART of its slot, and the rest
 * while the kernel has no core for the collector. */
#define PACE_FASTEST ((uint64_t)10000000)
#define PACE_LOOK_PART(size) ((size) / 8 * 5)
#define PACE_PART(size) ((size) / 8)
/* So long after a thread came. */
#define PACE_CHURN (64 * CK_TIME_MS)
/* While no thread has a slot, and no program or thread that records has come
 * for so long, looks are as rare as this: each of them stops one of a script's
 * programs. The first thread to get a slot then loses what it writes beyond
 * that slot until the look, at PACE_FASTEST a part of it. */
#define PACE_QUIET (256 * CK_TIME_MS)
#define PACE_DOZE (32 * CK_TIME_MS)
#define PACE_FADE CK_TIME_S /* in which the highest flow falls to a third */

struct pace {
    uint64_t highest;  /* units a second of one slot; it fades */
    ck_time_t look_at; /* the last turn */
    ck_time_t calm_at; /* not before then */
    bool is_upset;
};

/* A turn found `flow` units a second in the fastest slot; the slots hold
 * `size` units. When the next turn is due at the latest: PACE_STEP times a
 * power of two, up to PACE_MAX. */
ck_time_t
pace_look(struct pace *pace, uint64_t flow, uint64_t size, ck_time_t now);

/* Time between two looks at slots of `size` units: PACE_STEP times a power of
 * two. */
ck_time_t pace_glance(uint64_t size);

/* A thread more writes records now: what was steady is not any more. */
void pace_upset(struct pace *pace);

/* Until when a turn at `now` sleeps. A period of PACE_STEP and more is cut to
 * PACE_STEP times a power of two, and ends at a whole multiple of that on the
 * clock that all collectors of this host read:
 * where ranks fill the cores a turn stops one of them, and in a collective
 * that one stops the others: better all at the same time. */
ck_time_t pace_until(ck_time_t now, ck_time_t period);

#endif
