/* hoststall.h - times in which a host, or all of a job on it, did not run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * That no collector of a host read the clocks for long (clockwatch.h) may also
 * be due to a busy machine. It is taken for a standstill only where no thread
 * of the host has a record for nearly all of that time, and a thread proves
 * that it did not run though it had something to do: see hoststall.c.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_HOSTSTALL_H
#define CK_MERGE_ANALYSIS_HISTORY_HOSTSTALL_H

#include "merge/analysis/history/history.h"
#include "merge/clocks/align.h"
#include "merge/model/defs.h"
#include "merge/model/interval.h"
#include "merge/timeline/timeline.h"

/* Suspicions looked at in a run; of more the first. */
#define HOSTSTALL_MAX ((size_t)64)

/* A standstill on the axis, of all agents of a clock domain. */
struct hoststall_part {
    uint32_t domain;
    struct region part;
};

struct hoststall;
/* What is suspected; definitions and host are borrowed. */
struct hoststall *hoststall_create(const struct defs *defs,
                                   const struct align *align,
                                   const struct history *host);
/* The same of given readings' events, in RAW of the domain's own. 0; what is
 * beyond HOSTSTALL_MAX is left out. */
void hoststall_suspect(struct hoststall *hoststall,
                       uint32_t domain,
                       const struct clockwatch_event *event,
                       struct region on_axis);
void hoststall_destroy(struct hoststall *hoststall);
/* False when nothing is suspected: no reading is needed. */
bool hoststall_is_wanted(const struct hoststall *hoststall);
/* All events of all ranks, twice, with hoststall_turn() between: first for
 * the silence, then for the proof. A timeline_take_f. */
int hoststall_take(void *hoststall, const struct timeline_event *event);
void hoststall_turn(struct hoststall *hoststall);
/* The index-th that is proven; false beyond the last. */
bool hoststall_part(const struct hoststall *hoststall,
                    size_t index,
                    struct hoststall_part *part);

#endif
