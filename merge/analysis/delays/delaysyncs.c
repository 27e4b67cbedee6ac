/* delaysyncs.c - the instants that a thread has in common with others
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/delaysyncs.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"

void delaysyncs_fini(struct delaysyncs *syncs)
{
    free(syncs->items);
}

/* Room for one at `at`; returns where that is now. */
static size_t sync_place(struct delaysyncs *syncs, size_t at)
{
    if (syncs->count == DELAY_SYNCS_MAX) {
        syncs->is_cut = true;
        at--;
        memmove(syncs->items, syncs->items + 1, at * sizeof(*syncs->items));
    } else {
        memmove(syncs->items + at + 1, syncs->items + at,
                (syncs->count++ - at) * sizeof(*syncs->items));
    }
    return at;
}

void delaysyncs_add(struct delaysyncs *syncs, struct delaysync sync)
{
    size_t at = syncs->count;

    if (syncs->count < DELAY_SYNCS_MAX) {
        array_grow(&syncs->items, &syncs->room, syncs->count,
                   sizeof(*syncs->items));
    }
    while (at > 0 && syncs->items[at - 1].at > sync.at) {
        at--;
    }
    for (size_t i = at; i > 0 && syncs->items[i - 1].at == sync.at; i--) {
        if (syncs->items[i - 1].source == sync.source) {
            return;
        }
    }
    if (at == 0 && syncs->count == DELAY_SYNCS_MAX) {
        syncs->is_cut = true;
        return;
    }
    at = sync_place(syncs, at);
    syncs->items[at] = sync;
}

ck_time_t delaysyncs_find(const struct delaysyncs *a,
                          const struct delaysyncs *b,
                          ck_time_t until)
{
    size_t i = a->count, j = b->count;

    while (i > 0 && j > 0) {
        const struct delaysync *left = &a->items[i - 1];
        const struct delaysync *right = &b->items[j - 1];

        if (left->at > right->at || left->at > until) {
            i--;
        } else if (right->at > left->at) {
            j--;
        } else if (left->source == right->source) {
            return left->at;
        } else if (left->source > right->source) {
            i--;
        } else {
            j--;
        }
    }
    return INT64_MIN;
}
