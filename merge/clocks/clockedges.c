/* clockedges.c - what the messages and collectives of a run show of clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Collectives of a few domains are taken as messages between any two of them;
 * those of many as meetings. When there are too many meetings, one in a group
 * is kept: the one in which the members stayed shortest.
 */
#include "merge/clocks/clockedges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/clocks/solve/clockhull.h"
#include "merge/messages/collective.h"
#include "merge/messages/match.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/clock/clocktrend.h"

/* First windows of 1 ms: a clock wanders less in it than a fact has to spare.
 */
#define WINDOW_BITS 20
/* Launches are many, and bound little: windows of 64 ms. */
#define DEVICE_BITS 6
/* Collectives of so few domains are messages from each to each. */
#define PAIRWISE_MAX 4

/* One direction between two domains. */
struct lane_facts {
    uint32_t from;
    uint32_t to;
    enum clock_source source;
    struct clockhull hull;
    unsigned more; /* bits that its windows are longer than others */
};

struct meeting {
    size_t first; /* of its members */
    size_t count;
    ck_time_t stay; /* all members together */
    enum clock_source source;
};

struct clockedges {
    const struct defs *defs; /* borrowed */
    const struct axis *axis; /* borrowed */
    struct matcher *matcher;
    struct collective *collective;
    struct table *keys;
    struct lane_facts *lanes;
    size_t lanes_count, lanes_room;
    struct meeting *meetings;
    size_t meetings_count, meetings_room;
    struct clock_member *members;
    size_t members_count, members_room;
    struct clockedges_device *devices;
    size_t devices_count, devices_room;
    struct clock_member *party; /* of the meeting in work */
    uint32_t *place;            /* in it, by domain; DEFS_NONE */
    uint64_t group;             /* of so many meetings one is kept */
    uint64_t grouped;           /* meetings of the group so far */
    unsigned window_bits;
    size_t facts; /* kept, in all lanes */
    uint64_t seen;
};

static void
message_take(void *state, enum match_news news, const struct match *match);
static void collective_take(void *state,
                            const struct collective_meeting *meeting);

struct clockedges *clockedges_create(const struct defs *defs,
                                     const struct axis *axis)
{
    struct clockedges *edges = xcalloc(1, sizeof(*edges));

    edges->defs = defs;
    edges->axis = axis;
    edges->window_bits = WINDOW_BITS;
    edges->group = 1;
    edges->keys = table_create();
    edges->matcher = matcher_create(defs, message_take, edges);
    edges->collective = collective_create(defs, collective_take, edges);
    edges->party = xcalloc(defs->domains_count + 1, sizeof(*edges->party));
    edges->place = xmalloc((defs->domains_count + 1) * sizeof(*edges->place));
    return edges;
}

void clockedges_destroy(struct clockedges *edges)
{
    if (edges == NULL) {
        return;
    }
    for (size_t i = 0; i < edges->lanes_count; i++) {
        clockhull_fini(&edges->lanes[i].hull);
    }
    free(edges->lanes);
    free(edges->meetings);
    free(edges->members);
    free(edges->devices);
    free(edges->party);
    free(edges->place);
    table_destroy(edges->keys);
    matcher_destroy(edges->matcher);
    collective_destroy(edges->collective);
    free(edges);
}

/* ---- hulls --------------------------------------------------------------- */

static void edges_thin(struct clockedges *edges)
{
    edges->window_bits++;
    edges->facts = 0;
    for (size_t i = 0; i < edges->lanes_count; i++) {
        clockhull_thin(&edges->lanes[i].hull,
                       edges->window_bits + edges->lanes[i].more);
        edges->facts += edges->lanes[i].hull.count;
    }
}

static struct lane_facts *lane_find(struct clockedges *edges,
                                    const struct clock_edge *edge)
{
    struct table_key key = {edge->from, edge->to, edge->source};
    int64_t number = table_number(edges->keys, key);

    if ((size_t)number == edges->lanes_count) {
        struct lane_facts fresh = {.from = edge->from,
                                   .to = edge->to,
                                   .source = edge->source,
                                   .hull = {.window = INT64_MIN}};

        fresh.more = edge->source == CLOCK_SOURCE_DEVICE ? DEVICE_BITS : 0;

        array_grow(&edges->lanes, &edges->lanes_room, edges->lanes_count,
                   sizeof(fresh));
        edges->lanes[edges->lanes_count++] = fresh;
    }
    return &edges->lanes[number];
}

void clockedges_add(struct clockedges *edges, const struct clock_edge *edge)
{
    struct clockhull_fact fact = {edge->sent, edge->received - edge->sent};
    struct lane_facts *lane = lane_find(edges, edge);
    size_t before;

    edges->seen++;
    before = lane->hull.count;
    clockhull_add(&lane->hull, fact, edges->window_bits + lane->more);
    edges->facts += lane->hull.count - before;
    if (edges->facts > CLOCKEDGES_MAX) {
        edges_thin(edges);
    }
}

/* ---- meetings ------------------------------------------------------------ */

static void pairwise_add(struct clockedges *edges,
                         const struct clock_member *members,
                         size_t count,
                         enum clock_source source)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            struct clock_edge edge = {
                .sent = members[i].enter,
                .received = members[j].exit,
                .from = members[i].domain,
                .to = members[j].domain,
                .source = source,
            };

            if (i != j && edge.sent != CK_CLOCK_NONE &&
                edge.received != CK_CLOCK_NONE) {
                clockedges_add(edges, &edge);
            }
        }
    }
}

/* Of neighbours keep the better one. */
static void meetings_thin(struct clockedges *edges)
{
    size_t kept = 0, members = 0;

    for (size_t i = 0; i < edges->meetings_count; i += 2) {
        struct meeting *best = &edges->meetings[i];

        if (i + 1 < edges->meetings_count && best[1].stay < best->stay) {
            best++;
        }
        memmove(&edges->members[members], &edges->members[best->first],
                best->count * sizeof(*edges->members));
        edges->meetings[kept] = *best;
        edges->meetings[kept++].first = members;
        members += best->count;
    }
    edges->meetings_count = kept;
    edges->members_count = members;
    edges->group *= 2;
    edges->grouped = 0;
}

static void meeting_keep(struct clockedges *edges,
                         const struct clock_member *members,
                         size_t count,
                         enum clock_source source)
{
    struct meeting meeting = {
        .first = edges->members_count, .count = count, .source = source};

    for (size_t i = 0; i < count; i++) {
        meeting.stay += members[i].exit - members[i].enter;
    }
    if (edges->grouped % edges->group != 0) {
        const struct meeting *last =
            &edges->meetings[edges->meetings_count - 1];

        if (last->stay <= meeting.stay) {
            edges->grouped++;
            return;
        }
        edges->meetings_count--;
        edges->members_count = meeting.first = last->first;
    }
    edges->grouped++;
    array_grow(&edges->meetings, &edges->meetings_room, edges->meetings_count,
               sizeof(meeting));
    for (size_t i = 0; i < count; i++) {
        array_grow(&edges->members, &edges->members_room, edges->members_count,
                   sizeof(*members));
        edges->members[edges->members_count++] = members[i];
    }
    edges->meetings[edges->meetings_count++] = meeting;
    if (edges->members_count > CLOCKEDGES_MAX) {
        meetings_thin(edges);
    }
}

void clockedges_meet(struct clockedges *edges,
                     const struct clock_member *members,
                     size_t count,
                     enum clock_source source)
{
    if (count < 2) {
        return;
    }
    if (count <= PAIRWISE_MAX) {
        pairwise_add(edges, members, count, source);
        return;
    }
    edges->seen++;
    meeting_keep(edges, members, count, source);
}

/* ---- events -------------------------------------------------------------- */

static uint32_t domain_of(const struct clockedges *edges, uint32_t process)
{
    const struct defs *defs = edges->defs;

    return defs->agents[defs->processes[process].agent].domain;
}

static ck_time_t
raw_of(const struct clockedges *edges, uint32_t process, ck_time_t time)
{
    return axis_undo(edges->axis, edges->defs->processes[process].agent, time);
}

static void
message_take(void *state, enum match_news news, const struct match *match)
{
    struct clockedges *edges = state;
    struct clock_edge edge = {.source = CLOCK_SOURCE_MESSAGE};

    if (news != MATCH_RECEIVED) {
        return;
    }
    edge.from = domain_of(edges, match->send.process);
    edge.to = domain_of(edges, match->recv.process);
    if (edge.from == edge.to) {
        return;
    }
    edge.sent = raw_of(edges, match->send.process, match->send.post);
    edge.received =
        raw_of(edges, match->recv.process, match->recv.done) - CLOCKEDGES_DELAY;
    clockedges_add(edges, &edge);
}

/* The domains of a meeting: of each the last to enter and the first to leave.
 * Who sends, and who receives, depends on the role. */
static size_t party_collect(struct clockedges *edges,
                            const struct collective_meeting *meeting)
{
    size_t count = 0;

    memset(edges->place, 0xff,
           edges->defs->domains_count * sizeof(*edges->place));
    for (uint32_t i = 0; i < meeting->size; i++) {
        const struct collective_part *part = &meeting->parts[i];
        uint32_t domain = domain_of(edges, part->process);
        bool sends = part->sends;
        bool receives = part->receives;
        struct clock_member *member;

        if (meeting->role == COLLECTIVE_FROM_ROOT) {
            sends = part->is_root;
            receives = receives && !part->is_root;
        } else if (meeting->role == COLLECTIVE_TO_ROOT) {
            sends = sends && !part->is_root;
            receives = part->is_root;
        } else if (meeting->role == COLLECTIVE_BARRIER) {
            sends = receives = true;
        }
        if (edges->place[domain] == DEFS_NONE) {
            edges->place[domain] = (uint32_t)count;
            edges->party[count++] =
                (struct clock_member){domain, CK_CLOCK_NONE, CK_CLOCK_NONE};
        }
        member = &edges->party[edges->place[domain]];
        if (sends) {
            ck_time_t enter = raw_of(edges, part->process, part->enter);

            member->enter =
                member->enter == CK_CLOCK_NONE || enter > member->enter
                    ? enter
                    : member->enter;
        }
        if (receives) {
            ck_time_t exit =
                raw_of(edges, part->process, part->exit) - CLOCKEDGES_DELAY;

            member->exit = exit < member->exit ? exit : member->exit;
        }
    }
    return count;
}

static void collective_take(void *state,
                            const struct collective_meeting *meeting)
{
    struct clockedges *edges = state;
    size_t count;

    switch (meeting->role) {
    case COLLECTIVE_BARRIER:
        break;
    case COLLECTIVE_ALL:
    case COLLECTIVE_FROM_ROOT:
    case COLLECTIVE_TO_ROOT:
        if (meeting->is_sparse) {
            return;
        }
        break;
    default:
        return;
    }
    count = party_collect(edges, meeting);
    if (count < 2) {
        return;
    }
    if (meeting->role == COLLECTIVE_FROM_ROOT ||
        meeting->role == COLLECTIVE_TO_ROOT || !meeting->has_bytes) {
        /* Some parts are no senders or no receivers. */
        if (meeting->role == COLLECTIVE_BARRIER) {
            clockedges_meet(edges, edges->party, count,
                            CLOCK_SOURCE_COLLECTIVE);
            return;
        }
        pairwise_add(edges, edges->party, count, CLOCK_SOURCE_COLLECTIVE);
        return;
    }
    clockedges_meet(edges, edges->party, count, CLOCK_SOURCE_COLLECTIVE);
}

int clockedges_take(void *state, const struct timeline_event *event)
{
    struct clockedges *edges = state;
    struct collective_call call;

    if (event->rank < 0 || (event->record->flags & CK_FLAG_CUT) != 0) {
        return 0;
    }
    if (event->record->kind == CK_KIND_COLLECTIVE &&
        (event->record->flags & CK_FLAG_FAILED) == 0) {
        collective_enter(edges->collective, event, 0, &call);
        return 0;
    }
    matcher_take(edges->matcher, event, 0);
    return 0;
}

uint64_t clockedges_seen(const struct clockedges *edges)
{
    return edges->seen;
}

/* ---- devices ------------------------------------------------------------- */

static uint32_t devices_first(const struct clockedges *edges)
{
    return (uint32_t)edges->defs->domains_count + 1;
}

uint32_t
clockedges_device(struct clockedges *edges, uint32_t agent, uint32_t number)
{
    for (size_t i = edges->devices_count; i-- > 0;) {
        if (edges->devices[i].agent == agent &&
            edges->devices[i].number == number) {
            return devices_first(edges) + (uint32_t)i;
        }
    }
    array_grow(&edges->devices, &edges->devices_room, edges->devices_count,
               sizeof(*edges->devices));
    edges->devices[edges->devices_count] =
        (struct clockedges_device){agent, number, false};
    return devices_first(edges) + (uint32_t)edges->devices_count++;
}

void clockedges_apart(struct clockedges *edges, uint32_t domain)
{
    edges->devices[domain - devices_first(edges)].is_apart = true;
}

const struct clockedges_device *
clockedges_device_at(const struct clockedges *edges, size_t index)
{
    return index < edges->devices_count ? &edges->devices[index] : NULL;
}

size_t clockedges_devices(const struct clockedges *edges)
{
    return edges->devices_count;
}

/* ---- what comes of it ---------------------------------------------------- */

static bool is_of_use(const struct clockedges *edges, uint32_t domain)
{
    uint32_t first = devices_first(edges);

    return domain < first || edges->devices[domain - first].is_apart;
}

static bool lane_is_of_use(const struct clockedges *edges,
                           const struct lane_facts *lane)
{
    return is_of_use(edges, lane->from) && is_of_use(edges, lane->to);
}

uint64_t clockedges_kept(const struct clockedges *edges)
{
    uint64_t kept = edges->meetings_count;

    for (size_t i = 0; i < edges->lanes_count; i++) {
        kept += lane_is_of_use(edges, &edges->lanes[i])
                    ? edges->lanes[i].hull.count
                    : 0;
    }
    return kept;
}

void clockedges_fill(const struct clockedges *edges, struct clockgraph *graph)
{
    for (size_t i = 0; i < edges->lanes_count; i++) {
        const struct lane_facts *lane = &edges->lanes[i];

        for (size_t k = 0; lane_is_of_use(edges, lane) && k < lane->hull.count;
             k++) {
            struct clock_edge edge = {
                .sent = lane->hull.facts[k].sent,
                .received = lane->hull.facts[k].sent + lane->hull.facts[k].way,
                .from = lane->from,
                .to = lane->to,
                .source = lane->source,
            };

            (void)clockgraph_edge(graph, &edge);
        }
    }
    for (size_t i = 0; i < edges->meetings_count; i++) {
        const struct meeting *meeting = &edges->meetings[i];

        clockgraph_meeting(graph, &edges->members[meeting->first],
                           meeting->count, meeting->source);
    }
}
