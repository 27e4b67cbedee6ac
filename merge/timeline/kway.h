/* kway.h - the least of k keys, by a tree of losers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each input shows one key, its next time. Equal keys: the input with the
 * lower number first. One replacement costs log2(k) comparisons.
 */
#ifndef CK_MERGE_TIMELINE_KWAY_H
#define CK_MERGE_TIMELINE_KWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Key of an input that is at its end. */
#define KWAY_END INT64_MAX

struct kway_node {
    int64_t key;
    uint64_t input;
};

/* In full here, because it is asked for each record. */
struct kway {
    struct kway_node *nodes; /* inner nodes: the loser; [0] = winner */
    size_t leaves;
};

/* `keys` (copied) are the first ones. */
struct kway *kway_create(const int64_t *keys, size_t count);
void kway_destroy(struct kway *kway);

static inline bool kway_is_less(struct kway_node a, struct kway_node b)
{
    return a.key < b.key || (a.key == b.key && a.input < b.input);
}

/* The input with the least key; its key in *key (KWAY_END: all ended). */
static inline size_t kway_top(const struct kway *kway, int64_t *key)
{
    *key = kway->nodes[0].key;
    return kway->nodes[0].input;
}

/* Give the top input its next key. */
static inline void kway_replace(struct kway *kway, int64_t key)
{
    struct kway_node winner = {key, kway->nodes[0].input};

    for (size_t node = (winner.input + kway->leaves) / 2; node > 0; node /= 2) {
        struct kway_node loser = kway->nodes[node];

        if (kway_is_less(loser, winner)) {
            kway->nodes[node] = winner;
            winner = loser;
        }
    }
    kway->nodes[0] = winner;
}

#endif
