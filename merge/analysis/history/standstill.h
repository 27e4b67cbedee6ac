/* standstill.h - times in which a host, or all of a job on it, did not run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * That no collector of a host read the clocks for long (clockwatch.h) may also
 * be due to a busy machine. It is taken for a standstill only where no thread
 * of the host has a record for nearly all of that time, and a thread proves
 * that it did not run though it had something to do: see standstill.c.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_STANDSTILL_H
#define CK_MERGE_ANALYSIS_HISTORY_STANDSTILL_H

#include "merge/analysis/history/host.h"
#include "merge/clocks/align.h"
#include "merge/model/cast.h"
#include "merge/model/interval.h"
#include "merge/timeline/timeline.h"

/* Suspicions looked at in a run; of more the first. */
#define STANDSTILL_MAX ((size_t)64)

/* A standstill on the axis, of all agents of a clock domain. */
struct standstill_part {
    uint32_t domain;
    struct region part;
};

struct standstill;
/* What is suspected; cast and host are borrowed. NULL with ENOMEM. */
struct standstill *standstill_create(const struct cast *cast,
                                     const struct align *align,
                                     const struct host *host);
/* The same of given readings' events, in RAW of the domain's own. 0, or -1
 * with ENOMEM; what is beyond STANDSTILL_MAX is left out. */
int standstill_suspect(struct standstill *standstill,
                       uint32_t domain,
                       const struct clockwatch_event *event,
                       struct region on_axis);
void standstill_destroy(struct standstill *standstill);
/* False when nothing is suspected: no reading is needed. */
bool standstill_is_wanted(const struct standstill *standstill);
/* All events of all ranks, twice, with standstill_turn() between: first for
 * the silence, then for the proof. A timeline_take_f. */
int standstill_take(void *standstill, const struct timeline_event *event);
void standstill_turn(struct standstill *standstill);
/* The index-th that is proven; false beyond the last. */
bool standstill_part(const struct standstill *standstill,
                     size_t index,
                     struct standstill_part *part);

#endif
