/* collective.c - who came last to a collective call, and who waited for it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/messages/collective.h"

#include <stdlib.h>
#include <string.h>

#include "merge/messages/match.h"
#include "merge/model/comm.h"
#include "merge/model/memory.h"

/* Beginnings of what follows "MPI_"; the first that fits holds. */
static const struct {
    const char *start;
    enum collective_role role;
} roles[] = {
    {"Barrier", COLLECTIVE_BARRIER},
    {"Allreduce", COLLECTIVE_ALL},
    {"Allgather", COLLECTIVE_ALL},
    {"Alltoall", COLLECTIVE_ALL},
    {"Reduce_scatter", COLLECTIVE_ALL},
    {"Bcast", COLLECTIVE_FROM_ROOT},
    {"Scatter", COLLECTIVE_FROM_ROOT},
    {"Reduce", COLLECTIVE_TO_ROOT},
    {"Gather", COLLECTIVE_TO_ROOT},
    {"Scan", COLLECTIVE_SCAN},
    {"Exscan", COLLECTIVE_SCAN},
    {"Neighbor_", COLLECTIVE_NEIGHBOUR},
    {"Comm_create_", COLLECTIVE_OTHER}, /* of a group, not of all */
    {"Comm_create", COLLECTIVE_BARRIER},
    {"Comm_dup", COLLECTIVE_BARRIER},
    {"Comm_split", COLLECTIVE_BARRIER},
    {"Cart_create", COLLECTIVE_BARRIER},
    {"Graph_create", COLLECTIVE_BARRIER},
    {"Dist_graph_create", COLLECTIVE_BARRIER},
    {"Win_create", COLLECTIVE_BARRIER},
    {"Win_allocate", COLLECTIVE_BARRIER},
    {"Win_fence", COLLECTIVE_BARRIER},
    {"Win_free", COLLECTIVE_BARRIER},
    {"File_open", COLLECTIVE_FILE},
    {"File_close", COLLECTIVE_FILE},
    {"File_set_", COLLECTIVE_FILE},
    {"File_preallocate", COLLECTIVE_FILE},
    {"File_sync", COLLECTIVE_FILE},
    {"File_read_", COLLECTIVE_FILE},
    {"File_write_", COLLECTIVE_FILE},
};

/* Who entered a call last so far. */
struct latest {
    ck_time_t enter;
    uint32_t thread; /* DEFS_NONE = not entered yet */
    int64_t mark;    /* largest */
};

/* One call of all members. */
struct instance {
    uint32_t seq; /* 0 = none */
    uint32_t arrived;
    int32_t size;
    enum collective_role role;
    bool is_blocking;
    bool is_sparse;
    bool has_bytes;
    ck_time_t left; /* first return so far */
    struct latest any;
    struct latest root;
    struct latest others;
    struct collective_part *parts; /* NULL = not needed */
};

/* The latest instances of a communicator, by number modulo the window. */
struct window {
    struct instance *items;
    size_t room; /* a power of two */
};

/* Roles by address of the name: kept texts stay where they are. */
#define ROLES_KNOWN 64

struct collective {
    const struct defs *defs; /* borrowed */
    collective_meet_f meet;  /* NULL = no consumer */
    void *state;
    struct window *windows; /* by communicator of the run; the world is last
                               where no record describes it */
    struct {
        const char *name;
        enum collective_role role;
    } known[ROLES_KNOWN];
};

enum collective_role collective_role(const char *function)
{
    char name[48];
    size_t skip = 4;

    if (function == NULL || strncmp(function, "MPI", 3) != 0) {
        return COLLECTIVE_OTHER;
    }
    skip += function[3] == 'X';
    if (strlen(function) <= skip || strlen(function) - skip >= sizeof(name)) {
        return COLLECTIVE_OTHER;
    }
    strcpy(name, function + skip);
    if (name[0] == 'I' && name[1] >= 'a' && name[1] <= 'z') {
        memmove(name, name + 1, strlen(name));
        name[0] = (char)(name[0] - 'a' + 'A');
    }
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (strncmp(name, roles[i].start, strlen(roles[i].start)) == 0) {
            return roles[i].role;
        }
    }
    return COLLECTIVE_OTHER;
}

static enum collective_role role_of(struct collective *collective,
                                    const char *name)
{
    size_t at = (size_t)((uintptr_t)name >> 4) % ROLES_KNOWN;

    if (name == NULL) {
        return COLLECTIVE_OTHER;
    }
    if (collective->known[at].name != name) {
        collective->known[at].name = name;
        collective->known[at].role = collective_role(name);
    }
    return collective->known[at].role;
}

struct collective *
collective_create(const struct defs *defs, collective_meet_f meet, void *state)
{
    struct collective *collective = xcalloc(1, sizeof(*collective));

    collective->defs = defs;
    collective->meet = meet;
    collective->state = state;
    collective->windows =
        xcalloc((size_t)defs->comms + 1, sizeof(*collective->windows));
    return collective;
}

void collective_destroy(struct collective *collective)
{
    if (collective == NULL) {
        return;
    }
    for (size_t i = 0; i <= collective->defs->comms; i++) {
        struct window *window = &collective->windows[i];

        for (size_t j = 0; j < window->room; j++) {
            free(window->items[j].parts);
        }
        free(window->items);
    }
    free(collective->windows);
    free(collective);
}

/* The instance's place: windows grow while two numbers that are both within
 * reach would share one. */
static struct instance *instance_find(struct window *window, uint32_t seq)
{
    struct instance *item = NULL;

    while (window->room < COLLECTIVE_WINDOW) {
        size_t room = window->room == 0 ? 16 : window->room * 2;
        struct instance *items;

        if (window->room > 0) {
            item = &window->items[seq & (window->room - 1)];
            if (item->seq == 0 || item->seq == seq) {
                return item;
            }
        }
        items = xcalloc(room, sizeof(*items));
        for (size_t i = 0; i < window->room; i++) {
            if (window->items[i].seq != 0) {
                items[window->items[i].seq & (room - 1)] = window->items[i];
            }
        }
        free(window->items);
        window->items = items;
        window->room = room;
    }
    return &window->items[seq & (window->room - 1)];
}

static void latest_add(struct latest *latest,
                       ck_time_t enter,
                       uint32_t thread,
                       int64_t mark)
{
    if (latest->thread == DEFS_NONE || mark > latest->mark) {
        latest->mark = mark;
    }
    if (latest->thread == DEFS_NONE || enter > latest->enter) {
        latest->enter = enter;
        latest->thread = thread;
    }
}

static void instance_begin(const struct collective *collective,
                           struct instance *item,
                           const struct collective_call *call,
                           int32_t size)
{
    bool has_parts = collective->meet != NULL ||
                     call->role == COLLECTIVE_SCAN ||
                     call->role == COLLECTIVE_NEIGHBOUR;

    free(item->parts);
    memset(item, 0, sizeof(*item));
    item->seq = call->seq;
    item->size = size;
    item->role = call->role;
    item->is_blocking = item->has_bytes = true;
    item->left = INT64_MAX;
    item->any.thread = item->root.thread = item->others.thread = DEFS_NONE;
    if (!has_parts) {
        return;
    }
    item->parts = xcalloc((size_t)size, sizeof(*item->parts));
    for (int32_t i = 0; i < size; i++) {
        item->parts[i].thread = DEFS_NONE;
    }
}

/* Report a meeting to which all have come. */
static void instance_meet(const struct collective *collective,
                          struct instance *item)
{
    struct collective_meeting meeting = {.role = item->role,
                                         .is_sparse = item->is_sparse,
                                         .has_bytes = item->has_bytes,
                                         .size = (uint32_t)item->size,
                                         .parts = item->parts};

    if (collective->meet == NULL || !item->is_blocking) {
        return;
    }
    for (int32_t i = 0; i < item->size; i++) {
        if (item->parts[i].thread == DEFS_NONE) {
            return;
        }
    }
    collective->meet(collective->state, &meeting);
}

/* A block of MPI_Alltoallv or MPI_Alltoallw may be empty. */
static bool is_sparse(const char *name)
{
    return name != NULL && (strstr(name, "lltoallv") != NULL ||
                            strstr(name, "lltoallw") != NULL);
}

static void instance_enter(const struct collective *collective,
                           struct instance *item,
                           const struct timeline_event *event,
                           const struct collective_call *call,
                           int64_t mark)
{
    const struct ck_collective *record =
        (const struct ck_collective *)event->record;

    item->arrived++;
    item->is_blocking =
        item->is_blocking && record->e.kind == CK_KIND_COLLECTIVE;
    item->has_bytes =
        item->has_bytes && record->bytes_in > 0 && record->bytes_out > 0;
    item->is_sparse =
        item->is_sparse ||
        is_sparse(defs_name(collective->defs, event->process, record->e.name));
    item->left = event->end < item->left ? event->end : item->left;
    latest_add(&item->any, event->start, event->thread, mark);
    latest_add(call->is_root ? &item->root : &item->others, event->start,
               event->thread, mark);
    if (item->parts != NULL && call->rank >= 0 && call->rank < item->size) {
        item->parts[call->rank] = (struct collective_part){
            .process = event->process,
            .thread = event->thread,
            .enter = event->start,
            .exit = event->end,
            .mark = mark,
            .is_root = call->is_root,
            .sends = record->bytes_out > 0,
            .receives = record->bytes_in > 0,
        };
    }
    if (item->arrived == (uint32_t)item->size) {
        instance_meet(collective, item);
    }
}

/* Does the rank get data of others by it? Its root and role are known. */
static bool is_receiver(const struct collective_call *call)
{
    if (call->role == COLLECTIVE_FROM_ROOT) {
        return !call->is_root;
    }
    return call->role != COLLECTIVE_TO_ROOT || call->is_root;
}

void collective_enter(struct collective *collective,
                      const struct timeline_event *event,
                      int64_t mark,
                      struct collective_call *call)
{
    const struct ck_collective *record =
        (const struct ck_collective *)event->record;
    const struct defs *defs = collective->defs;
    const struct defs_comm *comm =
        comm_find(defs, event->process, record->comm);
    struct instance *item;
    uint32_t number;

    *call = (struct collective_call){.comm = DEFS_NONE,
                                     .seq = record->seq,
                                     .enter = event->start,
                                     .exit = event->end};
    call->role =
        role_of(collective, defs_name(defs, event->process, record->e.name));
    if (call->role == COLLECTIVE_OTHER || record->seq == 0 ||
        !match_place_in(comm, event, record->comm, &number, &call->rank)) {
        return;
    }
    number = number < defs->comms ? number : defs->comms;
    item = instance_find(&collective->windows[number], record->seq);
    if (item->seq > record->seq) {
        return; /* too far back */
    }
    call->sources = comm != NULL ? comm->sources : NULL;
    call->is_root = record->root >= 0 && record->root == call->rank;
    call->is_waiting = call->role == COLLECTIVE_BARRIER ||
                       call->role == COLLECTIVE_FILE ||
                       (record->bytes_in > 0 && is_receiver(call));
    if (item->seq < record->seq) {
        instance_begin(collective, item, call,
                       comm != NULL ? comm->size : defs_size(defs));
    }
    call->comm = number;
    instance_enter(collective, item, event, call, mark);
}

/* Some ranks in a row. False when one of them has not come. */
static bool row_latest(const struct instance *item,
                       int32_t first,
                       int32_t last,
                       struct latest *latest)
{
    for (int32_t i = first; i <= last && i < item->size; i++) {
        const struct collective_part *part = &item->parts[i];

        if (part->thread == DEFS_NONE) {
            return false;
        }
        latest_add(latest, part->enter, part->thread, part->mark);
    }
    return true;
}

/* The ranks that a neighbour receives from. */
static bool neighbours_latest(const struct instance *item,
                              const char *sources,
                              struct latest *latest)
{
    int32_t first, last;

    if (sources == NULL) {
        return false;
    }
    while (comm_range(&sources, &first, &last)) {
        if (!row_latest(item, first, last, latest)) {
            return false;
        }
    }
    return true;
}

/* Who came last of those that the call waits for. */
static bool latest_find(const struct instance *item,
                        const struct collective_call *call,
                        struct latest *latest)
{
    latest->thread = DEFS_NONE;
    switch (call->role) {
    case COLLECTIVE_FROM_ROOT:
        *latest = item->root;
        return latest->thread != DEFS_NONE;
    case COLLECTIVE_TO_ROOT:
        *latest = item->others;
        break;
    case COLLECTIVE_SCAN:
        return row_latest(item, 0, call->rank, latest);
    case COLLECTIVE_FILE:
        *latest = item->any;
        return item->arrived == (uint32_t)item->size &&
               item->left >= latest->enter;
    case COLLECTIVE_NEIGHBOUR:
        return neighbours_latest(item, call->sources, latest);
    default:
        *latest = item->any;
        break;
    }
    return item->arrived == (uint32_t)item->size;
}

/* A rank that only gives, and so much that it may have to wait for who takes
 * it: did one of those enter meanwhile? For whom it waited depends on how the
 * MPI library does it. */
static bool is_unsure(const struct instance *item,
                      const struct collective_call *call)
{
    const struct latest *taker = call->is_root ? &item->others : &item->root;

    return call->is_heavy && taker->thread != DEFS_NONE &&
           taker->enter > call->enter && taker->enter < call->exit;
}

bool collective_wait(const struct collective *collective,
                     const struct collective_call *call,
                     struct collective_wait *wait)
{
    const struct window *window;
    const struct instance *item;
    struct latest latest;

    if (call->comm == DEFS_NONE) {
        return false;
    }
    window = &collective->windows[call->comm];
    item = &window->items[call->seq & (window->room - 1)];
    if (item->seq != call->seq || item->role != call->role) {
        return false;
    }
    *wait = (struct collective_wait){INT64_MIN, DEFS_NONE, INT64_MIN};
    if (!call->is_waiting) {
        return !is_unsure(item, call);
    }
    if (!latest_find(item, call, &latest)) {
        return false;
    }
    if (latest.thread != DEFS_NONE) {
        *wait =
            (struct collective_wait){latest.enter, latest.thread, latest.mark};
    }
    return true;
}
