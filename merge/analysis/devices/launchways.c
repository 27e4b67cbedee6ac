/* launchways.c - the ways that lead to a call, by stacks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/devices/launchways.h"

#include <stdlib.h>

#include "merge/model/array.h"

void launchways_init(struct launchways *ways, enum launchways_by by)
{
    *ways = (struct launchways){
        .hashes = table_create(), .first = INT64_MAX, .by = by};
}

void launchways_fini(struct launchways *ways)
{
    table_destroy(ways->hashes);
    free(ways->items);
}

static uint64_t frames_hash(const struct launchway *way)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;

    for (uint32_t at = way->at; at < way->stack->depth; at++) {
        hash = (hash ^ way->stack->frames[at]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

void launchways_add(struct launchways *ways,
                    const struct launchway *way,
                    ck_time_t first)
{
    size_t number =
        (size_t)table_number_of(ways->hashes, frames_hash(way), 0, 0);

    if (number == ways->count) {
        array_grow(&ways->items, &ways->room, number, sizeof(*ways->items));
        ways->items[ways->count] = *way;
        ways->items[ways->count++].weight = 0;
    }
    ways->items[number].weight += way->weight;
    ways->weight += way->weight;
    ways->first = first < ways->first ? first : ways->first;
}

const struct launchway *launchways_heaviest(const struct launchways *ways)
{
    const struct launchway *best = &ways->items[0];

    for (size_t i = 1; i < ways->count; i++) {
        best = ways->items[i].weight > best->weight ? &ways->items[i] : best;
    }
    return best;
}
