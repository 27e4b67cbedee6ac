/* stepblock.c - the rows of the steps as two blocks of bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/stepblock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/output/json/jsonreport.h"
#include "schema/json.h"

#define VERSION 1

/* A figure of a step: `before` is the row before, NULL = it is the first. */
typedef uint64_t figure_f(const struct report *report,
                          const struct report_step *step,
                          const struct report_step *before);

static uint64_t folded(int64_t value)
{
    return value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1;
}

/* 0 = none. */
static uint64_t or_none(int64_t value)
{
    return value < 0 ? 0 : (uint64_t)value + 1;
}

static uint64_t number_of(const struct report *report,
                          const struct report_step *step,
                          const struct report_step *before)
{
    (void)report;
    return folded(step->number - (before == NULL ? 0 : before->number));
}

static uint64_t start_of(const struct report *report,
                         const struct report_step *step,
                         const struct report_step *before)
{
    return folded(step->start -
                  (before == NULL ? report->whole.start : before->start));
}

#define FIGURE(name, value)                                                    \
    static uint64_t name(const struct report *report,                          \
                         const struct report_step *step,                       \
                         const struct report_step *before)                     \
    {                                                                          \
        (void)report;                                                          \
        (void)before;                                                          \
        return value;                                                          \
    }
FIGURE(length_of, folded(step->end - step->start))
FIGURE(ranks_of, step->ranks)
FIGURE(shortest_of, folded(step->shortest))
FIGURE(longest_of, folded(step->longest - step->shortest))
FIGURE(longest_rank_of, folded(step->longest_rank))
FIGURE(launches_of, step->launches)
FIGURE(syncs_of, step->syncs)
FIGURE(copies_of, step->copies)
FIGURE(collectives_of, step->collectives)
FIGURE(waited_of, folded(step->waited))
FIGURE(waited_error_of,
       step->waited_error > 0 ? (uint64_t)step->waited_error : 0)
FIGURE(worst_of, or_none(step->worst))
FIGURE(worst_ns_of, folded(step->worst < 0 ? 0 : step->worst_ns))
FIGURE(outlier_of, step->is_outlier)

static figure_f *const figures[] = {
    number_of,       start_of,   length_of,       ranks_of,
    shortest_of,     longest_of, longest_rank_of, launches_of,
    syncs_of,        copies_of,  collectives_of,  waited_of,
    waited_error_of, worst_of,   worst_ns_of,     outlier_of,
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))

static void
put_figures(struct stepblock *block, const struct report *report, size_t rows)
{
    const struct report_step *steps = report->table.items;

    for (size_t f = 0; f < FIGURES; f++) {
        for (size_t i = 0; i < rows; i++) {
            numbers_put(
                &block->numbers,
                figures[f](report, &steps[i], i == 0 ? NULL : &steps[i - 1]));
        }
    }
}

/* Has any row idle time of that cause? */
static bool has_cause(const struct report *report, size_t rows, unsigned cause)
{
    size_t i = 0;

    while (i < rows && report->table.items[i].causes[cause] == 0) {
        i++;
    }
    return i < rows;
}

static void put_causes(struct stepblock *block,
                       struct ck_json *json,
                       const struct report *report,
                       size_t rows)
{
    ck_json_array(json, "causes");
    for (unsigned c = 0; c < CAUSES; c++) {
        if (!has_cause(report, rows, c)) {
            continue;
        }
        ck_json_string(json, NULL, cause_name(c));
        for (size_t i = 0; i < rows; i++) {
            numbers_put(&block->numbers,
                        folded(report->table.items[i].causes[c]));
        }
    }
    ck_json_end(json);
}

static void put_lengths(struct stepblock *block,
                        const struct report *report,
                        size_t rows,
                        size_t lengths)
{
    for (size_t rank = 0; rank < lengths; rank++) {
        for (size_t i = 0; i < rows; i++) {
            numbers_put(&block->numbers,
                        or_none(report->table.items[i].lengths[rank]));
        }
    }
}

int stepblock_make(struct stepblock *block, const struct report *report)
{
    size_t rows = output_json_steps(report);
    size_t lengths = output_json_lengths(report);
    struct ck_json *json;

    *block = (struct stepblock){0};
    if (rows == 0) {
        return 0;
    }
    json = ck_json_create(NULL, false);
    if (json == NULL) {
        errno = ENOMEM;
        return -1;
    }
    numbers_reserve(&block->numbers, rows * (FIGURES + CAUSES + lengths));
    ck_json_object(json, NULL);
    ck_json_int(json, "version", VERSION);
    ck_json_uint(json, "rows", rows);
    ck_json_int(json, "of_ranks", report->size);
    ck_json_uint(json, "lengths", lengths);
    put_figures(block, report, rows);
    put_causes(block, json, report, rows);
    put_lengths(block, report, rows, lengths);
    ck_json_end(json);
    block->index = ck_json_take(json);
    block->index_length = block->index == NULL ? 0 : strlen(block->index);
    return block->index == NULL ? -1 : 0;
}

void stepblock_fini(struct stepblock *block)
{
    free(block->index);
    free(block->numbers.at);
    *block = (struct stepblock){0};
}
