/* framing.h - how much of a slot makes a frame, and when
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by drain.c. A frame costs some hundred bytes and a few system calls
 * whatever is in it, so it waits until it is worth that, but not so long that
 * the slot might fill up before the next turn.
 */
#ifndef CK_AGENT_STREAM_FRAMING_H
#define CK_AGENT_STREAM_FRAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

/* The shortest time between two turns of the collector. */
#define FRAMING_PERIOD_MIN (1 * CK_TIME_MS)

/* Whole records at the front of `units`, up to one frame's worth. Returns
 * their units; *records their number. A result of 0 with units > 0: the first
 * record is broken.
 */
uint64_t framing_measure(const uint8_t *at, uint64_t units, uint64_t *records);

/* What a slot of `size` units holds and gets. */
struct framing_fill {
    uint64_t pending; /* units */
    uint64_t rate;    /* units a second, since the last turn */
    uint64_t size;
    ck_time_t age; /* of the first pending one */
};

/* Are they worth a frame, or will they be before a turn can come? Or will they
 * fill half of the slot in `period`, the time until the next turn? */
bool framing_is_due(const struct framing_fill *fill, ck_time_t period);
/* Fewer units than these behind a frame of such a slot wait for the next turn:
 * a frame of their own would cost more than they do. */
uint64_t framing_rest(uint64_t size);
/* When they will be worth a frame, at most `limit`. */
ck_time_t framing_wait(const struct framing_fill *fill, ck_time_t limit);

#endif
