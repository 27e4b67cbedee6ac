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

struct kway;
/* `keys` (copied) are the first ones. NULL with ENOMEM. */
struct kway *kway_create(const int64_t *keys, size_t count);
void kway_destroy(struct kway *kway);
/* The input with the least key; its key in *key (KWAY_END: all ended). */
size_t kway_top(const struct kway *kway, int64_t *key);
/* Give the top input its next key. */
void kway_replace(struct kway *kway, int64_t key);

#endif
