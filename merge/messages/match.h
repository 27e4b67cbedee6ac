/* match.h - which send each receive got
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * By MPI's rules: of the messages with one communicator, source, destination
 * and tag the n-th sent is the n-th received, receives counted in the order
 * in which they were posted. A receive from any source or with any tag counts
 * once it is complete and its message is known; later ones that might have got
 * the same wait for it. The order of events between processes does not matter,
 * so clocks need not be aligned.
 *
 * No claim is made for a channel whose parts do not fit (other sizes, received
 * before sent on one clock, a canceled receive after its match), nor for a
 * process from which records are missing: those are counted.
 */
#ifndef CK_MERGE_MESSAGES_MATCH_H
#define CK_MERGE_MESSAGES_MATCH_H

#include "merge/messages/matched.h"
#include "merge/model/defs.h"
#include "merge/timeline/timeline.h"

struct matcher;
/* Definitions borrowed. */
struct matcher *
matcher_create(const struct defs *defs, match_take_f take, void *state);
void matcher_destroy(struct matcher *matcher);
/* The next event, of any kind; each process's in its own order. `mark` goes
 * into the ends that it posts. */
void matcher_take(struct matcher *matcher,
                  const struct timeline_event *event,
                  int64_t mark);

struct match_counts matcher_counts(const struct matcher *matcher);

/* The number in the run of a process's communicator and the process's rank in
 * it; false when its members are not known. MPI_COMM_WORLD needs no record. */
bool match_place(const struct defs *defs,
                 const struct timeline_event *event,
                 uint32_t id,
                 uint32_t *comm,
                 int32_t *rank);
struct defs_comm;
/* The same, of a communicator that was looked up (NULL = not described). */
bool match_place_in(const struct defs_comm *comm,
                    const struct timeline_event *event,
                    uint32_t id,
                    uint32_t *number,
                    int32_t *rank);

#endif
