/* causality.c - does any message arrive before it was sent
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A channel is (communicator, source, destination, tag). Its n-th send is
 * received by its n-th receive, as MPI orders them. A channel is left out when
 * a receive of its was posted without blocking, or its counts differ: then the
 * n-th of one may not belong to the n-th of the other. A collective that nobody
 * leaves before all have entered is matched by its number.
 */
#include "merge/analysis/causality.h"

#include <stdlib.h>
#include <string.h>

#include "merge/array.h"
#include "merge/comm.h"

/* MPI_COMM_WORLD's number in every process, and in the run where no process
 * described it. */
#define WORLD 1
#define WORLD_GLOBAL (CAST_NONE - 1)
/* More of a kind are not looked at. */
#define SIDES_MAX ((size_t)1 << 22)

enum side_kind { SIDE_SEND, SIDE_RECV, SIDE_VAGUE, SIDE_COLLECTIVE };

/* One end of a message, or a rank's part in a collective. */
struct side {
    enum side_kind kind;
    uint32_t comm;  /* in the run */
    int32_t source; /* collective: 0; vague: -1 = any */
    int32_t destination;
    int32_t tag;  /* collective: its number */
    int32_t rank; /* in the communicator, whose record it is */
    uint32_t domain;
    ck_time_t enter[2]; /* as recorded, as aligned */
    ck_time_t exit[2];
    size_t order;
};

struct causality {
    const struct cast *cast;
    const struct align *align;
    struct side *sides;
    size_t count, room;
};

struct causality *causality_create(const struct cast *cast,
                                   const struct align *align)
{
    struct causality *causality = calloc(1, sizeof(*causality));

    if (causality != NULL) {
        causality->cast = cast;
        causality->align = align;
    }
    return causality;
}

void causality_destroy(struct causality *causality)
{
    if (causality != NULL) {
        free(causality->sides);
        free(causality);
    }
}

/* All ranks enter before any leaves. */
static bool is_symmetric(const char *name)
{
    static const char *const names[] = {"MPI_Barrier", "MPI_Allreduce",
                                        "MPI_Allgather", "MPI_Alltoall",
                                        "MPI_Reduce_scatter_block"};

    for (size_t i = 0; name != NULL && i < sizeof(names) / sizeof(names[0]);
         i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What a message record says; false: nothing. */
static bool message_side(const struct ck_message *message, struct side *side)
{
    bool is_send =
        message->e.kind == CK_KIND_SEND || message->e.kind == CK_KIND_SENDRECV;

    if (message->peer < -1 || message->e.kind == CK_KIND_PROBE) {
        return false;
    }
    side->tag = message->tag;
    side->source = is_send ? side->rank : message->peer;
    side->destination = is_send ? message->peer : side->rank;
    side->kind = is_send ? SIDE_SEND : SIDE_RECV;
    if (message->e.kind == CK_KIND_COMPLETE ||
        (!is_send &&
         (message->request != 0 || message->peer < 0 || message->tag < 0))) {
        side->kind = SIDE_VAGUE;
    }
    return true;
}

static bool collective_side(const struct causality *causality,
                            const struct timeline_event *event,
                            struct side *side)
{
    const struct ck_collective *collective =
        (const struct ck_collective *)event->record;

    if (collective->seq == 0 ||
        !is_symmetric(
            cast_name(causality->cast, event->process, collective->e.name)) ||
        (strcmp(cast_name(causality->cast, event->process, collective->e.name),
                "MPI_Barrier") != 0 &&
         collective->bytes_out == 0)) {
        return false;
    }
    side->kind = SIDE_COLLECTIVE;
    side->tag = (int32_t)collective->seq;
    return true;
}

/* The communicator's number in the run and the rank in it; false: unknown. */
static bool side_place(const struct causality *causality,
                       const struct timeline_event *event,
                       struct side *side)
{
    bool is_message = ck_kind_class(event->record->kind) == CK_CLASS_MESSAGE;
    uint32_t id = is_message
                      ? ((const struct ck_message *)event->record)->comm
                      : ((const struct ck_collective *)event->record)->comm;
    const struct cast_comm *comm =
        comm_find(causality->cast, event->process, id);

    side->rank = comm != NULL ? comm->rank : event->rank;
    side->comm = comm != NULL ? comm->global : CAST_NONE;
    if (comm == NULL && id == WORLD) {
        side->comm = WORLD_GLOBAL;
    }
    return side->comm != CAST_NONE;
}

int causality_take(void *state, const struct timeline_event *event)
{
    struct causality *causality = state;
    uint32_t agent = causality->cast->processes[event->process].agent;
    struct side side = {.order = causality->count};
    uint16_t kind = event->record->kind;
    bool is_taken = false;

    if (event->rank < 0 || causality->cast->domains_count < 2 ||
        (event->record->flags & (CK_FLAG_CUT | CK_FLAG_FAILED)) != 0) {
        return 0;
    }
    if (ck_kind_class(kind) != CK_CLASS_MESSAGE && kind != CK_KIND_COLLECTIVE) {
        return 0;
    }
    if (!side_place(causality, event, &side)) {
        return 0;
    }
    if (kind != CK_KIND_COLLECTIVE) {
        is_taken =
            message_side((const struct ck_message *)event->record, &side);
    } else {
        is_taken = collective_side(causality, event, &side);
    }
    if (!is_taken || causality->count == SIDES_MAX) {
        return 0;
    }
    side.domain = causality->cast->agents[agent].domain;
    side.enter[1] = event->start;
    side.exit[1] = event->end;
    side.enter[0] = align_undo(causality->align, agent, event->start);
    side.exit[0] = align_undo(causality->align, agent, event->end);
    if (array_grow(&causality->sides, &causality->room, causality->count,
                   sizeof(side)) != 0) {
        return -1;
    }
    causality->sides[causality->count++] = side;
    return 0;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Collectives by number; messages by channel, then sends, then receives. */
static int side_order(const void *a, const void *b)
{
    const struct side *x = a;
    const struct side *y = b;
    int by[] = {compare(x->kind == SIDE_COLLECTIVE, y->kind == SIDE_COLLECTIVE),
                compare(x->kind == SIDE_VAGUE, y->kind == SIDE_VAGUE),
                compare(x->comm, y->comm),
                compare(x->source, y->source),
                compare(x->destination, y->destination),
                compare(x->tag, y->tag),
                compare((int)x->kind, (int)y->kind),
                compare((int64_t)x->order, (int64_t)y->order)};

    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
        if (by[i] != 0) {
            return by[i];
        }
    }
    return 0;
}

static bool same_channel(const struct side *a, const struct side *b)
{
    return a->kind != SIDE_VAGUE && b->kind != SIDE_VAGUE &&
           (a->kind == SIDE_COLLECTIVE) == (b->kind == SIDE_COLLECTIVE) &&
           a->comm == b->comm && a->source == b->source &&
           a->destination == b->destination && a->tag == b->tag;
}

/* Some receive of the channel may be another one than it seems. */
static bool channel_is_vague(const struct causality *causality,
                             const struct side *channel)
{
    for (size_t i = 0; i < causality->count; i++) {
        const struct side *side = &causality->sides[i];

        if (side->kind == SIDE_VAGUE && side->comm == channel->comm &&
            side->destination == channel->destination &&
            (side->source < 0 || side->source == channel->source) &&
            (side->tag < 0 || side->tag == channel->tag)) {
            return true;
        }
    }
    return false;
}

static void channel_count(const struct causality *causality,
                          const struct side *sides,
                          size_t count,
                          struct report_causality *report)
{
    size_t sends = 0;

    while (sends < count && sides[sends].kind == SIDE_SEND) {
        sends++;
    }
    if (sends * 2 != count || channel_is_vague(causality, sides)) {
        report->unmatched += count;
        return;
    }
    for (size_t i = 0; i < sends; i++) {
        const struct side *send = &sides[i];
        const struct side *recv = &sides[sends + i];

        if (send->domain == recv->domain) {
            continue;
        }
        report->messages++;
        report->messages_before += recv->exit[0] < send->enter[0];
        report->messages_after += recv->exit[1] < send->enter[1];
    }
}

static void collective_count(const struct side *sides,
                             size_t count,
                             struct report_causality *report)
{
    bool is_wrong[2] = {false, false};
    bool has_domains = false;

    for (int when = 0; when < 2; when++) {
        ck_time_t enter = sides[0].enter[when];
        ck_time_t exit = sides[0].exit[when];

        for (size_t i = 1; i < count; i++) {
            has_domains = has_domains || sides[i].domain != sides[0].domain;
            enter = sides[i].enter[when] > enter ? sides[i].enter[when] : enter;
            exit = sides[i].exit[when] < exit ? sides[i].exit[when] : exit;
        }
        is_wrong[when] = exit < enter;
    }
    if (has_domains) {
        report->collectives++;
        report->collectives_before += is_wrong[0];
        report->collectives_after += is_wrong[1];
    }
}

void causality_report(struct causality *causality, struct report *report)
{
    const struct side *sides = causality->sides;

    if (causality->count == 0) {
        return;
    }
    qsort(causality->sides, causality->count, sizeof(*sides), side_order);
    for (size_t at = 0; at < causality->count;) {
        size_t end = at + 1;

        while (end < causality->count &&
               same_channel(&sides[at], &sides[end])) {
            end++;
        }
        if (sides[at].kind == SIDE_COLLECTIVE) {
            collective_count(&sides[at], end - at, &report->causality);
        } else if (sides[at].kind != SIDE_VAGUE) {
            channel_count(causality, &sides[at], end - at, &report->causality);
        }
        at = end;
    }
}
