/* follower.h - consumers that follow the merge in a thread of their own
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   merge --> analysis ...            consumers that ask each other
 *     |          |
 *     | events   | notes              copied into blocks, in their order
 *     v          v
 *    [ block ][ block ][ block ]
 *                          |
 *                          +--> tables, lanes, flames ...    the follower
 *
 * Half of the time of a merge is spent by consumers that only add up or draw.
 * Where there is a second CPU they are behind the merge, by some blocks at
 * most: each gets the same events in the same order as if it were called at
 * once, so what comes out is the same. What they need besides is noted between
 * the events: a call with a copy of its argument. Else they share nothing that
 * changes with the merge but kept texts (names.h), which have a lock.
 *
 * One thread gives, one takes. What is in the blocks is whose they are; the
 * numbers of those handed over and given back are under the lock.
 */
#ifndef CK_MERGE_TIMELINE_FOLLOWER_H
#define CK_MERGE_TIMELINE_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/timeline/consumer.h"

/* Runs of fewer records are over before a thread is worth it. */
#define FOLLOWER_RECORDS ((uint64_t)50000)
/* Bytes of a note at most. */
#define FOLLOWER_NOTE ((size_t)256)

/* Called in its turn, with the copy. */
typedef void (*follower_note_f)(void *state, const void *note);

struct follower;
/* For a run of so many records; NULL = it has too few, there is one CPU, or no
 * thread can be had: then the merge calls all consumers itself. */
struct follower *follower_create(uint64_t records);
/* Waits until the thread is at its end. */
void follower_destroy(struct follower *follower);
/* One of its consumers, before the first event. */
void follower_consumer(struct follower *follower,
                       const struct timeline_consumer *consumer,
                       bool is_witness);
/* The event and its record are copied, if any consumer takes them; `cls` is the
 * record's class. 0, or -1 with the errno of a consumer that failed. */
int follower_event(struct follower *follower,
                   const struct timeline_event *event,
                   enum ck_class cls,
                   bool is_wanted);
/* f(state, copy of the note) behind the events so far. */
void follower_note(struct follower *follower,
                   follower_note_f f,
                   void *state,
                   const void *note,
                   size_t bytes);
/* Wait until all that was given is taken. Nothing may be given afterwards. 0,
 * or -1 with the errno of a consumer that failed. */
int follower_finish(struct follower *follower);

#endif
