/* peers.h - which process of one ckagent waited for which, without ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pipeline, or programs that use connections: they have no ranks.
 * The first thread of each waits in a read until the other one has written, in
 * a write until it has read. What the first thread of the other one did in
 * that time is found once all is known of it.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_PEERS_H
#define CK_MERGE_ANALYSIS_WAITS_PEERS_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Rows that are kept, and calls of the awaited processes. */
#define PEERS_ROWS 4096
#define PEERS_CALLS 16384
/* Waits whose other side is not known yet. */
#define PEERS_PENDING 256
/* The latest calls of a process that are kept. */
#define PEERS_SPANS 256

struct peers;
/* Borrowed. */
struct peers *peers_create(const struct defs *defs, struct region region);
void peers_destroy(struct peers *peers);
/* False where no process has an end whose other end another process has. */
bool peers_is_wanted(const struct peers *peers);
/* timeline_take_f; wants calls and marks. */
int peers_take(void *consumer, const struct timeline_event *event);
/* report->peers, longest first. */
void peers_report(struct peers *peers, struct report *report);

#endif
