/* libc.c - how often the ranks called which function of libc
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/calls/libc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "merge/model/array.h"
#include "merge/model/cause.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* The rows being made. */
struct making {
    const struct defs *defs;
    struct report *report;
    const struct calls *calls;
    struct table *seen;    /* row, rank, of the program: counted in the row */
    struct table *threads; /* process, tid: numbers as in the definitions */
    size_t room;
};

/* The row of a function, made at first sight. */
static struct report_libc *row_find(struct making *making, const char *name)
{
    struct report *report = making->report;

    for (size_t i = 0; i < report->libc_count; i++) {
        if (strcmp(report->libc[i].name, name) == 0) {
            return &report->libc[i];
        }
    }
    array_grow(&report->libc, &making->room, report->libc_count,
               sizeof(*report->libc));
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

static void threads_fill(struct making *making)
{
    const struct defs *defs = making->defs;

    for (uint32_t i = 0; i < defs->threads_count; i++) {
        struct table_key key = {defs->threads[i].process, defs->threads[i].tid,
                                0};

        table_number(making->threads, key);
    }
}

/* Count a process's rank among those of a row, and of its program or not;
 * once. */
static void rank_count(struct making *making,
                       const struct report_libc *row,
                       int32_t rank,
                       bool is_programs,
                       uint32_t *ranks)
{
    size_t known = table_count(making->seen);
    int64_t number = table_number(
        making->seen,
        (struct table_key){(uint64_t)(row - making->report->libc),
                           (uint64_t)(uint32_t)rank, (uint64_t)is_programs});

    *ranks += rank != DEFS_RANK_UNKNOWN && (size_t)number == known;
}

static void total_add(struct making *making,
                      uint32_t process,
                      const struct defs_libc *total)
{
    const char *name = defs_name(making->defs, process, total->name);
    int32_t rank = making->defs->processes[process].rank;
    struct report_libc *row;
    bool own = is_own(making, process, total->tid);

    row = row_find(making, name == NULL ? "(no name)" : name);
    rank_count(making, row, rank, false, &row->ranks);
    if (!own) {
        rank_count(making, row, rank, true, &row->program_ranks);
    }
    row->threads += total->tid != 0;
    row->calls += total->calls;
    row->bytes += total->bytes;
    row->total += total->ns;
    if (own) {
        row->own_threads++;
        row->own_calls += total->calls;
        row->own_bytes += total->bytes;
        row->own_total += total->ns;
    }
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

CK_ORDER(by_length,
         struct report_libc,
         CK_LESS(b->total - b->own_total, a->total - a->own_total) ?:
         CK_DOWN(total) ?: strcmp(a->name, b->name))

/* What a process counted of a function, and what was recorded of it. */
struct account {
    uint64_t counted, recorded;
    ck_time_t counted_ns, recorded_ns;
};

/* Accounts by process and name. */
struct accounts {
    struct table *keys;
    struct account *items;
    size_t count, room;
};

static struct account *
account_find(struct accounts *accounts, uint32_t process, uint32_t name)
{
    int64_t number =
        table_number(accounts->keys, (struct table_key){process, name, 0});

    if ((size_t)number == accounts->count) {
        array_grow(&accounts->items, &accounts->room, accounts->count,
                   sizeof(*accounts->items));
        accounts->items[accounts->count++] = (struct account){0, 0, 0, 0};
    }
    return &accounts->items[number];
}

static void accounts_fill(const struct making *making,
                          struct accounts *accounts)
{
    const struct defs *defs = making->defs;
    struct calls_long calls;

    for (uint32_t p = 0; p < defs->processes_count; p++) {
        for (size_t i = 0; i < defs->processes[p].libc_count; i++) {
            const struct defs_libc *total = &defs->processes[p].libc[i];
            struct account *account = account_find(accounts, p, total->name);

            account->counted += total->calls;
            account->counted_ns += total->ns;
        }
    }
    for (size_t i = 0; i < calls_count(making->calls); i++) {
        if (calls_long_at(making->calls, i, &calls)) {
            struct account *account =
                account_find(accounts, calls.process, calls.name);

            account->recorded += calls.count;
            account->recorded_ns += calls.total;
        }
    }
}

/* Did a signal end it, or is that not known? Then its last counts are missing.
 */
static bool is_killed(const struct defs *defs, uint32_t process)
{
    const struct defs_agent *agent =
        &defs->agents[defs->processes[process].agent];

    return agent->has_exit &&
           (!agent->is_exit_known || WIFSIGNALED(agent->status));
}

/* Calls that have records were made, whatever their process counted. */
static void
account_settle(struct making *making, struct table_key key, struct account *of)
{
    const struct defs *defs = making->defs;
    uint32_t process = (uint32_t)key.a;
    const char *name = defs_name(defs, process, (uint32_t)key.b);
    struct report_libc *row;

    if (!defs_is_wanted(defs, defs->processes[process].rank) ||
        (of->recorded <= of->counted && !is_killed(defs, process))) {
        return;
    }
    row = row_find(making, name == NULL ? "(no name)" : name);
    row->is_least = true;
    row->calls += of->recorded > of->counted ? of->recorded - of->counted : 0;
    row->total +=
        of->recorded_ns > of->counted_ns ? of->recorded_ns - of->counted_ns : 0;
}

static void accounts_add(struct making *making)
{
    struct accounts accounts = {.keys = table_create()};

    accounts_fill(making, &accounts);
    for (size_t i = 0; i < accounts.count; i++) {
        account_settle(making, table_key(accounts.keys, i), &accounts.items[i]);
    }
    table_destroy(accounts.keys);
    free(accounts.items);
}

static void totals_add(struct making *making)
{
    const struct defs *defs = making->defs;

    for (uint32_t p = 0; p < defs->processes_count; p++) {
        const struct defs_process *process = &defs->processes[p];

        if (!defs_is_wanted(defs, process->rank)) {
            continue;
        }
        for (size_t i = 0; i < process->libc_count; i++) {
            total_add(making, p, &process->libc[i]);
        }
    }
}

void libc_report(const struct defs *defs,
                 const struct calls *calls,
                 struct report *report)
{
    struct making making = {.defs = defs, .calls = calls, .report = report};

    making.seen = table_create();
    making.threads = table_create();
    threads_fill(&making);
    totals_add(&making);
    accounts_add(&making);
    table_destroy(making.seen);
    table_destroy(making.threads);
    if (report->libc_count > 0) {
        qsort(report->libc, report->libc_count, sizeof(*report->libc),
              by_length);
    }
    for (size_t i = 0; i < report->libc_count; i++) {
        report->libc[i].call = call_find(report, report->libc[i].name);
    }
}
