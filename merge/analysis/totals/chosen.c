/* chosen.c - what is left of a report when only some ranks are asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/totals/chosen.h"

#include <stdlib.h>

static bool
has_wanted(const struct defs *defs, const int32_t *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (defs_is_wanted(defs, ranks[i])) {
            return true;
        }
    }
    return false;
}

/* Ranks know their launchers by where these are. */
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

static void launchers_keep(const struct defs *defs, struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->launchers_count; i++) {
        struct report_launcher *row = &report->launchers[i];

        if (!has_wanted(defs, row->ranks, row->ranks_count)) {
            free(row->ranks);
            continue;
        }
        launcher_move(report, row, &report->launchers[kept]);
        report->launchers[kept++] = *row;
    }
    report->launchers_count = kept;
}

static void ranks_keep(const struct defs *defs, struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        if (defs_is_wanted(defs, report->ranks[i].number)) {
            report->ranks[kept++] = report->ranks[i];
        }
    }
    report->ranks_count = kept;
}

static void impasses_keep(const struct defs *defs, struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->impasses_count; i++) {
        struct report_impasse *row = &report->impasses[i];

        if (!has_wanted(defs, row->ranks,
                        row->waited + row->died + row->absent)) {
            free(row->ranks);
            continue;
        }
        report->impasses[kept++] = *row;
    }
    report->impasses_count = kept;
}

static void awaited_keep(const struct defs *defs, struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->awaited_count; i++) {
        struct report_awaited *row = &report->awaited[i];

        if (!has_wanted(defs, row->ranks, row->ranks_count) &&
            !defs_is_wanted(defs, row->peer)) {
            free(row->ranks);
            continue;
        }
        report->awaited[kept++] = *row;
    }
    report->awaited_count = kept;
}

void chosen_keep(const struct defs *defs, struct report *report)
{
    if (!defs->is_filtered) {
        return;
    }
    ranks_keep(defs, report);
    launchers_keep(defs, report);
    impasses_keep(defs, report);
    awaited_keep(defs, report);
}
