/* continuity.c - what is missing from the streams of a run, by positions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/continuity.h"

#include <stdlib.h>
#include <string.h>

#include "schema/run.h"

/* By agent and slot, then in the order of their positions. */
static int by_slot(const void *a, const void *b)
{
    const struct store_stream *left = *(const struct store_stream *const *)a;
    const struct store_stream *right = *(const struct store_stream *const *)b;

    if (left->agent != right->agent) {
        return left->agent < right->agent ? -1 : 1;
    }
    if (left->slot != right->slot) {
        return left->slot < right->slot ? -1 : 1;
    }
    return (left->begin > right->begin) - (left->begin < right->begin);
}

static void gap_count(struct cast_agent *agent, uint64_t gaps, uint64_t units)
{
    agent->gaps += gaps;
    agent->gap_units += units;
}

/* Units behind the last stored ones of its slots; `ends` = of all slots. What
 * the agent itself says it left out at the end is no news. */
static void tail_check(struct cast_agent *agent, uint64_t ends)
{
    const char *lines = agent->has_exit ? agent->exit : "";
    char value[32];
    uint64_t units;

    if (agent->lost[CK_LOST_SPOOL] + agent->lost[CK_LOST_LIMIT] > 0 ||
        !ck_lines_get(lines, strlen(lines), "units", value, sizeof(value))) {
        return;
    }
    units = strtoull(value, NULL, 10);
    if (units > ends) {
        gap_count(agent, 1, units - ends);
    }
}

/* Records that were in the gaps, as far as their size tells: as large as those
 * that are there. A collector without room to store counts what it drops, and
 * leaves a gap as well. */
static void records_guess(struct cast_agent *agent)
{
    uint64_t said = agent->lost[CK_LOST_SPOOL];
    uint64_t records = agent->gap_units;

    if (agent->units > 0) {
        records = (uint64_t)((double)agent->gap_units * (double)agent->records /
                             (double)agent->units);
    }
    if (records < agent->gaps) {
        records = agent->gaps;
    }
    agent->gap_records = records > said ? records - said : 0;
}

/* The streams of one slot from `at` on; returns where the next slot begins. */
static size_t slot_check(const struct store_stream *const *sorted,
                         size_t count,
                         size_t at,
                         struct cast_agent *agent,
                         uint64_t *end)
{
    const struct store_stream *first = sorted[at];

    *end = 0;
    for (; at < count && sorted[at]->agent == first->agent &&
           sorted[at]->slot == first->slot;
         at++) {
        if (sorted[at]->begin > *end) {
            gap_count(agent, 1, sorted[at]->begin - *end);
        }
        gap_count(agent, sorted[at]->gaps, sorted[at]->gap_units);
        if (sorted[at]->end > *end) {
            *end = sorted[at]->end;
        }
    }
    return at;
}

int continuity_check(const struct store_stream *streams,
                     size_t count,
                     struct cast *cast)
{
    const struct store_stream **sorted = calloc(count + 1, sizeof(*sorted));
    uint64_t *ends = calloc(cast->agents_count + 1, sizeof(*ends));
    size_t at = 0;

    if (sorted == NULL || ends == NULL) {
        free(sorted);
        free(ends);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &streams[i];
    }
    qsort(sorted, count, sizeof(*sorted), by_slot);
    while (at < count) {
        uint32_t agent = sorted[at]->agent;
        uint32_t slot = sorted[at]->slot;
        uint64_t end;

        at = slot_check(sorted, count, at, &cast->agents[agent], &end);
        ends[agent] += slot == CK_SLOT_COLLECTOR ? 0 : end;
    }
    for (size_t i = 0; i < cast->agents_count; i++) {
        tail_check(&cast->agents[i], ends[i]);
        records_guess(&cast->agents[i]);
    }
    free(sorted);
    free(ends);
    return 0;
}
