/* lastsamples.c - where ranks computed behind the last call that they left
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The samples of a rank are kept by stack, and begin anew with each call.
 */
#include "merge/analysis/samples/lastsamples.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

/* Stacks of a rank behind one call; samples of others are left out. */
#define STACKS_MAX 1024

struct behind {
    ck_time_t end; /* of the call; INT64_MIN = there was none */
    struct evidence_item *items;
    size_t count, room;
};

struct lastsamples {
    const struct defs *defs; /* borrowed */
    struct behind *ranks;    /* by rank of the definitions */
};

struct lastsamples *lastsamples_create(const struct defs *defs)
{
    struct lastsamples *last = xcalloc(1, sizeof(*last));

    last->defs = defs;
    last->ranks = xcalloc(defs->ranks_count + 1, sizeof(*last->ranks));
    for (size_t i = 0; i < defs->ranks_count; i++) {
        last->ranks[i].end = INT64_MIN;
    }
    return last;
}

void lastsamples_destroy(struct lastsamples *last)
{
    if (last == NULL) {
        return;
    }
    for (size_t i = 0; i < last->defs->ranks_count; i++) {
        free(last->ranks[i].items);
    }
    free(last->ranks);
    free(last);
}

/* Samples of one stack add up. */
static void behind_add(struct behind *behind, const struct evidence_item *item)
{
    for (size_t i = behind->count; i-- > 0;) {
        struct evidence_item *kept = &behind->items[i];

        if (kept->a == item->a && kept->b == item->b) {
            kept->weight += item->weight;
            return;
        }
    }
    if (behind->count < STACKS_MAX) {
        array_grow(&behind->items, &behind->room, behind->count,
                   sizeof(*behind->items));
        behind->items[behind->count++] = *item;
    }
}

void lastsamples_take(struct lastsamples *last,
                      const struct history_state *did,
                      const struct evidence_item *item)
{
    int32_t rank = last->defs->processes[item->a].rank;
    uint32_t index = defs_rank_index(last->defs, rank);
    const struct history_span *call = did->before;
    struct behind *behind;

    if (index == DEFS_NONE || call == NULL) {
        return;
    }
    behind = &last->ranks[index];
    /* Calls of libc may be what it did behind the last one. */
    if (call->kind != CK_KIND_POSIX && call->end > behind->end) {
        behind->end = call->end;
        behind->count = 0;
    }
    behind_add(behind, item);
}

static struct report_sampled sampled_of(const struct defs *defs,
                                        const struct behind *behind)
{
    struct evidence *evidence = evidence_create(defs);
    struct report_sampled sampled;

    for (size_t i = 0; i < behind->count; i++) {
        evidence_add(evidence, &behind->items[i]);
    }
    sampled = evidence_sampled(evidence, 0);
    evidence_destroy(evidence);
    return sampled;
}

void lastsamples_report(const struct lastsamples *last, struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        struct report_rank *row = &report->ranks[i];
        uint32_t index = defs_rank_index(last->defs, row->number);

        if (index != DEFS_NONE && row->last != NULL && !row->is_open_api &&
            last->ranks[index].end == row->last_end) {
            row->after = sampled_of(last->defs, &last->ranks[index]);
        }
    }
}
