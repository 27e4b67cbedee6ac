/* awaited.c - messages that ranks waited for when a run stood
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/awaited.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/comm.h"
#include "merge/model/table.h"

/* MPI_COMM_WORLD's number in every process. */
#define WORLD 1
/* A peer whose rank in the job cannot be told. */
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

struct awaited {
    const struct cast *cast; /* borrowed */
    struct table *keys;      /* process, request */
    struct posted *posted;   /* by number of the key */
    size_t posted_count, posted_room;
    struct want *wants;
    size_t count, room;
};

struct awaited *awaited_create(const struct cast *cast)
{
    struct awaited *awaited = calloc(1, sizeof(*awaited));

    if (awaited == NULL) {
        return NULL;
    }
    awaited->cast = cast;
    awaited->keys = table_create();
    if (awaited->keys == NULL) {
        awaited_destroy(awaited);
        return NULL;
    }
    return awaited;
}

void awaited_destroy(struct awaited *awaited)
{
    if (awaited == NULL) {
        return;
    }
    table_destroy(awaited->keys);
    free(awaited->posted);
    free(awaited->wants);
    free(awaited);
}

/* ---- what is seen ------------------------------------------------------- */

/* The entry of a request, a new one if need be; NULL with ENOMEM. */
static struct posted *
posted_find(struct awaited *awaited, uint32_t process, uint64_t request)
{
    struct table_key key = {process, request, 0};
    int64_t number = table_number(awaited->keys, key);

    if (number < 0) {
        return NULL;
    }
    if ((size_t)number == awaited->posted_count) {
        if (array_grow(&awaited->posted, &awaited->posted_room,
                       awaited->posted_count, sizeof(*awaited->posted)) != 0) {
            return NULL;
        }
        awaited->posted[awaited->posted_count++] =
            (struct posted){.process = process};
    }
    return &awaited->posted[number];
}

/* A receive is posted, or a request is complete. 0 or -1. */
static int request_take(struct awaited *awaited,
                        const struct timeline_event *event,
                        const struct ck_message *message)
{
    bool is_posted = message->e.kind != CK_KIND_COMPLETE;
    struct posted *posted;

    if (message->request == 0 ||
        (is_posted && message->e.kind != CK_KIND_RECV)) {
        return 0;
    }
    posted = posted_find(awaited, event->process, message->request);
    if (posted == NULL) {
        return -1;
    }
    posted->is_open = is_posted;
    if (is_posted) {
        posted->comm = message->comm;
        posted->peer = message->peer;
        posted->tag = message->tag;
    }
    return 0;
}

static int want_add(struct awaited *awaited, const struct want *want)
{
    if (array_grow(&awaited->wants, &awaited->room, awaited->count,
                   sizeof(*want)) != 0) {
        return -1;
    }
    awaited->wants[awaited->count++] = *want;
    return 0;
}

/* A call that was never left. 0 or -1. */
static int cut_take(struct awaited *awaited, const struct timeline_event *event)
{
    const struct ck_message *record = (const struct ck_message *)event->record;
    const char *name = cast_name(awaited->cast, event->process, record->e.name);
    struct want want = {
        .process = event->process,
        .rank = event->rank,
        .name = record->e.name,
        .site = record->site, /* at the same place in both classes */
        .is_send = record->e.kind == CK_KIND_SEND,
    };

    if (event->rank < 0 || name == NULL) {
        return 0;
    }
    if (ck_kind_class(record->e.kind) == CK_CLASS_MESSAGE) {
        want.comm = record->comm;
        want.peer = record->peer;
        want.tag = record->tag;
        return want_add(awaited, &want);
    }
    want.is_any = true;
    return strncmp(name, "MPI_Wait", 8) == 0 ? want_add(awaited, &want) : 0;
}

int awaited_take(struct awaited *awaited, const struct timeline_event *event)
{
    bool is_cut = (event->record->flags & CK_FLAG_CUT) != 0;
    bool is_message = ck_kind_class(event->record->kind) == CK_CLASS_MESSAGE;

    if (is_cut) {
        return is_message || event->record->kind == CK_KIND_MPI_CALL
                   ? cut_take(awaited, event)
                   : 0;
    }
    return is_message ? request_take(awaited, event,
                                     (const struct ck_message *)event->record)
                      : 0;
}

/* ---- what is said ------------------------------------------------------- */

/* The rank in the job of a rank of a communicator. */
static int32_t
peer_find(const struct cast *cast, uint32_t process, uint32_t id, int32_t peer)
{
    const struct cast_comm *comm = comm_find(cast, process, id);

    if (peer < 0) {
        return -1;
    }
    for (size_t p = 0;
         comm != NULL && comm->global != CAST_NONE && p < cast->processes_count;
         p++) {
        const struct cast_process *other = &cast->processes[p];

        for (size_t i = 0; i < other->comms_count; i++) {
            if (other->comms[i].global == comm->global &&
                other->comms[i].rank == peer) {
                return other->rank;
            }
        }
    }
    return id == WORLD ? peer : PEER_UNKNOWN;
}

int32_t awaited_peer(const struct awaited *awaited,
                     uint32_t process,
                     const struct ck_message *record)
{
    int32_t peer;

    if (ck_kind_class(record->e.kind) == CK_CLASS_MESSAGE) {
        peer = peer_find(awaited->cast, process, record->comm, record->peer);
        return peer < 0 ? -1 : peer;
    }
    for (size_t p = 0; p < awaited->posted_count; p++) {
        const struct posted *posted = &awaited->posted[p];

        if (posted->is_open && posted->process == process) {
            peer =
                peer_find(awaited->cast, process, posted->comm, posted->peer);
            return peer < 0 ? -1 : peer;
        }
    }
    return -1;
}

/* A wait for requests becomes one want a receive that is open. 0 or -1. */
static int posted_spread(struct awaited *awaited)
{
    size_t count = awaited->count;

    for (size_t i = 0; i < count; i++) {
        size_t found = 0;

        for (size_t p = 0; awaited->wants[i].is_any &&
                           p < awaited->posted_count && found < POSTED_MAX;
             p++) {
            const struct posted *posted = &awaited->posted[p];
            struct want want = awaited->wants[i];

            if (!posted->is_open || posted->process != want.process) {
                continue;
            }
            found++;
            want.is_any = false;
            want.comm = posted->comm;
            want.peer = posted->peer;
            want.tag = posted->tag;
            if (want_add(awaited, &want) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* All that wait for one rank by one call together, ranks ascending. */
static int by_peer(const void *a, const void *b)
{
    const struct want *left = a;
    const struct want *right = b;

    if (left->is_any != right->is_any) {
        return left->is_any ? 1 : -1;
    }
    if (left->peer != right->peer) {
        return left->peer < right->peer ? -1 : 1;
    }
    if (left->tag != right->tag) {
        return left->tag < right->tag ? -1 : 1;
    }
    if (left->comm != right->comm) {
        return left->comm < right->comm ? -1 : 1;
    }
    if (left->is_send != right->is_send) {
        return left->is_send ? 1 : -1;
    }
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static bool is_same(const struct awaited *awaited,
                    const struct want *left,
                    const struct want *right)
{
    return left->peer == right->peer && left->tag == right->tag &&
           left->comm == right->comm && left->is_send == right->is_send &&
           /* kept texts: equal ones are one pointer */
           cast_name(awaited->cast, left->process, left->name) ==
               cast_name(awaited->cast, right->process, right->name);
}

/* One row of `count` wants. 0 or -1. */
static int row_fill(const struct awaited *awaited,
                    const struct want *first,
                    size_t count,
                    const struct report *report,
                    struct report_awaited *row)
{
    const struct cast *cast = awaited->cast;
    const struct cast_comm *comm = comm_find(cast, first->process, first->comm);

    memset(row, 0, sizeof(*row));
    row->ranks = calloc(count, sizeof(*row->ranks));
    if (row->ranks == NULL) {
        return -1;
    }
    row->call = cast_name(cast, first->process, first->name);
    row->place = cast_place(cast, first->process, first->site);
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
    return 0;
}

/* Those for the dead first, then where most wait. */
static int by_weight(const void *a, const void *b)
{
    const struct report_awaited *left = a;
    const struct report_awaited *right = b;

    if (left->has_died != right->has_died) {
        return left->has_died ? -1 : 1;
    }
    if (left->ranks_count != right->ranks_count) {
        return left->ranks_count > right->ranks_count ? -1 : 1;
    }
    return left->ranks[0] < right->ranks[0] ? -1 : 1;
}

/* Wants that are whole, of ranks that did not die themselves. */
static size_t wants_settle(struct awaited *awaited, const struct report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < awaited->count; i++) {
        struct want want = awaited->wants[i];

        want.peer =
            peer_find(awaited->cast, want.process, want.comm, want.peer);
        if (!want.is_any && want.peer != PEER_UNKNOWN &&
            !report_has_died(report, want.rank)) {
            awaited->wants[kept++] = want;
        }
    }
    awaited->count = kept;
    if (kept > 0) {
        qsort(awaited->wants, kept, sizeof(*awaited->wants), by_peer);
    }
    return kept;
}

int awaited_report(struct awaited *awaited, struct report *report)
{
    const struct want *wants;
    size_t count, end;

    if (posted_spread(awaited) != 0) {
        return -1;
    }
    count = wants_settle(awaited, report);
    wants = awaited->wants;
    report->awaited = calloc(count + 1, sizeof(*report->awaited));
    if (report->awaited == NULL) {
        return -1;
    }
    for (size_t at = 0; at < count; at = end) {
        for (end = at + 1;
             end < count && is_same(awaited, &wants[at], &wants[end]); end++) {
        }
        if (row_fill(awaited, &wants[at], end - at, report,
                     &report->awaited[report->awaited_count]) != 0) {
            return -1;
        }
        report->awaited_count++;
    }
    if (report->awaited_count > 0) {
        qsort(report->awaited, report->awaited_count, sizeof(*report->awaited),
              by_weight);
    }
    return 0;
}
