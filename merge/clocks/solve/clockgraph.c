/* clockgraph.c - what is known of the order of instants on different clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/solve/clockgraph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/clock/clocktrend.h"
#include "schema/order.h"

#define DIGIT_BITS 11
#define DIGITS ((size_t)1 << DIGIT_BITS)
/* Sums of a few of them do not wrap. */
#define TIME_MAX (INT64_MAX / 8)

/* An end's place and its time, to be sorted. */
struct item {
    uint64_t key;
    uint32_t place;
};

struct clockgraph *clockgraph_create(uint32_t domains)
{
    struct clockgraph *graph = xcalloc(1, sizeof(*graph));

    graph->domains = domains;
    return graph;
}

void clockgraph_destroy(struct clockgraph *graph)
{
    if (graph == NULL) {
        return;
    }
    free(graph->edges);
    free(graph->cuts);
    free(graph->ends);
    free(graph->first);
    free(graph);
}

static bool is_known(const struct clockgraph *graph, uint32_t domain)
{
    return (domain & CLOCK_MEETING) != 0
               ? (domain & ~CLOCK_MEETING) < graph->meetings
               : domain < graph->domains;
}

int clockgraph_edge(struct clockgraph *graph, const struct clock_edge *edge)
{
    if (edge->from == edge->to || !is_known(graph, edge->from) ||
        !is_known(graph, edge->to) || edge->sent < -TIME_MAX ||
        edge->sent > TIME_MAX || edge->received < -TIME_MAX ||
        edge->received > TIME_MAX || graph->count >= CLOCK_EDGES_MAX) {
        errno = EINVAL;
        return -1;
    }
    array_grow(&graph->edges, &graph->room, graph->count, sizeof(*edge));
    graph->edges[graph->count++] = *edge;
    graph->used[edge->source]++;
    graph->dropped += edge->is_dropped;
    return 0;
}

/* One edge between a member and the meeting; a time out of range is none. */
static void member_edge(struct clockgraph *graph,
                        const struct clock_member *member,
                        bool is_entering,
                        enum clock_source source)
{
    uint32_t meeting = CLOCK_MEETING + graph->meetings - 1;
    struct clock_edge edge = {.source = source};

    if ((is_entering ? member->enter : member->exit) == CK_CLOCK_NONE) {
        return;
    }
    if (is_entering) {
        edge.from = member->domain;
        edge.sent = member->enter;
        edge.to = meeting;
    } else {
        edge.from = meeting;
        edge.to = member->domain;
        edge.received = member->exit;
    }
    (void)clockgraph_edge(graph, &edge);
}

void clockgraph_meeting(struct clockgraph *graph,
                        const struct clock_member *members,
                        size_t count,
                        enum clock_source source)
{
    bool has_two = false;

    for (size_t i = 1; i < count && !has_two; i++) {
        has_two = members[i].domain != members[0].domain;
    }
    if (!has_two || graph->meetings == CLOCK_MEETING - 1) {
        return;
    }
    graph->meetings++;
    for (size_t i = 0; i < count; i++) {
        member_edge(graph, &members[i], true, source);
        member_edge(graph, &members[i], false, source);
    }
}

void clockgraph_cut(struct clockgraph *graph, const struct clock_cut *cut)
{
    array_grow(&graph->cuts, &graph->cuts_room, graph->cuts_count,
               sizeof(*cut));
    graph->cuts[graph->cuts_count++] = *cut;
}

/* Sort by key, digit by digit; `spare` has room for as many. Returns where the
 * result is: one of both. */
static struct item *
items_sort(struct item *items, struct item *spare, size_t count)
{
    uint64_t most = 0;
    bool is_sorted = true;

    for (size_t i = 0; i < count; i++) {
        most |= items[i].key;
        is_sorted = is_sorted && (i == 0 || items[i - 1].key <= items[i].key);
    }
    for (unsigned shift = 0; !is_sorted && shift < 64 && most >> shift != 0;
         shift += DIGIT_BITS) {
        size_t starts[DIGITS] = {0};
        size_t sum = 0;
        struct item *swapped = items;

        for (size_t i = 0; i < count; i++) {
            starts[items[i].key >> shift & (DIGITS - 1)]++;
        }
        for (size_t d = 0; d < DIGITS; d++) {
            size_t here = starts[d];

            starts[d] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++) {
            spare[starts[items[i].key >> shift & (DIGITS - 1)]++] = items[i];
        }
        items = spare;
        spare = swapped;
    }
    return items;
}

/* Ends of each domain, in order of the edges. */
static void ends_fill(struct clockgraph *graph)
{
    size_t *first = graph->first;

    memset(first, 0, ((size_t)graph->domains + 2) * sizeof(*first));
    for (size_t i = 0; i < graph->count; i++) {
        const struct clock_edge *edge = &graph->edges[i];

        if ((edge->from & CLOCK_MEETING) == 0) {
            first[edge->from + 2]++;
        }
        if ((edge->to & CLOCK_MEETING) == 0) {
            first[edge->to + 2]++;
        }
    }
    for (uint32_t d = 0; d < graph->domains; d++) {
        first[d + 2] += first[d + 1];
    }
    /* first[d + 1] goes from the begin of d to its end, the begin of d + 1. */
    for (size_t i = 0; i < graph->count; i++) {
        const struct clock_edge *edge = &graph->edges[i];

        if ((edge->from & CLOCK_MEETING) == 0) {
            graph->ends[first[edge->from + 1]++] = (struct clock_end){
                edge->sent, edge->received, edge->to, (uint32_t)i << 1};
        }
        if ((edge->to & CLOCK_MEETING) == 0) {
            graph->ends[first[edge->to + 1]++] = (struct clock_end){
                edge->received, edge->sent, edge->from, (uint32_t)i << 1 | 1};
        }
    }
}

/* Room to sort the ends of one domain in. */
struct sorter {
    struct item *items; /* twice as many */
    struct clock_end *ends;
};

static void
domain_sort(struct sorter *sorter, struct clock_end *ends, size_t count)
{
    struct item *items = sorter->items;
    ck_time_t least = INT64_MAX;
    const struct item *sorted;

    for (size_t i = 0; i < count; i++) {
        least = ends[i].own < least ? ends[i].own : least;
    }
    for (size_t i = 0; i < count; i++) {
        items[i].place = (uint32_t)i;
        items[i].key = (uint64_t)(ends[i].own - least);
        sorter->ends[i] = ends[i];
    }
    sorted = items_sort(items, items + count, count);
    for (size_t i = 0; i < count; i++) {
        ends[i] = sorter->ends[sorted[i].place];
    }
}

static void ends_sort(struct clockgraph *graph)
{
    struct sorter sorter;
    size_t most = 0;

    for (uint32_t d = 0; d < graph->domains; d++) {
        size_t count = graph->first[d + 1] - graph->first[d];

        most = count > most ? count : most;
    }
    sorter.items = xmalloc((2 * most + 1) * sizeof(*sorter.items));
    sorter.ends = xmalloc((most + 1) * sizeof(*sorter.ends));
    for (uint32_t d = 0; d < graph->domains; d++) {
        domain_sort(&sorter, &graph->ends[graph->first[d]],
                    graph->first[d + 1] - graph->first[d]);
    }
    free(sorter.items);
    free(sorter.ends);
}

CK_ORDER(cut_order, struct clock_cut, CK_UP(domain) ?: CK_UP(from))

void clockgraph_close(struct clockgraph *graph)
{
    free(graph->ends);
    free(graph->first);
    graph->ends = xmalloc((2 * graph->count + 1) * sizeof(*graph->ends));
    graph->first =
        xmalloc(((size_t)graph->domains + 2) * sizeof(*graph->first));
    ends_fill(graph);
    if (graph->cuts_count > 0) {
        qsort(graph->cuts, graph->cuts_count, sizeof(*graph->cuts), cut_order);
    }
    ends_sort(graph);
}
