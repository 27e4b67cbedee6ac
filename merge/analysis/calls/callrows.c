/* callrows.c - host calls by place and by function, from those of each process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/calls/callrows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "schema/order.h"

static int compare_texts(const char *left, const char *right)
{
    return strcmp(left == NULL ? "" : left, right == NULL ? "" : right);
}

/* Equal: the same function called from the same line; without a line, only
 * from the same address of the same process. */
static int compare_places(const struct report_call *a,
                          const struct report_call *b)
{
    int order = compare_texts(a->name, b->name);

    if (order == 0) {
        order = compare_texts(a->place.file, b->place.file);
    }
    if (order == 0) {
        order = compare_texts(a->place.function, b->place.function);
    }
    if (order == 0 && a->place.line != b->place.line) {
        order = a->place.line < b->place.line ? -1 : 1;
    }
    return order;
}

CK_ORDER(by_place,
         struct call_row,
         compare_places(&a->call, &b->call) ?: CK_UP(rank))

CK_ORDER(by_total, struct report_call, CK_DOWN(total) ?: compare_places(a, b))

static void moved_join(struct report_moved *into,
                       const struct report_moved *moved)
{
    into->sent.count += moved->sent.count;
    into->sent.bytes += moved->sent.bytes;
    into->received.count += moved->received.count;
    into->received.bytes += moved->received.bytes;
    into->collectives.count += moved->collectives.count;
    into->collectives.out += moved->collectives.out;
    into->collectives.in += moved->collectives.in;
    report_extent_join(&into->sent_sizes, &moved->sent_sizes);
    report_extent_join(&into->received_sizes, &moved->received_sizes);
    report_extent_join(&into->collective_sizes, &moved->collective_sizes);
}

static void
row_join(struct report_call *into, const struct call_row *row, int32_t last)
{
    into->calls += row->call.calls;
    into->calls_in_run += row->call.calls_in_run;
    into->bytes += row->call.bytes;
    moved_join(&into->moved, &row->call.moved);
    into->total += row->call.total;
    into->max = row->call.max > into->max ? row->call.max : into->max;
    into->ranks += row->rank != last && row->call.ranks;
    into->site = into->site == row->call.site ? into->site : 0;
}

CK_ORDER(by_name,
         struct call_row,
         strcmp(a->call.name, b->call.name) ?: CK_UP(rank))

CK_ORDER(by_total_function,
         struct report_function,
         CK_DOWN(total) ?: strcmp(a->name, b->name))

/* Rows in order of name and rank: is the rank's first with calls behind. */
static void function_join(struct report_function *into,
                          const struct call_row *row,
                          int32_t *last_rank)
{
    const struct report_call *call = &row->call;

    into->calls += call->calls;
    into->calls_in_run += call->calls_in_run;
    moved_join(&into->moved, &call->moved);
    into->total += call->total;
    into->max = call->max > into->max ? call->max : into->max;
    if (call->ranks > 0 && row->rank != *last_rank) {
        into->ranks++;
        *last_rank = row->rank;
    }
}

/* The functions, from sites in any order. */
static void
functions_fill(struct report *report, struct call_row *rows, size_t count)
{
    int32_t last_rank = DEFS_RANK_UNKNOWN;

    qsort(rows, count, sizeof(*rows), by_name);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(rows[i - 1].call.name, rows[i].call.name) != 0) {
            report->functions[report->functions_count++] =
                (struct report_function){.name = rows[i].call.name,
                                         .kind = rows[i].call.kind};
            last_rank = DEFS_RANK_UNKNOWN;
        }
        function_join(&report->functions[report->functions_count - 1], &rows[i],
                      &last_rank);
    }
    qsort(report->functions, report->functions_count,
          sizeof(*report->functions), by_total_function);
}

/* Where a function is among those of the report. */
struct named {
    const char *name;
    size_t at;
};

CK_ORDER(by_named, struct named, strcmp(a->name, b->name))

/* Which function each place is of. */
static void functions_join(struct report *report)
{
    size_t count = report->functions_count;
    struct named *names = xcalloc(count + 1, sizeof(*names));

    for (size_t i = 0; i < count; i++) {
        names[i] = (struct named){report->functions[i].name, i};
    }
    qsort(names, count, sizeof(*names), by_named);
    for (size_t i = 0; i < report->calls_count; i++) {
        struct report_call *call = &report->calls[i];
        struct named key = {call->name, 0};
        const struct named *found =
            bsearch(&key, names, count, sizeof(*names), by_named);

        assert(found != NULL);
        call->function = (uint32_t)found->at;
        report->functions[found->at].places += call->calls > 0;
    }
    free(names);
}

void callrows_report(struct call_row *rows, size_t count, struct report *report)
{
    report->calls = xcalloc(count + 1, sizeof(*report->calls));
    report->functions = xcalloc(count + 1, sizeof(*report->functions));
    functions_fill(report, rows, count);
    qsort(rows, count, sizeof(*rows), by_place);
    for (size_t i = 0; i < count; i++) {
        struct report_call *last = &report->calls[report->calls_count];

        if (i > 0 && compare_places(&rows[i - 1].call, &rows[i].call) == 0) {
            row_join(last - 1, &rows[i], rows[i - 1].rank);
        } else {
            *last = rows[i].call;
            report->calls_count++;
        }
    }
    qsort(report->calls, report->calls_count, sizeof(*report->calls), by_total);
    functions_join(report);
}
