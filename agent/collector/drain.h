/* drain.h - slots are read, cut into frames, freed
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collector's side of schema/ring/ring.h. One user, one thread; the writers
 * never wait for it. A slot's tail moves only after its records are in a
 * frame in outbox or spool.
 */
#ifndef CK_AGENT_COLLECTOR_DRAIN_H
#define CK_AGENT_COLLECTOR_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/clock/clocksync.h"
#include "agent/ring/ringfile.h"
#include "agent/stream/framewriter.h"
#include "agent/stream/selfstream.h"

struct drain;
struct symbols;

/* All borrowed; `symbols` may be NULL. `limit` = bytes that may be stored,
 * 0 = no limit. NULL with ENOMEM. */
struct drain *drain_create(struct ringfile *ring,
                           struct framewriter *framewriter,
                           struct selfstream *selfstream,
                           const struct clocksync *sync,
                           uint64_t limit);
void drain_destroy(struct drain *drain);
void drain_symbols(struct drain *drain, struct symbols *symbols);
/* One turn over all slots. Slots with little in them wait for more unless
 * `is_flush`. Returns the time until the next turn, FRAMING_PERIOD_MIN
 * (framing.h) to PACE_MAX (pace.h): when the fastest slot has a frame's worth.
 */
ck_time_t drain_step(struct drain *drain, ck_time_t now, bool is_flush);
/* Is a turn wanted before its time: did a thread or an image come, or does a
 * slot fill up? A few loads, to be asked each drain_look(): PACE_STEP while a
 * slot in use has not all its memory, PACE_DOZE while none has been in use for
 * PACE_QUIET. */
bool drain_glance(const struct drain *drain);
ck_time_t drain_look(const struct drain *drain);
/* A turn if one is due or wanted: to be called between parts of other work, so
 * that no slot waits for all of it. Returns the time until the next turn. */
ck_time_t drain_relieve(struct drain *drain);

/* How near to a loss it came: the longest time between two turns, and the
 * units that a turn found in a slot at most. */
struct drain_strain {
    ck_time_t longest;
    uint64_t fullest;
};
struct drain_strain drain_strain(const struct drain *drain);

/* Record calls that have been open for longer than the limit; with is_end,
 * all open calls, as cut. */
void drain_open_calls(struct drain *drain, ck_time_t now, bool is_end);

/* Record all calls that are open now and have been for longer than the limit,
 * those that were recorded before as well: how long they are open by now. */
void drain_open_again(struct drain *drain, ck_time_t now);

/* Slots of threads that are gone, with is_end all of them, are emptied and
 * given back. */
void drain_find_dead(struct drain *drain, bool is_end);

/* Before the end: has the target overwritten what never changes, or ended the
 * recording? That is counted as a loss. */
void drain_check(struct drain *drain);

/* Record what was lost since the last time. */
void drain_losses(struct drain *drain);

/* Nothing is left in any slot. */
bool drain_is_empty(const struct drain *drain);
/* What could not be stored at the end is counted and left. */
void drain_give_up(struct drain *drain);

/* Records of frames that were dropped behind the slots. */
void drain_add_lost(struct drain *drain, uint64_t records);
/* Records lost so far, for any reason. */
uint64_t drain_lost(const struct drain *drain);

#endif
