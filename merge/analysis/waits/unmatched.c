/* unmatched.c - messages that ranks waited for at the end of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/unmatched.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/comm.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* MPI_COMM_WORLD's number in every process. */
#define WORLD 1
/* A peer whose rank in the job is not known. */
#define PEER_UNKNOWN (-2)
/* Posted receives of one waiting rank that are looked at. */
#define POSTED_MAX 1024

/* Whom a call waits for. */
struct want {
    uint32_t process;
    int32_t rank;
    uint32_t name;
    uint64_t site;
    uint32_t comm; /* id in the process */
    int32_t peer;  /* rank in it, -1 = any; then in the job */
    int32_t tag;
    bool is_send;
    bool is_any; /* a wait for requests: all that are posted */
};

struct posted {
    uint32_t process;
    uint32_t comm;
    int32_t peer;
    int32_t tag;
    bool is_open;
};

struct unmatched {
    const struct defs *defs; /* borrowed */
    struct table *keys;      /* process, request */
    struct posted *posted;   /* by number of the key */
    size_t posted_count, posted_room;
    struct want *wants;
    size_t count, room;
};

struct unmatched *unmatched_create(const struct defs *defs)
{
    struct unmatched *unmatched = xcalloc(1, sizeof(*unmatched));

    unmatched->defs = defs;
    unmatched->keys = table_create();
    return unmatched;
}

void unmatched_destroy(struct unmatched *unmatched)
{
    if (unmatched == NULL) {
        return;
    }
    table_destroy(unmatched->keys);
    free(unmatched->posted);
    free(unmatched->wants);
    free(unmatched);
}

/* ---- what is seen ------------------------------------------------------- */

/* The entry of a request, a new one if need be. */
static struct posted *
posted_find(struct unmatched *unmatched, uint32_t process, uint64_t request)
{
    struct table_key key = {process, request, 0};
    int64_t number = table_number(unmatched->keys, key);

    if ((size_t)number == unmatched->posted_count) {
        array_grow(&unmatched->posted, &unmatched->posted_room,
                   unmatched->posted_count, sizeof(*unmatched->posted));
        unmatched->posted[unmatched->posted_count++] =
            (struct posted){.process = process};
    }
    return &unmatched->posted[number];
}

/* A receive is posted, or a request is complete. */
static void request_take(struct unmatched *unmatched,
                         const struct timeline_event *event,
                         const struct ck_message *message)
{
    bool is_posted = message->e.kind != CK_KIND_COMPLETE;
    struct posted *posted;

    if (message->request == 0 ||
        (is_posted && message->e.kind != CK_KIND_RECV)) {
        return;
    }
    posted = posted_find(unmatched, event->process, message->request);
    posted->is_open = is_posted;
    if (is_posted) {
        posted->comm = message->comm;
        posted->peer = message->peer;
        posted->tag = message->tag;
    }
}

static void want_add(struct unmatched *unmatched, const struct want *want)
{
    array_grow(&unmatched->wants, &unmatched->room, unmatched->count,
               sizeof(*want));
    unmatched->wants[unmatched->count++] = *want;
}

/* A call that was never left. */
static void cut_take(struct unmatched *unmatched,
                     const struct timeline_event *event)
{
    const struct ck_message *record = (const struct ck_message *)event->record;
    const char *name =
        defs_name(unmatched->defs, event->process, record->e.name);
    struct want want = {
        .process = event->process,
        .rank = event->rank,
        .name = record->e.name,
        .site = record->site, /* at the same place in both classes */
        .is_send = record->e.kind == CK_KIND_SEND,
    };

    if (event->rank < 0 || name == NULL) {
        return;
    }
    if (ck_kind_class(record->e.kind) == CK_CLASS_MESSAGE) {
        want.comm = record->comm;
        want.peer = record->peer;
        want.tag = record->tag;
        want_add(unmatched, &want);
        return;
    }
    want.is_any = true;
    if (strncmp(name, "MPI_Wait", 8) == 0) {
        want_add(unmatched, &want);
    }
}

void unmatched_take(struct unmatched *unmatched,
                    const struct timeline_event *event)
{
    bool is_cut = (event->record->flags & CK_FLAG_CUT) != 0;
    bool is_message = ck_kind_class(event->record->kind) == CK_CLASS_MESSAGE;

    if (is_cut) {
        if (is_message || event->record->kind == CK_KIND_MPI_CALL) {
            cut_take(unmatched, event);
        }
        return;
    }
    if (is_message) {
        request_take(unmatched, event,
                     (const struct ck_message *)event->record);
    }
}

/* ---- what is reported --------------------------------------------------- */

/* The rank in the job of a rank of a communicator. */
static int32_t
peer_find(const struct defs *defs, uint32_t process, uint32_t id, int32_t peer)
{
    const struct defs_comm *comm = comm_find(defs, process, id);

    if (peer < 0) {
        return -1;
    }
    for (size_t p = 0;
         comm != NULL && comm->global != DEFS_NONE && p < defs->processes_count;
         p++) {
        const struct defs_process *other = &defs->processes[p];

        for (size_t i = 0; i < other->comms_count; i++) {
            if (other->comms[i].global == comm->global &&
                other->comms[i].rank == peer) {
                return other->rank;
            }
        }
    }
    return id == WORLD ? peer : PEER_UNKNOWN;
}

int32_t unmatched_peer(const struct unmatched *unmatched,
                       uint32_t process,
                       const struct ck_message *record)
{
    int32_t peer;

    if (ck_kind_class(record->e.kind) == CK_CLASS_MESSAGE) {
        peer = peer_find(unmatched->defs, process, record->comm, record->peer);
        return peer < 0 ? -1 : peer;
    }
    for (size_t p = 0; p < unmatched->posted_count; p++) {
        const struct posted *posted = &unmatched->posted[p];

        if (posted->is_open && posted->process == process) {
            peer =
                peer_find(unmatched->defs, process, posted->comm, posted->peer);
            return peer < 0 ? -1 : peer;
        }
    }
    return -1;
}

/* Has the process a receive that is posted? */
static bool has_posted(const struct unmatched *unmatched, uint32_t process)
{
    for (size_t i = 0; i < unmatched->posted_count; i++) {
        if (unmatched->posted[i].is_open &&
            unmatched->posted[i].process == process) {
            return true;
        }
    }
    return false;
}

bool unmatched_is_doubtful(const struct unmatched *unmatched)
{
    for (size_t i = 0; i < unmatched->count; i++) {
        const struct want *want = &unmatched->wants[i];

        if (want->is_any &&
            defs_is_partial(unmatched->defs, want->process,
                            (uint32_t)1 << CK_CLASS_MESSAGE) &&
            !has_posted(unmatched, want->process)) {
            return true;
        }
    }
    return false;
}

/* A wait for requests becomes one want a receive that is open. */
static void posted_spread(struct unmatched *unmatched)
{
    size_t count = unmatched->count;

    for (size_t i = 0; i < count; i++) {
        size_t found = 0;

        for (size_t p = 0; unmatched->wants[i].is_any &&
                           p < unmatched->posted_count && found < POSTED_MAX;
             p++) {
            const struct posted *posted = &unmatched->posted[p];
            struct want want = unmatched->wants[i];

            if (!posted->is_open || posted->process != want.process) {
                continue;
            }
            found++;
            want.is_any = false;
            want.comm = posted->comm;
            want.peer = posted->peer;
            want.tag = posted->tag;
            want_add(unmatched, &want);
        }
    }
}

/* All that wait for one rank by one call together, ranks ascending. */
CK_ORDER(by_peer,
         struct want,
         CK_UP(is_any) ?: CK_UP(peer) ?: CK_UP(tag) ?: CK_UP(comm) ?:
         CK_UP(is_send) ?: CK_UP(rank))

static bool is_same(const struct unmatched *unmatched,
                    const struct want *left,
                    const struct want *right)
{
    return left->peer == right->peer && left->tag == right->tag &&
           left->comm == right->comm && left->is_send == right->is_send &&
           /* kept texts: equal ones are one pointer */
           defs_name(unmatched->defs, left->process, left->name) ==
               defs_name(unmatched->defs, right->process, right->name);
}

/* One row of `count` wants. */
static void row_fill(const struct unmatched *unmatched,
                     const struct want *first,
                     size_t count,
                     const struct report *report,
                     struct report_awaited *row)
{
    const struct defs *defs = unmatched->defs;
    const struct defs_comm *comm = comm_find(defs, first->process, first->comm);

    memset(row, 0, sizeof(*row));
    row->ranks = xcalloc(count, sizeof(*row->ranks));
    row->call = defs_name(defs, first->process, first->name);
    row->place = defs_place(defs, first->process, first->site);
    row->comm = comm != NULL ? comm->name : NULL;
    if (row->comm == NULL && first->comm == WORLD) {
        row->comm = "MPI_COMM_WORLD";
    }
    row->tag = first->tag;
    row->peer = first->peer;
    row->is_send = first->is_send;
    row->has_died = report_has_died(report, first->peer);
    for (size_t i = 0; i < count; i++) {
        if (row->ranks_count == 0 ||
            row->ranks[row->ranks_count - 1] != first[i].rank) {
            row->ranks[row->ranks_count++] = first[i].rank;
        }
    }
}

/* Those for the dead first, then where most wait. */
CK_ORDER(by_weight,
         struct report_awaited,
         CK_DOWN(has_died) ?: CK_DOWN(ranks_count) ?: CK_UP(ranks[0]))

/* Wants that are whole, of ranks that did not die themselves. */
static size_t wants_settle(struct unmatched *unmatched,
                           const struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < unmatched->count; i++) {
        struct want want = unmatched->wants[i];

        want.peer =
            peer_find(unmatched->defs, want.process, want.comm, want.peer);
        if (!want.is_any && want.peer != PEER_UNKNOWN &&
            !report_has_died(report, want.rank)) {
            unmatched->wants[kept++] = want;
        }
    }
    unmatched->count = kept;
    if (kept > 0) {
        qsort(unmatched->wants, kept, sizeof(*unmatched->wants), by_peer);
    }
    return kept;
}

void unmatched_report(struct unmatched *unmatched, struct report *report)
{
    const struct want *wants;
    size_t count, end;

    posted_spread(unmatched);
    count = wants_settle(unmatched, report);
    wants = unmatched->wants;
    report->awaited = xcalloc(count + 1, sizeof(*report->awaited));
    for (size_t at = 0; at < count; at = end) {
        for (end = at + 1;
             end < count && is_same(unmatched, &wants[at], &wants[end]);
             end++) {
        }
        row_fill(unmatched, &wants[at], end - at, report,
                 &report->awaited[report->awaited_count]);
        report->awaited_count++;
    }
    if (report->awaited_count > 0) {
        qsort(report->awaited, report->awaited_count, sizeof(*report->awaited),
              by_weight);
    }
}
