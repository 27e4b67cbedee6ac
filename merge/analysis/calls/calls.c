/* calls.c - host calls by the place they were made from
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * While the merge runs a call site is (process, name, address): addresses mean
 * something within one process image only. At the end sites become lines, and
 * equal lines of different processes one row.
 *
 * What was received counts at the call that posted the receive: the record of
 * its completion names the request.
 */
#include "merge/analysis/calls/calls.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/calls/callrows.h"
#include "merge/analysis/calls/mpilibrary.h"
#include "merge/analysis/calls/traffic.h"
#include "merge/messages/requests.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

#define UNNAMED "(no name)"

struct site {
    uint64_t calls;
    uint64_t calls_in_run;
    uint64_t bytes;
    struct report_moved moved;
    ck_time_t total;
    ck_time_t max;
    uint16_t kind;
    uint8_t owner; /* enum owner, of libc's functions */
};

/* Whose code made a call of libc. */
enum owner { OWNER_UNKNOWN, OWNER_PROGRAM, OWNER_MPI };

/* Sites looked at lately. */
#define SITES_KNOWN 64

struct known {
    uint32_t process; /* DEFS_NONE = unused */
    uint32_t name;
    uint64_t site;
    struct site *found; /* until the sites move */
};

struct calls {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct table *keys; /* process, name, site */
    struct site *sites;
    size_t count;
    size_t room;
    struct known known[SITES_KNOWN];
    struct traffic *traffic;
    struct requests *requests; /* receives: their sites + 1 */
    uint8_t *owners; /* by thread: bits of owners of its calls of libc */
    uint32_t *last;  /* by thread: site + 1 of its last MPI_CALL or SENDRECV */
};

/* MPI_PROC_NULL in records. */
#define PEER_NULL (-2)

static void known_forget(struct calls *calls)
{
    for (size_t i = 0; i < SITES_KNOWN; i++) {
        calls->known[i].process = DEFS_NONE;
    }
}

struct calls *calls_create(const struct defs *defs, struct region region)
{
    struct calls *calls = xcalloc(1, sizeof(*calls));

    calls->defs = defs;
    calls->region = region;
    known_forget(calls);
    calls->keys = table_create();
    calls->requests = requests_create();
    calls->traffic = traffic_create(defs);
    calls->last = xcalloc(defs->threads_count + 1, sizeof(*calls->last));
    calls->owners = xcalloc(defs->threads_count + 1, sizeof(*calls->owners));
    return calls;
}

void calls_destroy(struct calls *calls)
{
    if (calls == NULL) {
        return;
    }
    table_destroy(calls->keys);
    requests_destroy(calls->requests);
    traffic_destroy(calls->traffic);
    free(calls->last);
    free(calls->owners);
    free(calls->sites);
    free(calls);
}

static enum owner owner_of(const struct calls *calls,
                           const struct timeline_event *event,
                           uint64_t site)
{
    const struct defs *defs = calls->defs;
    struct place place;

    if (event->record->kind != CK_KIND_POSIX ||
        event->process >= defs->processes_count) {
        return OWNER_UNKNOWN;
    }
    if (mpilibrary_has(defs, event->process, site)) {
        return OWNER_MPI;
    }
    place = defs_place(defs, event->process, site);
    return place.function == NULL && place.file == NULL ? OWNER_UNKNOWN
                                                        : OWNER_PROGRAM;
}

static struct site *site_find(struct calls *calls,
                              const struct timeline_event *event,
                              uint64_t site)
{
    struct table_key key = {event->process, event->record->name, site};
    int64_t number = table_number(calls->keys, key);

    if ((size_t)number == calls->count) {
        array_grow(&calls->sites, &calls->room, calls->count,
                   sizeof(*calls->sites));
        known_forget(calls);
        memset(&calls->sites[calls->count], 0, sizeof(*calls->sites));
        calls->sites[calls->count].owner =
            (uint8_t)owner_of(calls, event, site);
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

        *known = (struct known){event->process, name, site, found};
    }
    return known->found;
}

/* Bytes that the call moved, by its class. */
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

/* A request is of a receive that was posted at that site (+ 1), or of
 * something else (0). */
static void request_set(struct calls *calls,
                        const struct timeline_event *event,
                        uint64_t request,
                        uint32_t site)
{
    if (!(request == 0)) {
        requests_set(calls->requests, event->process, request, site);
    }
}

/* A completion may be the last thing of a run. */
static bool is_within(const struct calls *calls,
                      const struct timeline_event *event)
{
    ck_time_t start = event->start;
    ck_time_t end = event->end;

    return region_clip(calls->region, &start, &end) ||
           (event->start == event->end && event->start == calls->region.end);
}

static void received_add(struct calls *calls,
                         const struct timeline_event *event,
                         const struct ck_message *message,
                         struct site *site)
{
    if (message->peer < 0 || !is_within(calls, event)) {
        return;
    }
    if (site != NULL) {
        site->moved.received.count++;
        site->moved.received.bytes += message->bytes;
        report_extent_add(&site->moved.received_sizes, message->bytes);
    }
    traffic_received(calls->traffic, event, message);
}

static void sent_add(struct calls *calls,
                     const struct timeline_event *event,
                     const struct ck_message *message,
                     struct site *site)
{
    if (message->peer < 0 || !is_within(calls, event)) {
        return;
    }
    if (site != NULL) {
        site->moved.sent.count++;
        site->moved.sent.bytes += message->bytes;
        report_extent_add(&site->moved.sent_sizes, message->bytes);
    }
    traffic_sent(calls->traffic, event, message);
}

/* A request is complete: if it was a receive's, that is what it got. */
static void complete_take(struct calls *calls,
                          const struct timeline_event *event)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    uint32_t number = 0;

    if (message->request != 0) {
        number =
            requests_get(calls->requests, event->process, message->request);
        if (number != 0 && !ck_event_is_persistent(&message->e)) {
            request_set(calls, event, message->request, 0);
        }
    } else if (event->thread < calls->defs->threads_count) {
        number = calls->last[event->thread]; /* of an MPI_Sendrecv */
    }
    if (number != 0 && (message->e.flags & CK_FLAG_FAILED) == 0) {
        received_add(calls, event, message, &calls->sites[number - 1]);
    }
}

static void message_take(struct calls *calls,
                         const struct timeline_event *event,
                         struct site *site)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    uint32_t number = site == NULL ? 0 : (uint32_t)(site - calls->sites) + 1;

    if ((message->e.flags & (CK_FLAG_FAILED | CK_FLAG_CUT)) != 0) {
        return;
    }
    switch (message->e.kind) {
    case CK_KIND_SEND:
        sent_add(calls, event, message, site);
        request_set(calls, event, message->request, 0);
        return;
    case CK_KIND_SENDRECV:
        sent_add(calls, event, message, site);
        request_set(calls, event, message->request, number);
        return;
    case CK_KIND_RECV:
        if (message->request == 0) {
            received_add(calls, event, message, site);
            return;
        }
        /* From no rank, and some MPIs' statuses name rank 0 then. */
        request_set(calls, event, message->request,
                    message->peer == PEER_NULL ? 0 : number);
        return;
    default:
        return;
    }
}

static void collective_add(struct report_moved *moved,
                           const struct ck_collective *record)
{
    moved->collectives.count++;
    moved->collectives.out += record->bytes_out;
    moved->collectives.in += record->bytes_in;
    if (record->bytes_out > 0) {
        report_extent_add(&moved->collective_sizes, record->bytes_out);
    }
    if (record->bytes_in > 0) {
        report_extent_add(&moved->collective_sizes, record->bytes_in);
    }
}

static void collective_take(struct calls *calls,
                            const struct timeline_event *event,
                            struct site *site)
{
    const struct ck_collective *record =
        (const struct ck_collective *)event->record;

    if ((record->e.flags & (CK_FLAG_FAILED | CK_FLAG_CUT)) != 0) {
        return;
    }
    request_set(calls, event, record->request, 0);
    if (!is_within(calls, event)) {
        return;
    }
    if (site != NULL) {
        collective_add(&site->moved, record);
    }
    traffic_collective(calls->traffic, event, record);
}

/* What the call moved. */
static void moved_take(struct calls *calls,
                       const struct timeline_event *event,
                       enum ck_class cls,
                       struct site *site)
{
    if (cls == CK_CLASS_MESSAGE) {
        message_take(calls, event, site);
        return;
    }
    if (cls == CK_CLASS_COLLECTIVE) {
        collective_take(calls, event, site);
    }
}

/* A persistent request's transfer: its MPI_Start has a record before it. */
static void started_take(struct calls *calls,
                         const struct timeline_event *event,
                         enum ck_class cls)
{
    uint32_t number = event->thread < calls->defs->threads_count
                          ? calls->last[event->thread]
                          : 0;

    moved_take(calls, event, cls,
               number == 0 ? NULL : &calls->sites[number - 1]);
}

int calls_take(void *consumer, const struct timeline_event *event)
{
    struct calls *calls = consumer;
    unsigned kind = event->record->kind;
    enum ck_class cls = ck_kind_class(kind);
    ck_time_t start = event->start;
    ck_time_t end = event->end;
    struct site *site;

    if ((cls != CK_CLASS_CALL && cls != CK_CLASS_MESSAGE &&
         cls != CK_CLASS_COLLECTIVE) ||
        kind == CK_KIND_OVERHEAD || kind == CK_KIND_SYNC ||
        kind == CK_KIND_NCCL_CALL) {
        return 0;
    }
    /* These are no calls: they have what one completed or started. */
    if (kind == CK_KIND_COMPLETE) {
        complete_take(calls, event);
        return 0;
    }
    if (ck_kind_is_about_call(kind)) {
        return 0;
    }
    if (ck_event_is_persistent(event->record)) {
        started_take(calls, event, cls);
        return 0;
    }
    /* The site is at the same place in all three classes. */
    site =
        site_known(calls, event, ((const struct ck_call *)event->record)->site);
    if (event->thread >= calls->defs->threads_count) {
        /* not one of those that are known */
    } else if (kind == CK_KIND_MPI_CALL || kind == CK_KIND_SENDRECV) {
        calls->last[event->thread] = (uint32_t)(site - calls->sites) + 1;
    } else if (kind == CK_KIND_POSIX) {
        calls->owners[event->thread] |= (uint8_t)(1 << site->owner);
    }
    site->calls_in_run++;
    if (region_clip(calls->region, &start, &end)) {
        site->calls++;
        site->bytes += call_bytes(event->record);
        site->total += end - start;
        site->max = end - start > site->max ? end - start : site->max;
    }
    moved_take(calls, event, cls, site);
    return 0;
}

size_t calls_count(const struct calls *calls)
{
    return calls->count;
}

bool calls_long_at(const struct calls *calls, size_t i, struct calls_long *out)
{
    struct table_key key;

    if (i >= calls->count || calls->sites[i].kind != CK_KIND_POSIX) {
        return false;
    }
    key = table_key(calls->keys, i);
    *out = (struct calls_long){(uint32_t)key.a, (uint32_t)key.b,
                               calls->sites[i].calls_in_run,
                               calls->sites[i].total};
    return true;
}

void calls_waits(struct calls *calls, const struct waitstates *waitstates)
{
    size_t count;
    const struct ledger_row *rows = waitstates_rows(waitstates, &count);

    for (size_t i = 0; i < count; i++) {
        /* Of rows of several ranks it is not known which one waited. */
        if (!rows_has_ranks(&rows[i]) && rows[i].cause == CAUSE_MPI_WAIT &&
            rows[i].last != DEFS_RANK_UNKNOWN &&
            defs_is_wanted(calls->defs, rows[i].rank)) {
            traffic_wait(calls->traffic, rows[i].wait, rows[i].rank,
                         rows[i].last, rows[i].ns, rows[i].count);
        }
    }
}

_Static_assert(offsetof(struct ck_message, site) ==
                       offsetof(struct ck_call, site) &&
                   offsetof(struct ck_collective, site) ==
                       offsetof(struct ck_call, site),
               "one place for the site");

static void
row_fill(const struct calls *calls, size_t number, struct call_row *row)
{
    struct table_key key = table_key(calls->keys, number);
    const struct site *site = &calls->sites[number];
    const char *name = defs_name(calls->defs, (uint32_t)key.a, (uint32_t)key.b);

    memset(row, 0, sizeof(*row));
    row->rank = calls->defs->processes[key.a].rank;
    row->call.name = name == NULL ? UNNAMED : name;
    row->call.kind = ck_kind_name(site->kind);
    row->call.place = defs_place(calls->defs, (uint32_t)key.a, key.c);
    row->call.site = row->call.place.function == NULL ? key.c : 0;
    row->call.calls = site->calls;
    row->call.calls_in_run = site->calls_in_run;
    row->call.is_own = site->owner == OWNER_MPI;
    row->call.bytes = site->bytes;
    row->call.moved = site->moved;
    row->call.total = site->total;
    row->call.max = site->max;
    row->call.ranks = site->calls > 0 && row->rank != DEFS_RANK_UNKNOWN;
}

bool calls_is_own(const struct calls *calls, uint32_t thread)
{
    const struct defs_thread *of = &calls->defs->threads[thread];
    unsigned owners = calls->owners[thread];

    return stamps_has(&calls->defs->processes[of->process].init) &&
           (owners & 1 << OWNER_MPI) != 0 && (owners & 1 << OWNER_PROGRAM) == 0;
}

void calls_report(const struct calls *calls, struct report *report)
{
    struct call_row *rows = xcalloc(calls->count + 1, sizeof(*rows));

    for (size_t i = 0; i < calls->count; i++) {
        row_fill(calls, i, &rows[i]);
    }
    callrows_report(rows, calls->count, report);
    free(rows);
    traffic_report(calls->traffic, report);
}
