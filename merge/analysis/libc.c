/* libc.c - how often the ranks called which function of libc
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/libc.h"

#include <stdlib.h>
#include <string.h>

#include "merge/array.h"
#include "merge/cause.h"
#include "merge/table.h"

/* The rows being made. */
struct making {
    const struct cast *cast;
    struct report *report;
    const struct calls *calls;
    struct table *seen;    /* name's text, rank: counted among a row's ranks */
    struct table *threads; /* process, tid: numbers as in the cast */
    size_t room;
};

/* The row of a function, made at first sight; NULL with ENOMEM. */
static struct report_libc *row_find(struct making *making, const char *name)
{
    struct report *report = making->report;

    for (size_t i = 0; i < report->libc_count; i++) {
        if (strcmp(report->libc[i].name, name) == 0) {
            return &report->libc[i];
        }
    }
    if (array_grow(&report->libc, &making->room, report->libc_count,
                   sizeof(*report->libc)) != 0) {
        return NULL;
    }
    report->libc[report->libc_count] = (struct report_libc){
        .name = name,
        .group = cause_libc_group(name),
    };
    return &report->libc[report->libc_count++];
}

/* Is it of a thread that the MPI library made? */
static bool is_own(const struct making *making, uint32_t process, uint32_t tid)
{
    struct table_key key = {process, tid, 0};

    return tid != 0 && table_has(making->threads, key) &&
           calls_is_own(making->calls,
                        (uint32_t)table_number(making->threads, key));
}

static int threads_fill(struct making *making)
{
    const struct cast *cast = making->cast;

    for (uint32_t i = 0; i < cast->threads_count; i++) {
        struct table_key key = {cast->threads[i].process, cast->threads[i].tid,
                                0};

        if (table_number(making->threads, key) != (int64_t)i) {
            return -1;
        }
    }
    return 0;
}

static int total_add(struct making *making,
                     uint32_t process,
                     const struct cast_libc *total)
{
    const char *name = cast_name(making->cast, process, total->name);
    int32_t rank = making->cast->processes[process].rank;
    struct report_libc *row;
    struct table_key key;
    int64_t number;
    size_t known = table_count(making->seen);

    row = row_find(making, name == NULL ? "(no name)" : name);
    if (row == NULL) {
        return -1;
    }
    key = (struct table_key){(uint64_t)(row - making->report->libc),
                             (uint64_t)(uint32_t)rank, 0};
    number = table_number(making->seen, key);
    if (number < 0) {
        return -1;
    }
    row->ranks += (size_t)number == known && rank != CAST_RANK_UNKNOWN;
    row->threads += total->tid != 0;
    row->calls += total->calls;
    row->bytes += total->bytes;
    row->total += total->ns;
    if (is_own(making, process, total->tid)) {
        row->own_threads++;
        row->own_calls += total->calls;
        row->own_bytes += total->bytes;
        row->own_total += total->ns;
    }
    return 0;
}

/* The place that a function's long calls took longest at. */
static const struct report_call *call_find(const struct report *report,
                                           const char *name)
{
    const struct report_call *longest = NULL;

    for (size_t i = 0; i < report->calls_count; i++) {
        const struct report_call *call = &report->calls[i];

        if (strcmp(call->kind, "posix") == 0 && strcmp(call->name, name) == 0 &&
            !call->is_own && call->calls > 0 &&
            (longest == NULL || call->total > longest->total)) {
            longest = call;
        }
    }
    return longest;
}

static int by_length(const void *a, const void *b)
{
    const struct report_libc *left = a;
    const struct report_libc *right = b;

    ck_time_t more = left->total - left->own_total;
    ck_time_t less = right->total - right->own_total;

    if (more != less) {
        return more < less ? 1 : -1;
    }
    if (left->total != right->total) {
        return left->total < right->total ? 1 : -1;
    }
    return strcmp(left->name, right->name);
}

static int totals_add(struct making *making)
{
    const struct cast *cast = making->cast;

    for (uint32_t p = 0; p < cast->processes_count; p++) {
        const struct cast_process *process = &cast->processes[p];

        if (!cast_is_wanted(cast, process->rank)) {
            continue;
        }
        for (size_t i = 0; i < process->libc_count; i++) {
            if (total_add(making, p, &process->libc[i]) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

int libc_report(const struct cast *cast,
                const struct calls *calls,
                struct report *report)
{
    struct making making = {.cast = cast, .calls = calls, .report = report};
    int rc = -1;

    making.seen = table_create();
    making.threads = table_create();
    if (making.seen != NULL && making.threads != NULL &&
        threads_fill(&making) == 0) {
        rc = totals_add(&making);
    }
    table_destroy(making.seen);
    table_destroy(making.threads);
    if (report->libc_count > 0) {
        qsort(report->libc, report->libc_count, sizeof(*report->libc),
              by_length);
    }
    for (size_t i = 0; i < report->libc_count; i++) {
        report->libc[i].call = call_find(report, report->libc[i].name);
    }
    return rc;
}
