/* stragglers.c - the ranks that others waited for, and what they were doing
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/stragglers.h"

#include <stdlib.h>

#include "merge/analysis/mostly.h"

static int by_caused(const void *a, const void *b)
{
    const struct report_straggler *left = a;
    const struct report_straggler *right = b;

    if (left->caused != right->caused) {
        return left->caused < right->caused ? 1 : -1;
    }
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* What each rank did for the largest part of what it caused. `parts` has room
 * for all rows. */
static void activities_find(const struct scene *scene,
                            const struct ledger_row *rows,
                            size_t count,
                            struct mostly_part *parts,
                            struct report_straggler *row)
{
    struct mostly most;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].blamed == row->rank && rows[i].blamed_did != CAST_NONE) {
            parts[used++] = mostly_part(scene, rows[i].blamed_did, rows[i].ns);
        }
    }
    most = mostly_find(scene, parts, used);
    row->did_ns = most.ns;
    if (most.did != CAST_NONE) {
        row->did = scene_activity_report(scene, most.did);
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
    struct mostly_part *parts = malloc((count + 1) * sizeof(*parts));

    report->stragglers =
        calloc(cast->ranks_count + 1, sizeof(*report->stragglers));
    if (parts == NULL || report->stragglers == NULL) {
        free(parts);
        return -1;
    }
    for (uint32_t i = 0; i < cast->ranks_count; i++) {
        const struct waitstates_rank *sums = waitstates_rank(waitstates, i);

        if (sums->caused > 0 &&
            straggler_report(cast, steps, i, sums,
                             &report->stragglers[report->stragglers_count++]) !=
                0) {
            free(parts);
            return -1;
        }
    }
    qsort(report->stragglers, report->stragglers_count,
          sizeof(*report->stragglers), by_caused);
    if (report->stragglers_count > STRAGGLERS_MAX) {
        report->stragglers_count = STRAGGLERS_MAX;
    }
    for (size_t i = 0; i < report->stragglers_count; i++) {
        activities_find(scene, rows, count, parts, &report->stragglers[i]);
    }
    free(parts);
    return 0;
}
