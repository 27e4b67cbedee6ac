/* clockrelax.h - shortest paths through difference constraints
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside of clocksolve. A node is a clock at an instant; its value, what its
 * offset differs from the trend by, is between lower and upper. A link means
 * value[x] <= value[y] + w; the nodes of one clock form a chain, in which
 * neighbours differ by no more than the slack between them. upper and -lower
 * are the lengths of the shortest paths from and to the origin; the middle of
 * both keeps every link:
 *
 *   upper[x] <= upper[y] + w,  lower[y] >= lower[x] - w
 *     =>  (upper + lower)[x] / 2 <= (upper + lower)[y] / 2 + w.
 */
#ifndef CK_MERGE_CLOCKS_SOLVE_CLOCKRELAX_H
#define CK_MERGE_CLOCKS_SOLVE_CLOCKRELAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/clocks/solve/clockgraph.h"
#include "schema/time.h"

#define CLOCKRELAX_PATH 64

/* What is looked at again and again. */
struct clockrelax_node {
    ck_time_t upper;   /* CK_CLOCK_NONE */
    ck_time_t lower;   /* -CK_CLOCK_NONE */
    ck_time_t slack;   /* to the next node; CK_CLOCK_NONE: not tied */
    uint32_t upper_of; /* where it comes from: a link, or below */
    uint32_t lower_of;
};

_Static_assert(sizeof(struct clockrelax_node) == 32, "two to a cache line");

/* Whose node it is. */
struct clockrelax_place {
    ck_time_t at; /* local clock */
    ck_time_t trend;
    int64_t rate_ppb; /* behind slack */
    uint32_t domain;
    uint32_t group; /* CLOCKRELAX_MEETING: belongs to none */
};

#define CLOCKRELAX_ORIGIN UINT32_MAX
#define CLOCKRELAX_BEFORE (UINT32_MAX - 1) /* the node before */
#define CLOCKRELAX_AFTER (UINT32_MAX - 2)
#define CLOCKRELAX_LINKS_MAX (UINT32_MAX - 3)

struct clockrelax_link {
    uint32_t x;
    uint32_t y;
    ck_time_t w;
};

/* One clock: its nodes, and the links that touch them. */
struct clockrelax_group {
    size_t first; /* node */
    size_t end;
    const struct clock_end *touching; /* edges as links, in order of nodes */
    size_t touching_count;
    bool is_settled; /* nothing changed at its nodes since it was looked at */
};

#define CLOCKRELAX_MEETING UINT32_MAX

struct clockrelax {
    struct clockrelax_node *nodes;
    struct clockrelax_place *places; /* of the nodes */
    size_t nodes_count;
    struct clockrelax_link *links; /* x = CLOCKRELAX_ORIGIN: none */
    size_t links_count;
    struct clockrelax_group *groups; /* near the root first */
    size_t groups_count;
    unsigned sweeps; /* that the last run took */
};

/* Nodes of a chain, from the first to the last. */
struct clockrelax_span {
    uint32_t first;
    uint32_t last;
};

/* Links that contradict each other, and the chains between them. */
struct clockrelax_conflict {
    ck_time_t excess; /* by how much; 0 = no conflict */
    uint32_t links[CLOCKRELAX_PATH];
    size_t links_count;
    struct clockrelax_span spans[CLOCKRELAX_PATH];
    size_t spans_count;
};

/* Relax until nothing changes, from the values that the nodes have, or there is
 * a conflict (its excess is not 0). */
void clockrelax_run(struct clockrelax *relax,
                    struct clockrelax_conflict *conflict);

#endif
