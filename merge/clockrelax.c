/* clockrelax.c - shortest paths through difference constraints
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bellman and Ford's method. A sweep takes clock after clock, the links that
 * touch it and then its chain forth and back: from the root outwards and, the
 * next time, inwards, so that one sweep carries a value across any number of
 * clocks and of nodes. A negative cycle shows as lower > upper, or as a cycle
 * among the places that values come from, which is looked for now and then.
 */
#include "merge/clockrelax.h"

#include <stdlib.h>

#include "schema/clocktrend.h"

#define SWEEPS_MAX 256
#define CYCLES_EVERY 8
/* Paths are followed no further. */
#define STEPS_MAX 1000000

/* A node's value changed: its clock has to be looked at again. */
static void node_touch(struct clockrelax *relax, uint32_t node)
{
    uint32_t group = relax->places[node].group;

    if (group != CLOCKRELAX_MEETING) {
        relax->groups[group].is_settled = false;
        return;
    }
    for (size_t i = 0; i < relax->groups_count; i++) {
        relax->groups[i].is_settled = false;
    }
}

static void link_relax(struct clockrelax *relax, uint32_t number)
{
    const struct clockrelax_link *link = &relax->links[number];
    struct clockrelax_node *x = &relax->nodes[link->x];
    struct clockrelax_node *y = &relax->nodes[link->y];

    if (y->upper != CK_CLOCK_NONE && y->upper + link->w < x->upper) {
        x->upper = y->upper + link->w;
        x->upper_of = number;
        node_touch(relax, link->x);
    }
    if (x->lower != -CK_CLOCK_NONE && x->lower - link->w > y->lower) {
        y->lower = x->lower - link->w;
        y->lower_of = number;
        node_touch(relax, link->y);
    }
}

/* Carry the values of `from` to its neighbour. */
static void chain_relax(struct clockrelax_node *to,
                        const struct clockrelax_node *from,
                        ck_time_t slack,
                        uint32_t side)
{
    if (slack == CK_CLOCK_NONE) {
        return;
    }
    if (from->upper != CK_CLOCK_NONE && from->upper + slack < to->upper) {
        to->upper = from->upper + slack;
        to->upper_of = side;
    }
    if (from->lower != -CK_CLOCK_NONE && from->lower - slack > to->lower) {
        to->lower = from->lower - slack;
        to->lower_of = side;
    }
}

/* What a clock was told goes along its chain, and from there to all that it
 * is linked with, which are then to be looked at. */
static void group_relax(struct clockrelax *relax,
                        struct clockrelax_group *group)
{
    struct clockrelax_node *nodes = relax->nodes;

    group->is_settled = true;
    for (size_t k = group->first + 1; k < group->end; k++) {
        chain_relax(&nodes[k], &nodes[k - 1], nodes[k - 1].slack,
                    CLOCKRELAX_BEFORE);
    }
    for (size_t k = group->end; k-- > group->first + 1;) {
        chain_relax(&nodes[k - 1], &nodes[k], nodes[k - 1].slack,
                    CLOCKRELAX_AFTER);
    }
    for (size_t i = 0; i < group->touching_count; i++) {
        uint32_t number = group->touching[i] >> 1;

        if (relax->links[number].x != CLOCKRELAX_ORIGIN) {
            link_relax(relax, number);
        }
    }
}

/* False when all is settled. */
static bool sweep(struct clockrelax *relax)
{
    size_t count = relax->groups_count;
    bool is_changed = false;

    for (size_t i = 0; i < count; i++) {
        size_t at = relax->sweeps % 2 == 0 ? i : count - 1 - i;

        if (!relax->groups[at].is_settled) {
            group_relax(relax, &relax->groups[at]);
            is_changed = true;
        }
    }
    return is_changed;
}

/* The node that a value of node k comes from; SIZE_MAX = the origin. */
static size_t origin_of(const struct clockrelax *relax, size_t k, bool is_upper)
{
    const struct clockrelax_node *node = &relax->nodes[k];
    uint32_t of = is_upper ? node->upper_of : node->lower_of;

    switch (of) {
    case CLOCKRELAX_ORIGIN:
        return SIZE_MAX;
    case CLOCKRELAX_BEFORE:
        return k - 1;
    case CLOCKRELAX_AFTER:
        return k + 1;
    default:
        return is_upper ? relax->links[of].y : relax->links[of].x;
    }
}

/* Note that a path goes between a node and the next. */
static void span_add(struct clockrelax_conflict *conflict, uint32_t node)
{
    struct clockrelax_span *last =
        conflict->spans_count == 0
            ? NULL
            : &conflict->spans[conflict->spans_count - 1];

    if (last != NULL && last->last == node) {
        last->last = node + 1;
    } else if (last != NULL && last->first == node + 1) {
        last->first = node;
    } else if (conflict->spans_count < CLOCKRELAX_PATH) {
        conflict->spans[conflict->spans_count++] =
            (struct clockrelax_span){node, node + 1};
    }
}

/* Note one step of a path. Returns the next node, SIZE_MAX at the origin. */
static size_t path_step(const struct clockrelax *relax,
                        struct clockrelax_conflict *conflict,
                        size_t k,
                        bool is_upper)
{
    const struct clockrelax_node *node = &relax->nodes[k];
    uint32_t of = is_upper ? node->upper_of : node->lower_of;
    size_t next = origin_of(relax, k, is_upper);

    if (of < CLOCKRELAX_LINKS_MAX) {
        if (conflict->links_count < CLOCKRELAX_PATH) {
            conflict->links[conflict->links_count++] = of;
        }
    } else if (of != CLOCKRELAX_ORIGIN) {
        span_add(conflict, (uint32_t)(next < k ? next : k));
    }
    return next;
}

/* The paths of a node whose lower is above its upper. */
static void conflict_node(const struct clockrelax *relax,
                          size_t k,
                          struct clockrelax_conflict *conflict)
{
    *conflict = (struct clockrelax_conflict){.excess = relax->nodes[k].lower -
                                                       relax->nodes[k].upper};
    for (int side = 0; side < 2; side++) {
        size_t at = k;

        for (int i = 0; at != SIZE_MAX && i < STEPS_MAX; i++) {
            at = path_step(relax, conflict, at, side == 0);
        }
    }
}

/* The cycle that node k is on; how negative it is. */
static void conflict_cycle(const struct clockrelax *relax,
                           size_t k,
                           bool is_upper,
                           struct clockrelax_conflict *conflict)
{
    size_t at = k;

    *conflict = (struct clockrelax_conflict){0};
    do {
        at = path_step(relax, conflict, at, is_upper);
    } while (at != k && at != SIZE_MAX);
    for (size_t i = 0; i < conflict->links_count; i++) {
        conflict->excess -= relax->links[conflict->links[i]].w;
    }
    for (size_t i = 0; i < conflict->spans_count; i++) {
        for (size_t n = conflict->spans[i].first; n < conflict->spans[i].last;
             n++) {
            conflict->excess -= relax->nodes[n].slack;
        }
    }
    /* A path too long to be kept whole. */
    conflict->excess = conflict->excess > 0 ? conflict->excess : 1;
}

/* Look for a cycle among the places that values come from. */
static bool cycle_find(const struct clockrelax *relax,
                       bool is_upper,
                       struct clockrelax_conflict *conflict)
{
    uint32_t *seen = calloc(relax->nodes_count + 1, sizeof(*seen));
    bool is_found = false;

    for (size_t k = 0; seen != NULL && !is_found && k < relax->nodes_count;
         k++) {
        size_t at = k;

        while (at != SIZE_MAX && seen[at] == 0) {
            seen[at] = (uint32_t)k + 1;
            at = origin_of(relax, at, is_upper);
        }
        if (at != SIZE_MAX && seen[at] == (uint32_t)k + 1) {
            conflict_cycle(relax, at, is_upper, conflict);
            is_found = true;
        }
    }
    free(seen);
    return is_found;
}

/* The node whose bounds contradict each other most. */
static bool crossing_find(const struct clockrelax *relax,
                          struct clockrelax_conflict *conflict)
{
    ck_time_t most = 0;
    size_t worst = 0;

    for (size_t k = 0; k < relax->nodes_count; k++) {
        const struct clockrelax_node *node = &relax->nodes[k];

        if (node->upper != CK_CLOCK_NONE && node->lower != -CK_CLOCK_NONE &&
            node->lower - node->upper > most) {
            most = node->lower - node->upper;
            worst = k;
        }
    }
    if (most == 0) {
        return false;
    }
    /* With a cycle the paths have no end. */
    if (!cycle_find(relax, true, conflict) &&
        !cycle_find(relax, false, conflict)) {
        conflict_node(relax, worst, conflict);
    }
    return true;
}

bool clockrelax_run(struct clockrelax *relax,
                    struct clockrelax_conflict *conflict)
{
    conflict->excess = 0;
    relax->sweeps = 0;
    for (size_t i = 0; i < relax->groups_count; i++) {
        relax->groups[i].is_settled = false;
    }
    while (relax->sweeps < SWEEPS_MAX) {
        bool is_changed = sweep(relax);

        relax->sweeps++;
        if (crossing_find(relax, conflict)) {
            return true;
        }
        if (!is_changed) {
            return false;
        }
        if (relax->sweeps % CYCLES_EVERY == 0 &&
            (cycle_find(relax, true, conflict) ||
             cycle_find(relax, false, conflict))) {
            return true;
        }
    }
    return false;
}
