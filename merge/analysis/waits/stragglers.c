/* stragglers.c - the ranks that others waited for, and what they were doing
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/stragglers.h"

#include <stdlib.h>

#include "merge/analysis/delays/delayreport.h"
#include "merge/model/memory.h"
#include "schema/order.h"

CK_ORDER(by_caused, struct report_straggler, CK_DOWN(caused) ?: CK_UP(rank))

static int straggler_report(const struct defs *defs,
                            const struct steps *steps,
                            uint32_t index,
                            const struct waitstates_rank *sums,
                            struct report_straggler *row)
{
    struct steps_blame blame;

    if (steps_blame(steps, index, &blame) != 0) {
        return -1;
    }
    *row = (struct report_straggler){.rank = defs->ranks[index].number,
                                     .caused = sums->caused,
                                     .error = sums->caused_error,
                                     .ended = sums->ended,
                                     .steps = blame.worst,
                                     .of_steps = blame.of,
                                     .step_median = blame.median};
    return 0;
}

/* Why each one came late. */
static void delays_find(const struct causes_from *from, struct report *report)
{
    for (size_t i = 0; i < report->stragglers_count; i++) {
        struct report_straggler *row = &report->stragglers[i];

        delaysums_begin(from->delays);
        delaysums_gather_rank(from->delays, row->rank);
        delayreport_fill(from->lookback, from->delay, from->delays,
                         &row->delays);
    }
    delaysums_begin(from->delays);
    delaysums_gather_all(from->delays);
    delayreport_fill(from->lookback, from->delay, from->delays,
                     &report->delays);
}

int stragglers_report(const struct defs *defs,
                      const struct causes_from *from,
                      const struct waitstates *waitstates,
                      const struct when *when,
                      struct report *report)
{
    report->stragglers =
        xcalloc(defs->ranks_count + 1, sizeof(*report->stragglers));
    for (uint32_t i = 0; i < defs->ranks_count; i++) {
        const struct waitstates_rank *sums = waitstates_rank(waitstates, i);

        if (sums->caused > 0 &&
            straggler_report(defs, when_steps(when), i, sums,
                             &report->stragglers[report->stragglers_count++]) !=
                0) {
            return -1;
        }
    }
    qsort(report->stragglers, report->stragglers_count,
          sizeof(*report->stragglers), by_caused);
    if (report->stragglers_count > STRAGGLERS_MAX) {
        report->stragglers_count = STRAGGLERS_MAX;
    }
    for (size_t i = 0; i < report->stragglers_count && i < STRAGGLERS_WINDOWS;
         i++) {
        struct report_straggler *row = &report->stragglers[i];
        uint32_t index = defs_rank_index(defs, row->rank);

        when_windows(when, &index, 1, &row->windows);
        when_slow(when, index, &row->slow);
    }
    delays_find(from, report);
    return 0;
}
