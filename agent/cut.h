/* cut.h - how much of a slot makes a frame, and when
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by drain.c. A frame costs some hundred bytes and a few system calls
 * whatever is in it, so it waits until it is worth that, but not so long that
 * the slot might fill up before the next turn.
 */
#ifndef CK_AGENT_CUT_H
#define CK_AGENT_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

/* Times between two turns of the collector. */
#define CUT_PERIOD_MIN (1 * CK_TIME_MS)
#define CUT_PERIOD_MAX (4 * CK_TIME_MS)

/* Whole records at the front of `units`, up to one frame's worth. Returns
 * their units; *records their number. A result of 0 with units > 0: the first
 * record is broken.
 */
uint64_t cut_measure(const uint8_t *at, uint64_t units, uint64_t *records);

/* Are `pending` units of a slot of `size` worth a frame, or will they be before
 * a turn can come? `rate` = units in CUT_PERIOD_MIN, `age` = that of the first.
 */
bool cut_is_due(uint64_t pending, uint64_t rate, uint64_t size, ck_time_t age);
/* When they will be, at most CUT_PERIOD_MAX. */
ck_time_t cut_wait(uint64_t pending, uint64_t rate, uint64_t size);

#endif
