/* follower.h - consumers that follow the merge in threads of their own
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   merge --> [ block ][ block ][ block ]       the events, copied, in order
 *                          |        |
 *              tables, <---+        +---> analysis ...   consumers that ask
 *              lanes ...   <--- notes --------+          each other
 *
 * The merge reads, decodes and orders. Where there is a second CPU its
 * consumers are behind it, by some blocks at most, in two threads: those that
 * ask each other for what changes, and behind them those that only add up or
 * draw (is_behind). Each gets the same events in the same order as if it were
 * called at once, so what comes out is the same. What the second ones need of
 * the first ones is noted between the events: a call with a copy of its
 * argument. Else these threads share nothing that changes but kept texts
 * (names.h), which have a lock, and where a clock's map was asked last
 * (clockmap.h, ticks.h), which is atomic.
 *
 * A block goes from the merge to the first thread, from there to the second,
 * and back; how far each is, is under the lock.
 */
#ifndef CK_MERGE_TIMELINE_FOLLOWER_H
#define CK_MERGE_TIMELINE_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/timeline/consumer.h"

/* Runs of fewer records are over before a thread is worth it. */
#define FOLLOWER_RECORDS ((uint64_t)50000)

/* Called in its turn, with the copy. */
typedef void (*follower_note_f)(void *state, const void *note);

struct follower;
/* For a run of so many records and so many threads of programs; NULL = it has
 * too few records, there is one CPU, or no thread can be had: then the merge
 * calls all consumers itself. */
struct follower *follower_create(uint64_t records, size_t threads);
/* Waits until its threads are at their end. */
void follower_destroy(struct follower *follower);
/* One of its consumers, before the first event: of the second thread where it
 * is_behind, else of the first one. */
void follower_consumer(struct follower *follower,
                       const struct timeline_consumer *consumer,
                       bool is_witness);
/* The event and its record are copied, if any consumer takes them; `cls` is the
 * record's class. 0, or -1 with the errno of a consumer that failed. */
int follower_event(struct follower *follower,
                   const struct timeline_event *event,
                   enum ck_class cls,
                   bool is_wanted);
/* For the first consumers, while they take an event: f(state, note) in the
 * second thread, before that event and behind those before it. Returns where
 * the caller fills the note, until the next call: filled elsewhere and copied
 * it would be stored twice. */
void *follower_note(struct follower *follower,
                    follower_note_f f,
                    void *state,
                    size_t bytes);
/* Wait until all that was given is taken. Nothing may be given afterwards. 0,
 * or -1 with the errno of a consumer that failed. */
int follower_finish(struct follower *follower);

#endif
