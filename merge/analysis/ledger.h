/* ledger.h - why each device was idle, to the nanosecond
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The causes and their precedence: merge/cause.h. For each device the causes
 * add up to its idle time in the region exactly.
 */
#ifndef CK_MERGE_ANALYSIS_LEDGER_H
#define CK_MERGE_ANALYSIS_LEDGER_H

#include "merge/align.h"
#include "merge/report.h"
#include "merge/timeline.h"

struct ledger;
/* Borrowed. NULL with ENOMEM. */
struct ledger *ledger_create(const struct cast *cast,
                             const struct align *align,
                             struct region region);
void ledger_destroy(struct ledger *ledger);
int ledger_take(void *ledger, const struct timeline_event *event);

/* Time of a device with one cause, from one activity to one blamed one. */
struct ledger_row {
    uint32_t device; /* physical */
    enum cause cause;
    int32_t rank;   /* of the launching thread, or the device's first */
    int32_t blamed; /* rank waited for; CAST_RANK_UNKNOWN = none */
    uint32_t did;   /* activities; CAST_NONE = none */
    uint32_t blamed_did;
    ck_time_t ns;
    uint64_t count;
};

/* Close the gaps that are open. 0, or -1 with ENOMEM. */
int ledger_finish(struct ledger *ledger);
const struct ledger_row *ledger_rows(const struct ledger *ledger,
                                     size_t *count);
/* Time of a device with a cause. */
ck_time_t
ledger_time(const struct ledger *ledger, uint32_t device, enum cause cause);
struct report_activity ledger_activity(const struct ledger *ledger,
                                       uint32_t number);

#endif
