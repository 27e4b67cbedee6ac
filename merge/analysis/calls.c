/* calls.c - host calls by the place they were made from
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * While the merge runs a call site is (process, name, address): addresses mean
 * something within one process image only. At the end sites become lines, and
 * equal lines of different processes one row.
 */
#include "merge/analysis/calls.h"

#include <stdlib.h>
#include <string.h>

#include "merge/array.h"
#include "merge/table.h"

#define UNNAMED "(no name)"

struct site {
    uint64_t calls;
    uint64_t calls_in_run;
    uint64_t bytes;
    ck_time_t total;
    ck_time_t max;
    uint16_t kind;
};

/* Sites looked at lately. */
#define SITES_KNOWN 64

struct known {
    uint32_t process; /* CAST_NONE = unused */
    uint32_t name;
    uint64_t site;
    struct site *found; /* until the sites move */
};

struct calls {
    const struct cast *cast; /* borrowed */
    struct region region;
    struct table *keys; /* process, name, site */
    struct site *sites;
    size_t count;
    size_t room;
    struct known known[SITES_KNOWN];
};

static void known_forget(struct calls *calls)
{
    for (size_t i = 0; i < SITES_KNOWN; i++) {
        calls->known[i].process = CAST_NONE;
    }
}

struct calls *calls_create(const struct cast *cast, struct region region)
{
    struct calls *calls = calloc(1, sizeof(*calls));

    if (calls == NULL) {
        return NULL;
    }
    calls->cast = cast;
    calls->region = region;
    known_forget(calls);
    calls->keys = table_create();
    if (calls->keys == NULL) {
        free(calls);
        return NULL;
    }
    return calls;
}

void calls_destroy(struct calls *calls)
{
    if (calls == NULL) {
        return;
    }
    table_destroy(calls->keys);
    free(calls->sites);
    free(calls);
}

static struct site *site_find(struct calls *calls,
                              const struct timeline_event *event,
                              uint64_t site)
{
    struct table_key key = {event->process, event->record->name, site};
    int64_t number = table_number(calls->keys, key);

    if (number < 0) {
        return NULL;
    }
    if ((size_t)number == calls->count) {
        if (array_grow(&calls->sites, &calls->room, calls->count,
                       sizeof(*calls->sites)) != 0) {
            return NULL;
        }
        known_forget(calls);
        memset(&calls->sites[calls->count], 0, sizeof(*calls->sites));
        calls->sites[calls->count++].kind = event->record->kind;
    }
    return &calls->sites[number];
}

/* The same, without a search for one that came lately. */
static inline struct site *site_known(struct calls *calls,
                                      const struct timeline_event *event,
                                      uint64_t site)
{
    uint32_t name = event->record->name;
    size_t at = (site >> 2 ^ name * 7 ^ event->process * 13) % SITES_KNOWN;
    struct known *known = &calls->known[at];

    if (known->site != site || known->name != name ||
        known->process != event->process) {
        struct site *found = site_find(calls, event, site);

        if (found == NULL) {
            return NULL;
        }
        *known = (struct known){event->process, name, site, found};
    }
    return known->found;
}

/* Bytes that the call moved, by what its class says of them. */
static uint64_t call_bytes(const struct ck_event *record)
{
    switch (ck_kind_class(record->kind)) {
    case CK_CLASS_CALL:
        return ((const struct ck_call *)record)->bytes;
    case CK_CLASS_MESSAGE:
        return ((const struct ck_message *)record)->bytes;
    case CK_CLASS_COLLECTIVE:
        return ((const struct ck_collective *)record)->bytes_out;
    default:
        return 0;
    }
}

int calls_take(void *consumer, const struct timeline_event *event)
{
    struct calls *calls = consumer;
    enum ck_class cls = ck_kind_class(event->record->kind);
    ck_time_t start = event->start;
    ck_time_t end = event->end;
    struct site *site;

    /* A COMPLETE is no call: it says what one completed. Nor is a persistent
     * request's transfer: its MPI_Start has a record of its own.
     */
    if ((cls != CK_CLASS_CALL && cls != CK_CLASS_MESSAGE &&
         cls != CK_CLASS_COLLECTIVE) ||
        event->record->kind == CK_KIND_COMPLETE ||
        (event->record->flags & CK_FLAG_PERSISTENT) != 0 ||
        event->record->kind == CK_KIND_OVERHEAD ||
        event->record->kind == CK_KIND_SYNC) {
        return 0;
    }
    /* The site lies at the same place in all three classes. */
    site =
        site_known(calls, event, ((const struct ck_call *)event->record)->site);
    if (site == NULL) {
        return -1;
    }
    site->calls_in_run++;
    if (!region_clip(calls->region, &start, &end)) {
        return 0;
    }
    site->calls++;
    site->bytes += call_bytes(event->record);
    site->total += end - start;
    if (end - start > site->max) {
        site->max = end - start;
    }
    return 0;
}

_Static_assert(offsetof(struct ck_message, site) ==
                       offsetof(struct ck_call, site) &&
                   offsetof(struct ck_collective, site) ==
                       offsetof(struct ck_call, site),
               "one place for the site");

/* A row before equal ones are joined. */
struct row {
    struct report_call call;
    int32_t rank;
};

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

static int by_place(const void *a, const void *b)
{
    const struct row *left = a;
    const struct row *right = b;
    int order = compare_places(&left->call, &right->call);

    if (order != 0) {
        return order;
    }
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static int by_total(const void *a, const void *b)
{
    const struct report_call *left = a;
    const struct report_call *right = b;

    if (left->total != right->total) {
        return left->total < right->total ? 1 : -1;
    }
    return compare_places(left, right);
}

static void row_fill(const struct calls *calls, size_t number, struct row *row)
{
    struct table_key key = table_key(calls->keys, number);
    const struct site *site = &calls->sites[number];
    const char *name = cast_name(calls->cast, (uint32_t)key.a, (uint32_t)key.b);

    memset(row, 0, sizeof(*row));
    row->rank = calls->cast->processes[key.a].rank;
    row->call.name = name == NULL ? UNNAMED : name;
    row->call.kind = ck_kind_name(site->kind);
    row->call.place = cast_place(calls->cast, (uint32_t)key.a, key.c);
    row->call.site = row->call.place.function == NULL ? key.c : 0;
    row->call.calls = site->calls;
    row->call.calls_in_run = site->calls_in_run;
    row->call.bytes = site->bytes;
    row->call.total = site->total;
    row->call.max = site->max;
    row->call.ranks = site->calls > 0 && row->rank != CAST_RANK_UNKNOWN;
}

static void
row_join(struct report_call *into, const struct row *row, int32_t last)
{
    into->calls += row->call.calls;
    into->calls_in_run += row->call.calls_in_run;
    into->bytes += row->call.bytes;
    into->total += row->call.total;
    into->max = row->call.max > into->max ? row->call.max : into->max;
    into->ranks += row->rank != last && row->call.ranks;
    into->site = into->site == row->call.site ? into->site : 0;
}

int calls_report(const struct calls *calls, struct report *report)
{
    struct row *rows = calloc(calls->count + 1, sizeof(*rows));

    report->calls = calloc(calls->count + 1, sizeof(*report->calls));
    if (rows == NULL || report->calls == NULL) {
        free(rows);
        return -1;
    }
    for (size_t i = 0; i < calls->count; i++) {
        row_fill(calls, i, &rows[i]);
    }
    qsort(rows, calls->count, sizeof(*rows), by_place);
    for (size_t i = 0; i < calls->count; i++) {
        struct report_call *last = &report->calls[report->calls_count];

        if (i > 0 && compare_places(&rows[i - 1].call, &rows[i].call) == 0) {
            row_join(last - 1, &rows[i], rows[i - 1].rank);
        } else {
            *last = rows[i].call;
            report->calls_count++;
        }
    }
    free(rows);
    qsort(report->calls, report->calls_count, sizeof(*report->calls), by_total);
    return 0;
}
