/* ledger.h - why each device was idle, to the nanosecond
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The causes and their precedence: merge/model/cause.h. For each device the
 * causes add up to its idle time in the region exactly.
 */
#ifndef CK_MERGE_ANALYSIS_IDLE_LEDGER_H
#define CK_MERGE_ANALYSIS_IDLE_LEDGER_H

#include "merge/analysis/delays/delaysums.h"
#include "merge/analysis/delays/rows.h"
#include "merge/analysis/history/lookback.h"
#include "merge/analysis/idle/sharing.h"
#include "merge/analysis/steps/when.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct ledger;

/* Of fewer steps the first one is no start. */
#define LEDGER_STEPS_MIN 4
/* Borrowed; `when` may be NULL. */
struct ledger *ledger_create(const struct defs *defs,
                             struct lookback *lookback,
                             struct when *when,
                             struct region region);
/* As waitstates_delay() and waitstates_delays(). */
void ledger_delay(struct ledger *ledger, const struct delay *delay);
struct delaysums *ledger_delays(const struct ledger *ledger);
void ledger_destroy(struct ledger *ledger);
/* Show each piece of idle time from now on. */
void ledger_see(struct ledger *ledger, sharing_see_f f, void *state);
/* Before the lookback takes an event at `now`, and the ledger after it. */
void ledger_settle(struct ledger *ledger, ck_time_t now);
void ledger_take(void *ledger, const struct timeline_event *event);

/* Close the gaps that are open. */
void ledger_finish(struct ledger *ledger);
const struct ledger_row *ledger_rows(const struct ledger *ledger,
                                     size_t *count);
/* Time of a device with a cause. */
ck_time_t
ledger_time(const struct ledger *ledger, uint32_t device, enum cause cause);

#endif
