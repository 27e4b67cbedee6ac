/* kway.c - the least of k keys, by a tree of losers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A binary tree over `leaves` inputs (a power of two, the missing ones are at
 * their end). Node 1 is the root; each inner node keeps the loser of the match
 * played there, node 0 the winner of all.
 */
#include "merge/timeline/kway.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"

void kway_destroy(struct kway *kway)
{
    if (kway == NULL) {
        return;
    }
    free(kway->nodes);
    free(kway);
}

/* Play all matches below a node; returns the winner. */
static struct kway_node
kway_play(struct kway *kway, const int64_t *keys, size_t count, size_t node)
{
    struct kway_node left, right;

    if (node >= kway->leaves) {
        size_t input = node - kway->leaves;

        return (struct kway_node){input < count ? keys[input] : KWAY_END,
                                  input};
    }
    left = kway_play(kway, keys, count, node * 2);
    right = kway_play(kway, keys, count, node * 2 + 1);
    if (kway_is_less(left, right)) {
        kway->nodes[node] = right;
        return left;
    }
    kway->nodes[node] = left;
    return right;
}

struct kway *kway_create(const int64_t *keys, size_t count)
{
    struct kway *kway = xcalloc(1, sizeof(*kway));

    kway->leaves = 1;
    while (kway->leaves < count) {
        kway->leaves *= 2;
    }
    kway->nodes = xcalloc(kway->leaves, sizeof(*kway->nodes));
    kway->nodes[0] = kway_play(kway, keys, count, 1);
    return kway;
}
