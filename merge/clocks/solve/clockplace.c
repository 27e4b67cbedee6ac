/* clockplace.c - a first place on one axis for every clock
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * How far two domains are from each other is the least sum of a way there and
 * a way back within a second: the offset cancels out. Of a meeting, the member
 * that stayed shortest is near to all others: the sum is what both stayed.
 */
#include "merge/clocks/solve/clockplace.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"

#define WINDOW_BITS 30
/* Ways there and back at different times only; no way back. */
#define FAR ((ck_time_t)1 << 60)
#define NEVER INT64_MAX

/* What passed between two domains, a < b. */
struct pair {
    uint64_t key; /* a << 32 | b, + 1; 0 = free */
    int64_t window;
    ck_time_t there; /* least in the window, a to b */
    ck_time_t back;
    ck_time_t best;
    bool has_there;
    bool has_back;
};

struct pairs {
    struct pair *items;
    size_t count;
    size_t room; /* a power of two */
};

/* What is known of a meeting's instant on the axis. */
struct meeting {
    ck_time_t low;
    ck_time_t high;
};

struct place {
    const struct clockgraph *graph;
    struct clockline *lines;
    struct pairs pairs;
    struct meeting *meetings;
    struct ck_clock_constraint *facts;
    ck_time_t *nearest; /* to what is placed; NEVER */
    bool *is_placed;
    bool *is_stuck; /* known from one direction, so far */
    uint32_t *order;
    uint32_t placed;
    /* Neighbours of each domain, as indices of pairs. */
    uint32_t *neighbours;
    size_t *first;
};

static struct pair *pairs_slot(const struct pairs *pairs, uint64_t key)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 20);

    for (;; at++) {
        struct pair *pair = &pairs->items[at & (pairs->room - 1)];

        if (pair->key == 0 || pair->key == key) {
            return pair;
        }
    }
}

static void pairs_grow(struct pairs *pairs)
{
    struct pairs grown = {.room = pairs->room == 0 ? 64 : pairs->room * 2,
                          .count = pairs->count};

    grown.items = xcalloc(grown.room, sizeof(*grown.items));
    for (size_t i = 0; i < pairs->room; i++) {
        if (pairs->items[i].key != 0) {
            *pairs_slot(&grown, pairs->items[i].key) = pairs->items[i];
        }
    }
    free(pairs->items);
    *pairs = grown;
}

static struct pair *pairs_find(struct pairs *pairs, uint32_t a, uint32_t b)
{
    uint64_t key = ((uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a)) + 1;
    struct pair *pair;

    if (2 * pairs->count >= pairs->room) {
        pairs_grow(pairs);
    }
    pair = pairs_slot(pairs, key);
    if (pair->key == 0) {
        *pair = (struct pair){.key = key,
                              .window = INT64_MIN,
                              .there = NEVER,
                              .back = NEVER,
                              .best = NEVER};
        pairs->count++;
    }
    return pair;
}

static void pair_note(struct pair *pair, const struct clock_edge *edge)
{
    bool is_there = edge->from < edge->to;
    int64_t window = (is_there ? edge->sent : edge->received) >> WINDOW_BITS;
    ck_time_t way = edge->received - edge->sent;
    ck_time_t *least = is_there ? &pair->there : &pair->back;

    pair->has_there = pair->has_there || is_there;
    pair->has_back = pair->has_back || !is_there;
    if (pair->window != window) {
        pair->window = window;
        pair->there = pair->back = NEVER;
    }
    *least = way < *least ? way : *least;
    if (pair->there != NEVER && pair->back != NEVER &&
        pair->there + pair->back < pair->best) {
        pair->best = pair->there + pair->back;
    }
}

/* An edge and the next are a member's enter and exit. */
static bool is_stay(const struct clock_edge *edge)
{
    return (edge->from & CLOCK_MEETING) == 0 && edge->from == edge[1].to;
}

/* The edges of one meeting, which are together: member by member. */
static void meeting_note(struct place *place, size_t at, size_t end)
{
    const struct clock_edge *edges = place->graph->edges;
    ck_time_t least = NEVER;
    uint32_t centre = 0;

    for (size_t i = at; i + 1 < end; i++) {
        ck_time_t stay = edges[i + 1].received - edges[i].sent;

        if (is_stay(&edges[i]) && stay < least) {
            least = stay;
            centre = edges[i].from;
        }
    }
    for (size_t i = at; least != NEVER && i + 1 < end; i++) {
        ck_time_t stay = edges[i + 1].received - edges[i].sent;
        struct pair *pair;

        if (!is_stay(&edges[i]) || edges[i].from == centre) {
            continue;
        }
        pair = pairs_find(&place->pairs, centre, edges[i].from);
        pair->has_there = pair->has_back = true;
        pair->best = stay + least < pair->best ? stay + least : pair->best;
    }
}

static bool is_meeting(const struct clock_edge *edge)
{
    return ((edge->from | edge->to) & CLOCK_MEETING) != 0;
}

static uint32_t meeting_of(const struct clock_edge *edge)
{
    return ((edge->from & CLOCK_MEETING) != 0 ? edge->from : edge->to) &
           ~CLOCK_MEETING;
}

static void pairs_collect(struct place *place)
{
    const struct clock_edge *edges = place->graph->edges;
    size_t count = place->graph->count;

    for (size_t at = 0; at < count;) {
        size_t end = at + 1;

        if (is_meeting(&edges[at])) {
            while (end < count && is_meeting(&edges[end]) &&
                   meeting_of(&edges[end]) == meeting_of(&edges[at])) {
                end++;
            }
            meeting_note(place, at, end);
        } else if (!edges[at].is_dropped) {
            struct pair *pair =
                pairs_find(&place->pairs, edges[at].from, edges[at].to);

            pair_note(pair, &edges[at]);
        }
        at = end;
    }
}

static void pair_ends(const struct pair *pair, uint32_t ends[2])
{
    ends[0] = (uint32_t)((pair->key - 1) >> 32);
    ends[1] = (uint32_t)(pair->key - 1);
}

static void neighbours_fill(struct place *place)
{
    size_t domains = place->graph->domains;
    const struct pairs *pairs = &place->pairs;

    place->neighbours =
        xmalloc((2 * pairs->count + 1) * sizeof(*place->neighbours));
    place->first = xcalloc(domains + 2, sizeof(*place->first));
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < pairs->room; i++) {
            uint32_t ends[2];

            pair_ends(&pairs->items[i], ends);
            for (int k = 0; pairs->items[i].key != 0 && k < 2; k++) {
                if (pass == 0) {
                    place->first[ends[k] + 2]++;
                } else {
                    place->neighbours[place->first[ends[k] + 1]++] =
                        (uint32_t)i;
                }
            }
        }
        for (size_t d = 0; pass == 0 && d < domains; d++) {
            place->first[d + 2] += place->first[d + 1];
        }
    }
}

/* What one end shows of its domain's offset; false: nothing yet. */
static bool end_fact(const struct place *place,
                     const struct clock_end *end,
                     struct ck_clock_constraint *fact)
{
    bool is_upper = (end->which & 1) == 0;
    uint32_t other = end->other;
    ck_time_t own = end->own;
    ck_time_t theta, half, time;

    if (clockgraph_is_dropped(place->graph, end)) {
        return false;
    }
    if ((other & CLOCK_MEETING) != 0) {
        const struct meeting *meeting =
            &place->meetings[other & ~CLOCK_MEETING];

        time = is_upper ? meeting->high : meeting->low;
        if (time == NEVER || time == -NEVER) {
            return false;
        }
    } else {
        if (!place->is_placed[other] ||
            !clockline_at(&place->lines[other], end->theirs, &theta, &half)) {
            return false;
        }
        time = end->theirs + theta + (is_upper ? half : -half);
    }
    *fact = (struct ck_clock_constraint){
        .at = own, .value = time - own, .is_upper = is_upper};
    return true;
}

/* A domain that was placed hands its place to its meetings. */
static void meetings_tell(struct place *place, uint32_t domain)
{
    const struct clockgraph *graph = place->graph;

    for (size_t i = graph->first[domain]; i < graph->first[domain + 1]; i++) {
        const struct clock_end *end = &graph->ends[i];
        ck_time_t own = end->own;
        struct meeting *meeting;
        ck_time_t theta, half;

        if ((end->other & CLOCK_MEETING) == 0 ||
            clockgraph_is_dropped(graph, end) ||
            !clockline_at(&place->lines[domain], own, &theta, &half)) {
            continue;
        }
        meeting = &place->meetings[end->other & ~CLOCK_MEETING];
        if ((end->which & 1) != 0) {
            ck_time_t time = own + theta + half;

            meeting->high = time < meeting->high ? time : meeting->high;
        } else {
            ck_time_t time = own + theta - half;

            meeting->low = time > meeting->low ? time : meeting->low;
        }
    }
}

/* A cut that no point is in front of, or behind: what is known on its other
 * side goes on up to it, and not beyond. */
static void line_end(struct clockline *line, const struct clock_cut *cut)
{
    if (line->count == 0) {
        return;
    }
    if (line->points[0].at > cut->from) {
        line->begin =
            line->has_begin && line->begin > cut->to ? line->begin : cut->to;
        line->has_begin = true;
    }
    if (line->points[line->count - 1].at < cut->to) {
        line->end =
            line->has_end && line->end < cut->from ? line->end : cut->from;
        line->has_end = true;
    }
}

static void line_ends(const struct clockgraph *graph,
                      uint32_t domain,
                      struct clockline *line)
{
    for (size_t i = 0; i < graph->cuts_count; i++) {
        if (graph->cuts[i].domain == domain) {
            line_end(line, &graph->cuts[i]);
        }
    }
}

void clockplace_fit(const struct clockgraph *graph,
                    uint32_t domain,
                    const struct clockplace_rates *rates,
                    struct ck_clock_constraint *facts,
                    size_t count,
                    struct clockline *line)
{
    size_t at = 0;

    for (size_t i = 0; i <= graph->cuts_count; i++) {
        size_t end = at;
        bool is_cut = i < graph->cuts_count;

        if (is_cut && graph->cuts[i].domain != domain) {
            continue;
        }
        while (end < count &&
               (!is_cut || facts[end].at <= graph->cuts[i].from)) {
            end++;
        }
        if (end > at) {
            clockline_fit(line, &facts[at], end - at, rates->wander_ppb,
                          rates->blind_ppb);
        }
        at = end;
        /* What is within the cut is evidence for neither side. */
        while (is_cut && at < count && facts[at].at < graph->cuts[i].to) {
            at++;
        }
    }
    line_ends(graph, domain, line);
}

/* The line of a domain from what is placed. Where only one direction is known,
 * `is_guess` takes its edge. */
static void domain_line(struct place *place,
                        uint32_t domain,
                        const struct clockplace_rates *rates,
                        bool is_guess)
{
    const struct clockgraph *graph = place->graph;
    struct clockline *line = &place->lines[domain];
    size_t count = 0;

    for (size_t i = graph->first[domain]; i < graph->first[domain + 1]; i++) {
        count += end_fact(place, &graph->ends[i], &place->facts[count]);
    }
    if (is_guess && count > 0) {
        clockline_guess(line, place->facts, count, rates->blind_ppb);
        return;
    }
    clockplace_fit(graph, domain, rates, place->facts, count, line);
}

/* Take a placed domain's neighbours nearer. */
static void place_near(struct place *place, uint32_t domain)
{
    place->is_placed[domain] = true;
    place->order[place->placed++] = domain;
    meetings_tell(place, domain);
    for (size_t i = place->first[domain]; i < place->first[domain + 1]; i++) {
        const struct pair *pair = &place->pairs.items[place->neighbours[i]];
        uint32_t ends[2];
        uint32_t other;
        ck_time_t way;

        if (pair->best != NEVER) {
            way = pair->best;
        } else if (pair->has_there && pair->has_back) {
            way = FAR;
        } else {
            way = FAR + 1;
        }

        pair_ends(pair, ends);
        other = ends[0] == domain ? ends[1] : ends[0];
        if (!place->is_placed[other] && way < place->nearest[other]) {
            place->nearest[other] = way;
        }
    }
}

/* The unplaced domain that is nearest to a placed one; `domains` = none. */
static uint32_t place_next(const struct place *place)
{
    uint32_t domains = place->graph->domains;
    uint32_t next = domains;

    for (uint32_t d = 0; d < domains; d++) {
        if (!place->is_placed[d] && place->nearest[d] != NEVER &&
            (next == domains || place->nearest[d] < place->nearest[next])) {
            next = d;
        }
    }
    return next;
}

/* One that could not be placed for want of a way back. */
static uint32_t place_stuck(const struct place *place)
{
    uint32_t d = 0;

    while (d < place->graph->domains &&
           (place->is_placed[d] || !place->is_stuck[d])) {
        d++;
    }
    return d;
}

static void place_all(struct place *place,
                      uint32_t root,
                      const struct clockplace_rates *rates)
{
    uint32_t domains = place->graph->domains;
    bool is_guess = false;

    clockline_exact(&place->lines[root]);
    place_near(place, root);
    for (;;) {
        uint32_t next = place_next(place);

        if (next == domains) {
            /* What is fitted to a guess would be no better. */
            is_guess = true;
            next = place_stuck(place);
        }
        if (next == domains) {
            return;
        }
        /* If it cannot be placed now, a later neighbour may help. */
        place->nearest[next] = NEVER;
        place->is_stuck[next] = !is_guess;
        domain_line(place, next, rates, is_guess);
        if (place->lines[next].count > 0) {
            place_near(place, next);
        }
    }
}

static void place_init(struct place *place)
{
    const struct clockgraph *graph = place->graph;
    size_t most = 0;

    for (uint32_t d = 0; d < graph->domains; d++) {
        size_t ends = graph->first[d + 1] - graph->first[d];

        most = ends > most ? ends : most;
    }
    place->meetings =
        xmalloc(((size_t)graph->meetings + 1) * sizeof(*place->meetings));
    place->facts = xmalloc((most + 1) * sizeof(*place->facts));
    place->nearest =
        xmalloc(((size_t)graph->domains + 1) * sizeof(*place->nearest));
    place->is_placed =
        xcalloc((size_t)graph->domains + 1, sizeof(*place->is_placed));
    place->is_stuck =
        xcalloc((size_t)graph->domains + 1, sizeof(*place->is_stuck));
    for (uint32_t i = 0; i < graph->meetings; i++) {
        place->meetings[i] = (struct meeting){-NEVER, NEVER};
    }
    for (uint32_t d = 0; d < graph->domains; d++) {
        place->nearest[d] = NEVER;
    }
    pairs_grow(&place->pairs);
}

void clockplace_run(const struct clockgraph *graph,
                    uint32_t root,
                    const struct clockplace_rates *rates,
                    struct clockline *lines,
                    uint32_t *order)
{
    struct place place = {.graph = graph, .lines = lines, .order = order};

    place_init(&place);
    pairs_collect(&place);
    neighbours_fill(&place);
    place_all(&place, root, rates);
    if (place.placed < graph->domains) {
        order[place.placed] = CLOCKPLACE_END;
    }
    free(place.pairs.items);
    free(place.meetings);
    free(place.facts);
    free(place.nearest);
    free(place.is_placed);
    free(place.is_stuck);
    free(place.neighbours);
    free(place.first);
}
