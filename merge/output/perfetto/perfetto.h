/* perfetto.h - the run as a Perfetto trace
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tracks: host > rank > steps and ranges, idle time by cause, device queues,
 * waits, threads. Slices that overlap without nesting are spread over several
 * tracks of one name; arrows go from the launching call to its kernel or copy.
 * Field numbers are those of protos/perfetto/trace/ of the project. Times are
 * aligned already and count from `zero`; the format has no place for a clock's
 * error, which is a counter and an annotation of waits here.
 */
#ifndef CK_MERGE_OUTPUT_PERFETTO_PERFETTO_H
#define CK_MERGE_OUTPUT_PERFETTO_PERFETTO_H

#include "merge/clocks/align.h"
#include "merge/model/cause.h"
#include "merge/model/interval.h"
#include "merge/output/shownwait.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"
#include "schema/err.h"

struct perfetto;
struct perfetto_of {
    const struct defs *defs;   /* borrowed */
    const struct align *align; /* borrowed */
    struct region part;        /* what touches it is written */
    ck_time_t zero;
};
/* A new file, gzip when it ends in .gz. NULL with err. */
struct perfetto *perfetto_create(const char *path,
                                 const struct perfetto_of *of,
                                 struct ck_err *err);
/* Without perfetto_finish() before, nothing is left of it. */
void perfetto_destroy(struct perfetto *perfetto);
/* A timeline_take_f. */
int perfetto_take(void *perfetto, const struct timeline_event *event);
/* A device was idle because of that. */
void perfetto_idle(struct perfetto *perfetto,
                   uint32_t physical,
                   struct region part,
                   enum cause cause);
void perfetto_wait(struct perfetto *perfetto, const struct shown_wait *wait);
/* After one of them failed: set err if that was for the file. */
void perfetto_failed(const struct perfetto *perfetto, struct ck_err *err);
/* 0, or -1 with err. */
int perfetto_finish(struct perfetto *perfetto,
                    const struct report *report,
                    struct ck_err *err);

#endif
