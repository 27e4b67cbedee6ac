/* collective.c - who came last to a collective call, and who waited for it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/collective.h"

#include <stdlib.h>
#include <string.h>

#include "merge/comm.h"

static const struct {
    const char *function;
    enum collective_role role;
} roles[] = {
    {"MPI_Barrier", COLLECTIVE_BARRIER},
    {"MPI_Allreduce", COLLECTIVE_ALL},
    {"MPI_Allgather", COLLECTIVE_ALL},
    {"MPI_Allgatherv", COLLECTIVE_ALL},
    {"MPI_Alltoall", COLLECTIVE_ALL},
    {"MPI_Alltoallv", COLLECTIVE_ALL},
    {"MPI_Alltoallw", COLLECTIVE_ALL},
    {"MPI_Reduce_scatter", COLLECTIVE_ALL},
    {"MPI_Reduce_scatter_block", COLLECTIVE_ALL},
    {"MPI_Bcast", COLLECTIVE_FROM_ROOT},
    {"MPI_Scatter", COLLECTIVE_FROM_ROOT},
    {"MPI_Scatterv", COLLECTIVE_FROM_ROOT},
    {"MPI_Reduce", COLLECTIVE_TO_ROOT},
    {"MPI_Gather", COLLECTIVE_TO_ROOT},
    {"MPI_Gatherv", COLLECTIVE_TO_ROOT},
};

/* Who entered a call last so far. */
struct latest {
    ck_time_t enter;
    uint32_t thread; /* CAST_NONE = nobody yet */
};

/* One call of all members. */
struct instance {
    uint32_t seq; /* 0 = none */
    uint32_t arrived;
    int32_t size;
    struct latest any;
    struct latest root;
    struct latest others;
};

/* The latest instances of a communicator, by number modulo the window. */
struct window {
    struct instance *items;
    size_t room; /* a power of two */
};

struct collective {
    const struct cast *cast;   /* borrowed */
    const struct align *align; /* borrowed */
    struct window *windows;    /* by communicator of the run */
};

enum collective_role collective_role(const char *function)
{
    for (size_t i = 0; function != NULL && i < sizeof(roles) / sizeof(roles[0]);
         i++) {
        if (strcmp(function, roles[i].function) == 0) {
            return roles[i].role;
        }
    }
    return COLLECTIVE_OTHER;
}

const char *collective_wait_name(const char *function)
{
    static const char *const names[] = {"other", "wait_at_barrier",
                                        "wait_at_nxn", "late_broadcast",
                                        "early_reduce"};

    return names[collective_role(function)];
}

struct collective *collective_create(const struct cast *cast,
                                     const struct align *align)
{
    struct collective *collective = calloc(1, sizeof(*collective));

    if (collective == NULL) {
        return NULL;
    }
    collective->cast = cast;
    collective->align = align;
    collective->windows =
        calloc((size_t)cast->comms + 1, sizeof(*collective->windows));
    if (collective->windows == NULL) {
        free(collective);
        return NULL;
    }
    return collective;
}

void collective_destroy(struct collective *collective)
{
    if (collective == NULL) {
        return;
    }
    for (size_t i = 0; i < collective->cast->comms; i++) {
        free(collective->windows[i].items);
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
        items = calloc(room, sizeof(*items));
        if (items == NULL) {
            return NULL;
        }
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
                       const struct timeline_event *event)
{
    if (latest->thread == CAST_NONE || event->start > latest->enter) {
        latest->enter = event->start;
        latest->thread = event->thread;
    }
}

static void instance_begin(struct instance *item, uint32_t seq, int32_t size)
{
    memset(item, 0, sizeof(*item));
    item->seq = seq;
    item->size = size;
    item->any.thread = item->root.thread = item->others.thread = CAST_NONE;
}

int collective_enter(struct collective *collective,
                     const struct timeline_event *event,
                     struct host_span *span)
{
    const struct ck_collective *record =
        (const struct ck_collective *)event->record;
    const struct cast_comm *comm =
        comm_find(collective->cast, event->process, record->comm);
    enum collective_role role = collective_role(
        cast_name(collective->cast, event->process, record->e.name));
    struct instance *item;

    span->comm = CAST_NONE;
    if (comm == NULL || comm->global == CAST_NONE || record->seq == 0 ||
        role == COLLECTIVE_OTHER) {
        return 0;
    }
    item = instance_find(&collective->windows[comm->global], record->seq);
    if (item == NULL) {
        return -1;
    }
    if (item->seq > record->seq) {
        return 0; /* too far back */
    }
    if (item->seq < record->seq) {
        instance_begin(item, record->seq, comm->size);
    }
    span->comm = comm->global;
    span->seq = record->seq;
    span->is_root = record->root >= 0 && record->root == comm->rank;
    span->is_waiting = role == COLLECTIVE_BARRIER ||
                       (record->bytes_in > 0 &&
                        (role == COLLECTIVE_ALL ||
                         span->is_root == (role == COLLECTIVE_TO_ROOT)));
    item->arrived++;
    latest_add(&item->any, event);
    latest_add(span->is_root ? &item->root : &item->others, event);
    return 0;
}

static uint32_t domain_of(const struct cast *cast, uint32_t process)
{
    return cast->agents[cast->processes[process].agent].domain;
}

/* Within a domain clocks are one. Between domains nothing is claimed: their
 * maps have bounds, but who came first is decided by the sum of those at the
 * two instants. False when the two cannot be compared. */
static bool error_of(const struct collective *collective,
                     uint32_t process,
                     uint32_t other,
                     ck_time_t *error)
{
    *error = 0;
    return domain_of(collective->cast, process) ==
           domain_of(collective->cast, other);
}

bool collective_wait(const struct collective *collective,
                     const struct host_span *span,
                     struct collective_wait *wait)
{
    const struct window *window;
    const struct instance *item;
    const struct latest *latest;
    const struct cast *cast = collective->cast;
    enum collective_role role =
        collective_role(cast_name(cast, span->process, span->name));

    if (span->kind != CK_KIND_COLLECTIVE || span->comm == CAST_NONE) {
        return false;
    }
    window = &collective->windows[span->comm];
    item = &window->items[span->seq & (window->room - 1)];
    if (item->seq != span->seq || item->arrived != (uint32_t)item->size) {
        return false;
    }
    *wait = (struct collective_wait){span->start, CAST_NONE, 0};
    latest = role == COLLECTIVE_FROM_ROOT ? &item->root
             : role == COLLECTIVE_TO_ROOT ? &item->others
                                          : &item->any;
    if (!span->is_waiting || latest->thread == CAST_NONE) {
        return true;
    }
    wait->until = latest->enter;
    wait->thread = latest->thread;
    return error_of(collective, span->process,
                    cast->threads[latest->thread].process, &wait->error);
}
