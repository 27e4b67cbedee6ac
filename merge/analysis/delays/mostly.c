/* mostly.c - what a rank did for the largest part of some time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/mostly.h"

#include <stdlib.h>

struct mostly_part
mostly_part(const struct scene *scene, uint32_t did, ck_time_t ns)
{
    uint32_t call = scene_activity_call(scene, did);

    return (struct mostly_part){did, call, scene_activity_cause(scene, call),
                                ns};
}

/* Parts of one call together, and in them those of one kernel. */
static int by_call(const void *left, const void *right)
{
    const struct mostly_part *a = left;
    const struct mostly_part *b = right;

    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->call != b->call) {
        return a->call < b->call ? -1 : 1;
    }
    return (a->did > b->did) - (a->did < b->did);
}

/* The longest sum of parts in a row that are one call, or one kernel. */
static void longest_find(const struct scene *scene,
                         const struct mostly_part *parts,
                         size_t count,
                         enum cause kind,
                         struct mostly *most)
{
    bool is_kernel = most->kind != kind;
    ck_time_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t mine = is_kernel ? parts[i].did : parts[i].call;
        uint32_t last = i == 0      ? CAST_NONE
                        : is_kernel ? parts[i - 1].did
                                    : parts[i - 1].call;

        sum = mine == last && parts[i].kind == parts[i - 1].kind
                  ? sum + parts[i].ns
                  : parts[i].ns;
        if (sum > most->ns && parts[i].kind == kind &&
            (!is_kernel ||
             scene_activity_device(scene, parts[i].did) == most->kind)) {
            most->ns = sum;
            most->did = mine;
        }
    }
}

/* The kind of call that took longest, and in it what devices did. */
static enum cause kind_find(const struct scene *scene,
                            const struct mostly_part *parts,
                            size_t count,
                            struct mostly *most)
{
    ck_time_t kinds[CAUSES] = {0};
    ck_time_t devices[CAUSE_KINDS] = {0};
    enum cause kind = CAUSES;

    for (size_t i = 0; i < count; i++) {
        enum cause its = parts[i].kind;

        kinds[its] += parts[i].ns;
        kind = kind == CAUSES || kinds[its] > kinds[kind] ? its : kind;
    }
    most->kind = kind;
    most->kind_ns = kind == CAUSES ? 0 : kinds[kind];
    for (size_t i = 0; i < count; i++) {
        if (parts[i].kind == kind) {
            devices[scene_activity_device(scene, parts[i].did)] += parts[i].ns;
        }
    }
    for (enum cause device = 0; device < CAUSE_KINDS; device++) {
        if (device != CAUSES && devices[device] * 2 > kinds[kind]) {
            most->kind = device;
            most->kind_ns = devices[device];
            break;
        }
    }
    return kind;
}

struct mostly
mostly_find(const struct scene *scene, struct mostly_part *parts, size_t count)
{
    struct mostly most = {CAUSES, 0, 0, CAST_NONE, CAUSES};
    enum cause kind;

    if (count == 0) {
        return most;
    }
    kind = most.part_kind = kind_find(scene, parts, count, &most);
    qsort(parts, count, sizeof(*parts), by_call);
    longest_find(scene, parts, count, kind, &most);
    return most;
}
