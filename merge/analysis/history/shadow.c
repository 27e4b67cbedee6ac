/* shadow.c - times that say nothing: records lost, a tracer at work, a host
 * that stood still
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/shadow.h"

#include <stdlib.h>

#include "merge/model/array.h"

struct shadow {
    struct shadow_part *parts;
    size_t count, room;
    uint32_t *aimed; /* parts that concern the thread in question */
    size_t aimed_count, aimed_room;
};

struct shadow *shadow_create(void)
{
    return calloc(1, sizeof(struct shadow));
}

void shadow_destroy(struct shadow *shadow)
{
    if (shadow == NULL) {
        return;
    }
    free(shadow->parts);
    free(shadow->aimed);
    free(shadow);
}

static void parts_trim(struct shadow *shadow, ck_time_t horizon)
{
    size_t kept = 0;
    size_t from = 0;

    for (size_t i = 0; i < shadow->count; i++) {
        if (shadow->parts[i].part.end > horizon) {
            shadow->parts[kept++] = shadow->parts[i];
        }
    }
    if (kept >= SHADOW_PARTS_MAX) {
        from = kept / 2;
    }
    for (size_t i = from; i < kept; i++) {
        shadow->parts[i - from] = shadow->parts[i];
    }
    shadow->count = kept - from;
}

/* Does the newest part that is about the same go on in this one? It is made
 * longer then: a tracer may say every tenth of a second that it lost some. */
static bool part_extend(struct shadow *shadow, const struct shadow_part *part)
{
    struct shadow_part *last;

    if (shadow->count == 0) {
        return false;
    }
    last = &shadow->parts[shadow->count - 1];
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

int shadow_add(struct shadow *shadow,
               const struct shadow_part *part,
               ck_time_t horizon)
{
    if (part->part.start >= part->part.end || part_extend(shadow, part)) {
        return 0;
    }
    if (shadow->count == shadow->room) {
        parts_trim(shadow, horizon);
    }
    if (array_grow(&shadow->parts, &shadow->room, shadow->count,
                   sizeof(*shadow->parts)) != 0) {
        return -1;
    }
    while (shadow->aimed_room < shadow->room) {
        if (array_grow(&shadow->aimed, &shadow->aimed_room, shadow->aimed_room,
                       sizeof(*shadow->aimed)) != 0) {
            return -1;
        }
    }
    shadow->parts[shadow->count++] = *part;
    return 0;
}

void shadow_aim(struct shadow *shadow,
                uint32_t agent,
                uint32_t process,
                uint32_t tid,
                struct region within)
{
    shadow->aimed_count = 0;
    for (size_t i = 0; i < shadow->count; i++) {
        const struct shadow_part *part = &shadow->parts[i];

        if (part->part.end > within.start && part->part.start < within.end &&
            (part->agent == agent || part->process == process) &&
            (part->tid == 0 || part->tid == tid)) {
            shadow->aimed[shadow->aimed_count++] = (uint32_t)i;
        }
    }
}

enum cause
shadow_at(const struct shadow *shadow, ck_time_t time, ck_time_t *until)
{
    enum cause best = CAUSES;

    for (size_t i = 0; i < shadow->aimed_count; i++) {
        const struct shadow_part *part = &shadow->parts[shadow->aimed[i]];

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
