/* kway.h - the least of k keys, by a tree of losers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each input shows one key, its next time. Equal keys: the input with the
 * lower number first. One replacement costs log2(k) comparisons.
 */
#ifndef CK_MERGE_KWAY_H
#define CK_MERGE_KWAY_H

#include <stddef.h>
#include <stdint.h>

/* Key of an input that is at its end. */
#define KWAY_END INT64_MAX

/* In full here, because it is asked for each record. */
struct kway {
    int64_t *keys;   /* by input */
    uint32_t *nodes; /* inner nodes: the loser's input; [0] = winner */
    size_t leaves;
};

/* `keys` (copied) are the first ones. NULL with ENOMEM. */
struct kway *kway_create(const int64_t *keys, size_t count);
void kway_destroy(struct kway *kway);

static inline int kway_is_less(const struct kway *kway, uint32_t a, uint32_t b)
{
    return kway->keys[a] < kway->keys[b] ||
           (kway->keys[a] == kway->keys[b] && a < b);
}

/* The input with the least key; its key in *key (KWAY_END: all ended). */
static inline size_t kway_top(const struct kway *kway, int64_t *key)
{
    *key = kway->keys[kway->nodes[0]];
    return kway->nodes[0];
}

/* Give the top input its next key. */
static inline void kway_replace(struct kway *kway, int64_t key)
{
    uint32_t winner = kway->nodes[0];

    kway->keys[winner] = key;
    for (size_t node = (winner + kway->leaves) / 2; node > 0; node /= 2) {
        if (kway_is_less(kway, kway->nodes[node], winner)) {
            uint32_t loser = winner;

            winner = kway->nodes[node];
            kway->nodes[node] = loser;
        }
    }
    kway->nodes[0] = winner;
}

#endif
