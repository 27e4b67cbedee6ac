/* stragglers.c - the ranks that others waited for, and what they were doing
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/stragglers.h"

#include <stdlib.h>

static int by_caused(const void *a, const void *b)
{
    const struct report_straggler *left = a;
    const struct report_straggler *right = b;

    if (left->caused != right->caused) {
        return left->caused < right->caused ? 1 : -1;
    }
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static int by_activity(const void *a, const void *b)
{
    const struct ledger_row *left = *(const struct ledger_row *const *)a;
    const struct ledger_row *right = *(const struct ledger_row *const *)b;

    if (left->blamed != right->blamed) {
        return left->blamed < right->blamed ? -1 : 1;
    }
    return (left->blamed_did > right->blamed_did) -
           (left->blamed_did < right->blamed_did);
}

/* What each rank did for the longest part of what it caused; the rows are in
 * order of rank and activity. */
static void activities_find(const struct scene *scene,
                            const struct ledger_row *const *rows,
                            size_t count,
                            struct report_straggler *row)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i]->blamed != row->rank) {
            continue;
        }
        sum = i > 0 && rows[i - 1]->blamed == row->rank &&
                      rows[i - 1]->blamed_did == rows[i]->blamed_did
                  ? sum + rows[i]->ns
                  : rows[i]->ns;
        if (rows[i]->blamed_did != CAST_NONE && sum > row->did_ns) {
            row->did_ns = sum;
            row->did = scene_activity_report(scene, rows[i]->blamed_did);
        }
    }
}

static int straggler_report(const struct cast *cast,
                            const struct steps *steps,
                            uint32_t index,
                            const struct waitstates_rank *sums,
                            struct report_straggler *row)
{
    struct steps_blame blame;

    if (steps_blame(steps, index, &blame) != 0) {
        return -1;
    }
    *row = (struct report_straggler){.rank = cast->ranks[index].number,
                                     .caused = sums->caused,
                                     .error = sums->caused_error,
                                     .steps = blame.worst,
                                     .of_steps = blame.of,
                                     .step_median = blame.median};
    return 0;
}

int stragglers_report(const struct cast *cast,
                      const struct scene *scene,
                      const struct waitstates *waitstates,
                      const struct steps *steps,
                      struct report *report)
{
    size_t count;
    const struct ledger_row *rows = waitstates_rows(waitstates, &count);
    const struct ledger_row **order = calloc(count + 1, sizeof(*order));

    report->stragglers =
        calloc(cast->ranks_count + 1, sizeof(*report->stragglers));
    if (order == NULL || report->stragglers == NULL) {
        free(order);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = &rows[i];
    }
    qsort(order, count, sizeof(*order), by_activity);
    for (uint32_t i = 0; i < cast->ranks_count; i++) {
        const struct waitstates_rank *sums = waitstates_rank(waitstates, i);

        if (sums->caused > 0 &&
            straggler_report(cast, steps, i, sums,
                             &report->stragglers[report->stragglers_count++]) !=
                0) {
            free(order);
            return -1;
        }
    }
    qsort(report->stragglers, report->stragglers_count,
          sizeof(*report->stragglers), by_caused);
    if (report->stragglers_count > STRAGGLERS_MAX) {
        report->stragglers_count = STRAGGLERS_MAX;
    }
    for (size_t i = 0; i < report->stragglers_count; i++) {
        activities_find(scene, order, count, &report->stragglers[i]);
    }
    free(order);
    return 0;
}
