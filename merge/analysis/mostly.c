/* mostly.c - what a rank did for the largest part of some time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/mostly.h"

#include <stdlib.h>

struct mostly_part
mostly_part(const struct scene *scene, uint32_t did, ck_time_t ns)
{
    return (struct mostly_part){did, scene_activity_call(scene, did), ns};
}

/* Parts of one call together, and in them those of one kernel. */
static int by_call(const void *left, const void *right)
{
    const struct mostly_part *a = left;
    const struct mostly_part *b = right;

    if (a->call != b->call) {
        return a->call < b->call ? -1 : 1;
    }
    return (a->did > b->did) - (a->did < b->did);
}

static bool has_kernel(const struct mostly_part *part)
{
    return part->did != part->call;
}

/* The longest sum of parts in a row that are one call, or one kernel. */
static void longest_find(const struct scene *scene,
                         const struct mostly_part *parts,
                         size_t count,
                         enum cause kind,
                         struct mostly *most)
{
    bool is_kernel = most->kind == CAUSE_KERNEL;
    ck_time_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t mine = is_kernel ? parts[i].did : parts[i].call;
        uint32_t last = i == 0      ? CAST_NONE
                        : is_kernel ? parts[i - 1].did
                                    : parts[i - 1].call;

        sum = mine == last ? sum + parts[i].ns : parts[i].ns;
        if (sum > most->ns && (!is_kernel || has_kernel(&parts[i])) &&
            scene_activity_cause(scene, parts[i].call) == kind) {
            most->ns = sum;
            most->did = mine;
        }
    }
}

struct mostly
mostly_find(const struct scene *scene, struct mostly_part *parts, size_t count)
{
    struct mostly most = {CAUSES, 0, 0, CAST_NONE};
    ck_time_t kinds[CAUSES] = {0}, kernels[CAUSES] = {0};
    enum cause kind = CAUSES;

    for (size_t i = 0; i < count; i++) {
        enum cause its = scene_activity_cause(scene, parts[i].call);

        kinds[its] += parts[i].ns;
        kernels[its] += has_kernel(&parts[i]) ? parts[i].ns : 0;
        kind = kind == CAUSES || kinds[its] > kinds[kind] ? its : kind;
    }
    if (kind == CAUSES) {
        return most;
    }
    most.kind = kernels[kind] > kinds[kind] / 2 ? CAUSE_KERNEL : kind;
    most.kind_ns = most.kind == kind ? kinds[kind] : kernels[kind];
    qsort(parts, count, sizeof(*parts), by_call);
    longest_find(scene, parts, count, kind, &most);
    return most;
}
