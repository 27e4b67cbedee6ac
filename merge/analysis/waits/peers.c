/* peers.c - which process of one ckagent waited for which, without ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calls come in order of their begins, so a wait is known at the begin of the
 * read that it ends with, before what the other process did meanwhile. It is
 * kept until the first call that begins behind its end.
 */
#include "merge/analysis/waits/peers.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/links.h"
#include "merge/analysis/history/sockets.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* A call of libc by the first thread of a process. */
struct span {
    struct region part;
    uint32_t name;
    uint64_t site;
};

struct recent {
    struct span *items; /* PEERS_SPANS; NULL = none yet */
    size_t next;
};

/* Waits of one process for another one at one place. */
struct row {
    uint32_t process, peer;
    uint32_t name, path;
    uint64_t site;
    bool is_write;
    ck_time_t ns;
    ck_time_t called; /* of that, the other one was in calls of libc */
    uint64_t count;
};

struct pending {
    struct region part;
    size_t row;
};

struct peers {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct sockets *sockets;
    struct recent *recent; /* by process */
    struct table *row_keys;
    struct row *rows;
    size_t rows_count, rows_room;
    struct table *deed_keys; /* row, name, site */
    ck_time_t *deeds;        /* how long the awaited one was in them */
    size_t deeds_count, deeds_room;
    struct pending pending[PEERS_PENDING];
    size_t pending_count;
    ck_time_t first_end; /* of what is pending */
    ck_time_t left_out;  /* waits beyond PEERS_ROWS */
};

struct peers *peers_create(const struct defs *defs, struct region region)
{
    struct peers *peers = xcalloc(1, sizeof(*peers));

    peers->defs = defs;
    peers->region = region;
    peers->sockets = sockets_create(defs, SOCKETS_OF_PROCESSES);
    peers->recent = xcalloc(defs->processes_count + 1, sizeof(*peers->recent));
    peers->row_keys = table_create();
    peers->deed_keys = table_create();
    return peers;
}

void peers_destroy(struct peers *peers)
{
    if (peers == NULL) {
        return;
    }
    for (size_t i = 0;
         peers->recent != NULL && i < peers->defs->processes_count; i++) {
        free(peers->recent[i].items);
    }
    free(peers->recent);
    sockets_destroy(peers->sockets);
    table_destroy(peers->row_keys);
    table_destroy(peers->deed_keys);
    free(peers->rows);
    free(peers->deeds);
    free(peers);
}

bool peers_is_wanted(const struct peers *peers)
{
    return sockets_has_any(peers->sockets);
}

/* So much of [start, end) is in the span. */
static ck_time_t overlap(const struct span *span, struct region part)
{
    ck_time_t start = span->part.start, end = span->part.end;

    return region_clip(part, &start, &end) ? end - start : 0;
}

static void
deed_add(struct peers *peers, size_t row, const struct span *span, ck_time_t ns)
{
    struct table_key key = {row, span->name, span->site};
    int64_t number;

    peers->rows[row].called += ns;
    if (peers->deeds_count == PEERS_CALLS &&
        !table_has(peers->deed_keys, key)) {
        return;
    }
    number = table_number(peers->deed_keys, key);
    if ((size_t)number == peers->deeds_count) {
        array_grow(&peers->deeds, &peers->deeds_room, peers->deeds_count,
                   sizeof(*peers->deeds));
        peers->deeds[peers->deeds_count++] = 0;
    }
    peers->deeds[number] += ns;
}

/* What the other process did in that wait. */
static void pending_settle(struct peers *peers, const struct pending *pending)
{
    const struct recent *recent =
        &peers->recent[peers->rows[pending->row].peer];
    size_t count = recent->next < PEERS_SPANS ? recent->next : PEERS_SPANS;

    for (size_t i = 0; i < count; i++) {
        ck_time_t ns = overlap(&recent->items[i], pending->part);

        if (ns > 0) {
            deed_add(peers, pending->row, &recent->items[i], ns);
        }
    }
}

/* Settle what ended by now. */
static void pendings_settle(struct peers *peers, ck_time_t now)
{
    size_t kept = 0;

    peers->first_end = INT64_MAX;
    for (size_t i = 0; i < peers->pending_count; i++) {
        struct pending pending = peers->pending[i];

        if (pending.part.end > now) {
            peers->first_end = pending.part.end < peers->first_end
                                   ? pending.part.end
                                   : peers->first_end;
            peers->pending[kept++] = pending;
        } else {
            pending_settle(peers, &pending);
        }
    }
    peers->pending_count = kept;
}

static void span_keep(struct peers *peers, const struct timeline_event *event)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct recent *recent = &peers->recent[event->process];

    if (recent->items == NULL) {
        recent->items = xcalloc(PEERS_SPANS, sizeof(*recent->items));
    }
    if (recent->items != NULL) {
        recent->items[recent->next++ % PEERS_SPANS] =
            (struct span){.part = {event->start, event->end},
                          .name = record->e.name,
                          .site = record->site};
    }
}

/* The row of a wait, DEFS_NONE = there is no room for one. */
static int64_t row_find(struct peers *peers,
                        const struct sockets_stretch *stretch,
                        const struct ck_call *record)
{
    struct table_key key = {(uint64_t)stretch->process << 32 | stretch->peer,
                            record->e.name, record->site};
    int64_t number;

    if (peers->rows_count == PEERS_ROWS && !table_has(peers->row_keys, key)) {
        return DEFS_NONE;
    }
    number = table_number(peers->row_keys, key);
    if ((size_t)number < peers->rows_count) {
        return number;
    }
    array_grow(&peers->rows, &peers->rows_room, peers->rows_count,
               sizeof(*peers->rows));
    peers->rows[peers->rows_count++] =
        (struct row){.process = stretch->process,
                     .peer = stretch->peer,
                     .name = record->e.name,
                     .path = (uint32_t)record->extra,
                     .site = record->site,
                     .is_write = stretch->is_write};
    return number;
}

static void wait_take(struct peers *peers,
                      const struct sockets_stretch *stretch,
                      const struct ck_call *record)
{
    struct region part = stretch->part;
    struct pending pending;
    int64_t row;

    if (!region_clip(peers->region, &part.start, &part.end) ||
        part.start == part.end) {
        return;
    }
    row = row_find(peers, stretch, record);
    if (row == DEFS_NONE) {
        peers->left_out += region_length(part);
        return;
    }
    peers->rows[row].ns += region_length(part);
    peers->rows[row].count++;
    pending = (struct pending){part, (size_t)row};
    if (peers->pending_count == PEERS_PENDING) {
        pending_settle(peers, &pending);
        return;
    }
    peers->pending[peers->pending_count++] = pending;
    if (peers->pending_count == 1 || part.end < peers->first_end) {
        peers->first_end = part.end;
    }
}

/* A process that has no CPU in a write does not wait there for a reader: it has
 * woken it, and lost its CPU to it. */
static void preempted_take(struct peers *peers,
                           const struct timeline_event *event)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    const struct defs_process *processes = peers->defs->processes;
    uint32_t agent = processes[event->process].agent;

    for (size_t i = 0; i < peers->pending_count; i++) {
        struct row *row = &peers->rows[peers->pending[i].row];
        const struct defs_process *waiter = &processes[row->process];
        struct region part = {event->start, event->end};

        if (row->is_write && waiter->pid == (uint64_t)mark->value &&
            waiter->incarnation == mark->e.name && waiter->agent == agent &&
            region_clip(peers->pending[i].part, &part.start, &part.end)) {
            row->ns -= region_length(part);
        }
    }
}

int peers_take(void *consumer, const struct timeline_event *event)
{
    struct peers *peers = consumer;
    const struct defs_thread *thread;
    struct sockets_stretch stretch;

    if (event->record->kind == CK_KIND_PREEMPTED) {
        preempted_take(peers, event);
        return 0;
    }
    if (event->record->kind != CK_KIND_POSIX ||
        event->thread >= peers->defs->threads_count) {
        return 0;
    }
    if (peers->pending_count > 0 && event->start >= peers->first_end) {
        pendings_settle(peers, event->start);
    }
    thread = &peers->defs->threads[event->thread];
    if (thread->tid != peers->defs->processes[thread->process].pid) {
        return 0;
    }
    span_keep(peers, event);
    if (sockets_take(peers->sockets, event, &stretch)) {
        wait_take(peers, &stretch, (const struct ck_call *)event->record);
    }
    return 0;
}

static struct report_process process_report(const struct defs *defs,
                                            uint32_t process)
{
    return (struct report_process){
        .pid = defs->processes[process].pid,
        .command = defs->processes[process].command,
    };
}

static const char *over_of(const char *path)
{
    if (links_is_pipe(path)) {
        return "pipe";
    }
    if (links_is_unix(path)) {
        return "unix";
    }
    return "tcp";
}

static void row_report(const struct defs *defs,
                       const struct row *row,
                       struct report_peer *out)
{
    *out = (struct report_peer){
        .waiter = process_report(defs, row->process),
        .awaited = process_report(defs, row->peer),
        .over = over_of(defs_name(defs, row->process, row->path)),
        .is_write = row->is_write,
        .ns = row->ns,
        .count = row->count,
        .call = defs_name(defs, row->process, row->name),
        .place = defs_place(defs, row->process, row->site),
        .between = row->ns - row->called,
    };
    out->between = out->between < 0 ? 0 : out->between;
}

/* The call that the awaited process was in for longest, of the wait: what was
 * taken off it is not known by its times. */
static void deeds_report(const struct peers *peers, struct report *report)
{
    for (size_t i = 0; i < peers->deeds_count; i++) {
        struct table_key key = table_key(peers->deed_keys, i);
        struct report_peer *out = &report->peers[key.a];

        ck_time_t ns = peers->deeds[i] < out->ns ? peers->deeds[i] : out->ns;

        if (ns > out->did_ns) {
            uint32_t peer = peers->rows[key.a].peer;

            out->did_ns = ns;
            out->did = defs_name(peers->defs, peer, (uint32_t)key.b);
            out->did_place = defs_place(peers->defs, peer, key.c);
        }
    }
}

CK_ORDER(by_length, struct report_peer, CK_DOWN(ns) ?: CK_UP(waiter.pid))

void peers_report(struct peers *peers, struct report *report)
{
    pendings_settle(peers, INT64_MAX);
    report->peers_left_out = peers->left_out;
    if (peers->rows_count == 0) {
        return;
    }
    report->peers = xcalloc(peers->rows_count, sizeof(*report->peers));
    report->peers_count = peers->rows_count;
    for (size_t i = 0; i < peers->rows_count; i++) {
        row_report(peers->defs, &peers->rows[i], &report->peers[i]);
    }
    deeds_report(peers, report);
    qsort(report->peers, report->peers_count, sizeof(*report->peers),
          by_length);
}
