/* chosen.c - what is left of a report when only some ranks are asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/totals/chosen.h"

#include <stdlib.h>

static bool
has_wanted(const struct cast *cast, const int32_t *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (cast_is_wanted(cast, ranks[i])) {
            return true;
        }
    }
    return false;
}

/* Ranks know their launchers by where these lie. */
static void launcher_move(struct report *report,
                          const struct report_launcher *from,
                          const struct report_launcher *to)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].launcher == from) {
            report->ranks[i].launcher = to;
        }
    }
}

static void launchers_keep(const struct cast *cast, struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->launchers_count; i++) {
        struct report_launcher *row = &report->launchers[i];

        if (!has_wanted(cast, row->ranks, row->ranks_count)) {
            free(row->ranks);
            continue;
        }
        launcher_move(report, row, &report->launchers[kept]);
        report->launchers[kept++] = *row;
    }
    report->launchers_count = kept;
}

static void ranks_keep(const struct cast *cast, struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        if (cast_is_wanted(cast, report->ranks[i].number)) {
            report->ranks[kept++] = report->ranks[i];
        }
    }
    report->ranks_count = kept;
}

static void impasses_keep(const struct cast *cast, struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->impasses_count; i++) {
        struct report_impasse *row = &report->impasses[i];

        if (!has_wanted(cast, row->ranks,
                        row->waited + row->died + row->absent)) {
            free(row->ranks);
            continue;
        }
        report->impasses[kept++] = *row;
    }
    report->impasses_count = kept;
}

static void awaited_keep(const struct cast *cast, struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->awaited_count; i++) {
        struct report_awaited *row = &report->awaited[i];

        if (!has_wanted(cast, row->ranks, row->ranks_count) &&
            !cast_is_wanted(cast, row->peer)) {
            free(row->ranks);
            continue;
        }
        report->awaited[kept++] = *row;
    }
    report->awaited_count = kept;
}

void chosen_keep(const struct cast *cast, struct report *report)
{
    if (!cast->is_filtered) {
        return;
    }
    ranks_keep(cast, report);
    launchers_keep(cast, report);
    impasses_keep(cast, report);
    awaited_keep(cast, report);
}
