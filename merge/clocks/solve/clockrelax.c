/* clockrelax.c - shortest paths through difference constraints
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bellman and Ford's method. A sweep takes clock after clock, its chain forth
 * and back and then the links of what changed: from the root outwards and, the
 * next time, inwards, so that one sweep carries a value across any number of
 * clocks and of nodes. A negative cycle shows as lower > upper, or as a cycle
 * among the places that values come from, which is looked for now and then.
 */
#include "merge/clocks/solve/clockrelax.h"

#include <stdlib.h>

#include "merge/model/memory.h"
#include "schema/clock/clocktrend.h"

#define SWEEPS_MAX 256
#define CYCLES_EVERY 16
/* Paths are followed no further. */
#define STEPS_MAX 1000000
/* So many links ahead are fetched into the cache. */
#define AHEAD 16

/* A link as one of its nodes sees it, beside its others in memory. */
struct end {
    uint32_t other;
    uint32_t which; /* link << 1 | the node is its y */
    ck_time_t w;
};

/* The ends of a node. */
struct ends {
    uint32_t first;
    uint32_t count;
};

/* What is being relaxed. */
struct work {
    struct clockrelax *relax;
    struct end *ends;
    struct ends *of;   /* by node */
    uint32_t *group;   /* by node */
    uint8_t *is_fresh; /* by node: it changed, and its links do not know */
    bool *has_meeting; /* by group: links of it lead to meetings */
};

static void work_fini(struct work *work)
{
    free(work->ends);
    free(work->of);
    free(work->group);
    free(work->is_fresh);
    free(work->has_meeting);
}

/* The ends of a group's nodes, from `at` on; behind the last. */
static size_t ends_fill(struct work *work, size_t number, size_t at)
{
    const struct clockrelax *relax = work->relax;
    const struct clockrelax_group *group = &relax->groups[number];

    for (size_t i = 0; i < group->touching_count; i++) {
        uint32_t which = group->touching[i].which;
        struct clockrelax_link link;
        uint32_t own;

        if (i + AHEAD < group->touching_count) {
            __builtin_prefetch(
                &relax->links[group->touching[i + AHEAD].which >> 1]);
        }
        link = relax->links[which >> 1];
        if (link.x == CLOCKRELAX_ORIGIN) {
            continue;
        }
        own = (which & 1) != 0 ? link.y : link.x;
        work->ends[at] = (struct end){
            .other = (which & 1) != 0 ? link.x : link.y,
            .which = which,
            .w = link.w,
        };
        if (work->group[work->ends[at].other] == CLOCKRELAX_MEETING) {
            work->has_meeting[number] = true;
        }
        if (work->of[own].count++ == 0) {
            work->of[own].first = (uint32_t)at;
        }
        at++;
    }
    return at;
}

static void work_init(struct work *work, struct clockrelax *relax)
{
    size_t count = 0;

    *work = (struct work){.relax = relax};
    for (size_t i = 0; i < relax->groups_count; i++) {
        count += relax->groups[i].touching_count;
    }
    work->ends = xmalloc((count + 1) * sizeof(*work->ends));
    work->of = xcalloc(relax->nodes_count + 1, sizeof(*work->of));
    work->group = xmalloc((relax->nodes_count + 1) * sizeof(*work->group));
    work->is_fresh = xmalloc(relax->nodes_count + 1);
    work->has_meeting =
        xcalloc(relax->groups_count + 1, sizeof(*work->has_meeting));
    for (size_t k = 0; k < relax->nodes_count; k++) {
        work->group[k] = relax->places[k].group;
        work->is_fresh[k] = relax->nodes[k].upper != CK_CLOCK_NONE ||
                            relax->nodes[k].lower != -CK_CLOCK_NONE;
    }
    count = 0;
    for (size_t i = 0; i < relax->groups_count; i++) {
        relax->groups[i].is_settled = false;
        count = ends_fill(work, i, count);
    }
}

/* A node's value changed: its clock has to be looked at again. */
static void node_touch(struct work *work, uint32_t node)
{
    struct clockrelax *relax = work->relax;
    uint32_t group = work->group[node];

    work->is_fresh[node] = 1;
    if (group != CLOCKRELAX_MEETING) {
        relax->groups[group].is_settled = false;
        return;
    }
    for (size_t i = 0; i < relax->groups_count; i++) {
        relax->groups[i].is_settled = false;
    }
}

static void end_relax(struct work *work, uint32_t own, const struct end *end)
{
    struct clockrelax_node *nodes = work->relax->nodes;
    bool is_y = (end->which & 1) != 0;
    uint32_t x_number = is_y ? end->other : own;
    uint32_t y_number = is_y ? own : end->other;
    struct clockrelax_node *x = &nodes[x_number];
    struct clockrelax_node *y = &nodes[y_number];

    if (y->upper != CK_CLOCK_NONE && y->upper + end->w < x->upper) {
        x->upper = y->upper + end->w;
        x->upper_of = end->which >> 1;
        node_touch(work, x_number);
    }
    if (x->lower != -CK_CLOCK_NONE && x->lower - end->w > y->lower) {
        y->lower = x->lower - end->w;
        y->lower_of = end->which >> 1;
        node_touch(work, y_number);
    }
}

/* Carry the values of `from` to its neighbour: true when they changed it. */
static uint8_t chain_relax(struct clockrelax_node *to,
                           const struct clockrelax_node *from,
                           ck_time_t slack,
                           uint32_t side)
{
    uint8_t is_changed = 0;

    if (slack == CK_CLOCK_NONE) {
        return 0;
    }
    if (from->upper != CK_CLOCK_NONE && from->upper + slack < to->upper) {
        to->upper = from->upper + slack;
        to->upper_of = side;
        is_changed = 1;
    }
    if (from->lower != -CK_CLOCK_NONE && from->lower - slack > to->lower) {
        to->lower = from->lower - slack;
        to->lower_of = side;
        is_changed = 1;
    }
    return is_changed;
}

/* What a clock has received goes along its chain, and from what changed there
 * to all that it is linked with, which are then to be looked at. What a meeting
 * has received is fetched by its members. */
static void group_relax(struct work *work, size_t number)
{
    struct clockrelax_group *group = &work->relax->groups[number];
    struct clockrelax_node *nodes = work->relax->nodes;
    uint8_t *is_fresh = work->is_fresh;

    group->is_settled = true;
    for (size_t k = group->first + 1; k < group->end; k++) {
        is_fresh[k] |= chain_relax(&nodes[k], &nodes[k - 1], nodes[k - 1].slack,
                                   CLOCKRELAX_BEFORE);
    }
    for (size_t k = group->end; k-- > group->first + 1;) {
        is_fresh[k - 1] |= chain_relax(&nodes[k - 1], &nodes[k],
                                       nodes[k - 1].slack, CLOCKRELAX_AFTER);
    }
    for (size_t k = group->first; k < group->end; k++) {
        const struct end *end = &work->ends[work->of[k].first];
        const struct end *last = end + work->of[k].count;

        if (is_fresh[k] == 0 && !work->has_meeting[number]) {
            continue;
        }
        is_fresh[k] = 0;
        for (; end < last; end++) {
            end_relax(work, (uint32_t)k, end);
        }
    }
}

/* False when all is settled. */
static bool sweep(struct work *work)
{
    struct clockrelax *relax = work->relax;
    size_t count = relax->groups_count;
    bool is_changed = false;

    for (size_t i = 0; i < count; i++) {
        size_t at = relax->sweeps % 2 == 0 ? i : count - 1 - i;

        if (!relax->groups[at].is_settled) {
            group_relax(work, at);
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
    uint32_t *seen = xcalloc(relax->nodes_count + 1, sizeof(*seen));
    bool is_found = false;

    for (size_t k = 0; !is_found && k < relax->nodes_count; k++) {
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

/* Sweep until nothing changes or there is a conflict. */
static void sweeps_run(struct work *work, struct clockrelax_conflict *conflict)
{
    struct clockrelax *relax = work->relax;

    while (relax->sweeps < SWEEPS_MAX) {
        bool is_changed = sweep(work);

        relax->sweeps++;
        if (crossing_find(relax, conflict) || !is_changed) {
            return;
        }
        if (relax->sweeps % CYCLES_EVERY == 0 &&
            (cycle_find(relax, true, conflict) ||
             cycle_find(relax, false, conflict))) {
            return;
        }
    }
}

void clockrelax_run(struct clockrelax *relax,
                    struct clockrelax_conflict *conflict)
{
    struct work work;

    conflict->excess = 0;
    relax->sweeps = 0;
    work_init(&work, relax);
    sweeps_run(&work, conflict);
    work_fini(&work);
}
