/* ledger.h - why each device was idle, to the nanosecond
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The causes and their precedence: merge/cause.h. For each device the causes
 * add up to its idle time in the region exactly.
 */
#ifndef CK_MERGE_ANALYSIS_LEDGER_H
#define CK_MERGE_ANALYSIS_LEDGER_H

#include "merge/analysis/scene.h"
#include "merge/analysis/steps.h"
#include "merge/report.h"
#include "merge/timeline.h"

struct ledger;

/* Of fewer steps the first one is no start. */
#define LEDGER_STEPS_MIN 4
/* Borrowed; `steps` may be NULL. NULL with ENOMEM. */
struct ledger *ledger_create(const struct cast *cast,
                             struct scene *scene,
                             struct steps *steps,
                             struct region region);
void ledger_destroy(struct ledger *ledger);
/* Before the scene takes an event at `now`, and the ledger after it. 0, or -1
 * with ENOMEM. */
int ledger_settle(struct ledger *ledger, ck_time_t now);
int ledger_take(void *ledger, const struct timeline_event *event);

/* Time of a device with one cause, from one activity to one blamed one. */
struct ledger_row {
    uint32_t device; /* physical */
    enum cause cause;
    int32_t rank; /* of the launching thread, or the device's first */
    enum wait_kind wait;
    int32_t last;   /* rank waited for; CAST_RANK_UNKNOWN = none */
    int32_t blamed; /* the one that, through others maybe, that one waited
                       for */
    uint32_t did;   /* activities; CAST_NONE = none */
    uint32_t blamed_did;
    bool is_start; /* the rank blamed, else the launching one, had not ended
                      its first step, and the run has LEDGER_STEPS_MIN */
    ck_time_t ns;
    uint64_t count;
    ck_time_t error; /* of ns, by comparing clocks; of a wait once for each
                        rank that is blamed for some of it */
};

/* Close the gaps that are open. 0, or -1 with ENOMEM. */
int ledger_finish(struct ledger *ledger);
const struct ledger_row *ledger_rows(const struct ledger *ledger,
                                     size_t *count);
/* Time of a device with a cause. */
ck_time_t
ledger_time(const struct ledger *ledger, uint32_t device, enum cause cause);

#endif
