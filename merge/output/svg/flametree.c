/* flametree.c - the frames of a flame graph, before they are drawn
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/svg/flametree.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/fnv.h"
#include "schema/order.h"

/* Frames further out of such a path are left out. */
#define DEEPEST 128
/* Bytes of a name. */
#define NAME 400

static void node_add(struct flametree *tree, const char *name)
{
    uint32_t depth = tree->count == 0 ? 0 : tree->nodes[tree->at].depth + 1;
    struct flamenode node = {.above = tree->at, .depth = depth};

    array_grow(&tree->nodes, &tree->room, tree->count, sizeof(node));
    node.name = xstrndup(name, NAME);
    tree->nodes[tree->count++] = node;
    tree->deepest = depth > tree->deepest ? depth : tree->deepest;
}

void flametree_init(struct flametree *tree)
{
    *tree = (struct flametree){.children = table_create()};
    node_add(tree, "all");
}

void flametree_fini(struct flametree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        free(tree->nodes[i].name);
    }
    free(tree->nodes);
    table_destroy(tree->children);
}

void flametree_path(struct flametree *tree, int64_t amount)
{
    tree->at = 0;
    tree->amount = amount;
    tree->nodes[0].amount += amount;
}

void flametree_frame(void *state, const char *name)
{
    struct flametree *tree = state;
    int64_t number;

    if (tree->nodes[tree->at].depth + 1 >= DEEPEST) {
        return;
    }
    number =
        table_number_of(tree->children, tree->at,
                        ck_fnv(CK_FNV_START, name, strlen(name)), strlen(name));
    if ((size_t)number + 1 == tree->count) {
        node_add(tree, name);
    }
    tree->at = (uint32_t)number + 1;
    tree->nodes[tree->at].amount += tree->amount;
}

void flametree_change(struct flametree *tree, int64_t change)
{
    tree->nodes[tree->at].change += change;
}

/* In the order of their names, siblings side by side. */
static int by_name(const void *a, const void *b, void *nodes)
{
    const struct flamenode *left =
        (struct flamenode *)nodes + *(const uint32_t *)a;
    const struct flamenode *right =
        (struct flamenode *)nodes + *(const uint32_t *)b;

    if (left->depth != right->depth) {
        return left->depth < right->depth ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

/* As they are drawn: equal runs make equal pictures. */
CK_ORDER(by_place, struct flamenode, CK_UP(depth) ?: CK_UP(from))

void flametree_place(struct flametree *tree)
{
    uint32_t *order = xcalloc(tree->count, sizeof(*order));
    int64_t whole = tree->nodes[0].amount;

    for (size_t i = 0; i < tree->count; i++) {
        order[i] = (uint32_t)i;
    }
    qsort_r(order, tree->count, sizeof(*order), by_name, tree->nodes);
    for (size_t i = 1; i < tree->count; i++) {
        struct flamenode *node = &tree->nodes[order[i]];
        struct flamenode *above = &tree->nodes[node->above];

        node->from = above->from + (double)above->used / (double)whole;
        above->used += node->amount;
    }
    free(order);
    qsort(tree->nodes, tree->count, sizeof(*tree->nodes), by_place);
}

int64_t flametree_most(const struct flametree *tree)
{
    int64_t most = 0;

    for (size_t i = 0; i < tree->count; i++) {
        int64_t change = tree->nodes[i].change;

        change = change < 0 ? -change : change;
        most = change > most ? change : most;
    }
    return most;
}
