/* masked.c - times that are no evidence: records lost, a tracer at work, a host
 * that did not run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/masked.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

struct masked {
    struct masked_part *parts;
    size_t count, room;
    uint32_t *aimed; /* parts that concern the thread in question */
    size_t aimed_count, aimed_room;
};

struct masked *masked_create(void)
{
    return xcalloc(1, sizeof(struct masked));
}

void masked_destroy(struct masked *masked)
{
    if (masked == NULL) {
        return;
    }
    free(masked->parts);
    free(masked->aimed);
    free(masked);
}

static void parts_trim(struct masked *masked, ck_time_t horizon)
{
    size_t kept = 0;
    size_t from = 0;

    for (size_t i = 0; i < masked->count; i++) {
        if (masked->parts[i].part.end > horizon) {
            masked->parts[kept++] = masked->parts[i];
        }
    }
    if (kept >= MASKED_PARTS_MAX) {
        from = kept / 2;
    }
    for (size_t i = from; i < kept; i++) {
        masked->parts[i - from] = masked->parts[i];
    }
    masked->count = kept - from;
}

/* Does the newest part that is about the same go on in this one? It is made
 * longer then: a tracer may report every tenth of a second that it lost some.
 */
static bool part_extend(struct masked *masked, const struct masked_part *part)
{
    struct masked_part *last;

    if (masked->count == 0) {
        return false;
    }
    last = &masked->parts[masked->count - 1];
    if (last->cause != part->cause || last->agent != part->agent ||
        last->process != part->process || last->tid != part->tid ||
        part->part.start > last->part.end ||
        part->part.end < last->part.start) {
        return false;
    }
    if (part->part.start < last->part.start) {
        last->part.start = part->part.start;
    }
    if (part->part.end > last->part.end) {
        last->part.end = part->part.end;
    }
    return true;
}

void masked_add(struct masked *masked,
                const struct masked_part *part,
                ck_time_t horizon)
{
    if (part->part.start >= part->part.end || part_extend(masked, part)) {
        return;
    }
    if (masked->count == masked->room) {
        parts_trim(masked, horizon);
    }
    array_grow(&masked->parts, &masked->room, masked->count,
               sizeof(*masked->parts));
    while (masked->aimed_room < masked->room) {
        array_grow(&masked->aimed, &masked->aimed_room, masked->aimed_room,
                   sizeof(*masked->aimed));
    }
    masked->parts[masked->count++] = *part;
}

void masked_aim(struct masked *masked,
                uint32_t agent,
                uint32_t process,
                uint32_t tid,
                struct region within)
{
    masked->aimed_count = 0;
    for (size_t i = 0; i < masked->count; i++) {
        const struct masked_part *part = &masked->parts[i];

        if (part->part.end > within.start && part->part.start < within.end &&
            (part->agent == agent || part->process == process) &&
            (part->tid == 0 || part->tid == tid)) {
            masked->aimed[masked->aimed_count++] = (uint32_t)i;
        }
    }
}

enum cause
masked_at(const struct masked *masked, ck_time_t time, ck_time_t *until)
{
    enum cause best = CAUSES;

    for (size_t i = 0; i < masked->aimed_count; i++) {
        const struct masked_part *part = &masked->parts[masked->aimed[i]];

        if (part->part.start > time) {
            if (part->part.start < *until) {
                *until = part->part.start;
            }
        } else if (part->part.end > time) {
            if (part->part.end < *until) {
                *until = part->part.end;
            }
            best = part->cause < best ? part->cause : best;
        }
    }
    return best;
}
