/* programs.c - which ranks ran which program, where not all ran the same
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/totals/programs.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/executed.h"
#include "merge/model/memory.h"

/* Longest name of a program that is compared, in bytes. */
#define NAME_BYTES 256
/* More programs than that are one with the last. */
#define PROGRAMS_MAX 64

static bool is_same(const char *a, const char *b)
{
    char left[NAME_BYTES], right[NAME_BYTES];

    (void)executed_name(a, left, sizeof(left));
    (void)executed_name(b, right, sizeof(right));
    return strcmp(left, right) == 0;
}

/* What the rank ran, NULL = not known. */
static const char *program_of(const struct defs *defs, int32_t number)
{
    uint32_t index = defs_rank_index(defs, number);
    uint32_t agent;

    if (index == DEFS_NONE) {
        return NULL;
    }
    agent = defs->ranks[index].agent;
    return defs->agents[agent].is_profile ? NULL : executed_find(defs, agent);
}

/* Its row, a new one where it has none. */
static struct report_program *row_of(struct report *report, const char *program)
{
    struct report_program *rows = report->programs_of_ranks;
    size_t count = report->programs_of_ranks_count;

    for (size_t i = 0; i < count; i++) {
        if (is_same(rows[i].program, program)) {
            return &rows[i];
        }
    }
    if (count == PROGRAMS_MAX) {
        return &rows[count - 1];
    }
    rows[count].program = program;
    report->programs_of_ranks_count++;
    return &rows[count];
}

void programs_report(const struct defs *defs, struct report *report)
{
    report->programs_of_ranks =
        xcalloc(PROGRAMS_MAX, sizeof(*report->programs_of_ranks));
    for (size_t i = 0; i < report->ranks_count; i++) {
        int32_t number = report->ranks[i].number;
        const char *program = program_of(defs, number);
        struct report_program *row;

        if (program == NULL || !defs_is_wanted(defs, number)) {
            continue;
        }
        row = row_of(report, program);
        if (row->ranks == NULL) {
            row->ranks = xcalloc(report->ranks_count, sizeof(*row->ranks));
        }
        row->ranks[row->ranks_count++] = number;
    }
    if (report->programs_of_ranks_count == 1) {
        free(report->programs_of_ranks[0].ranks);
        report->programs_of_ranks_count = 0;
    }
}
