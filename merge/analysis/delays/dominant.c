/* dominant.c - what a rank did for the largest part of some time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/dominant.h"

#include <stdlib.h>

#include "schema/order.h"

struct dominant_part
dominant_part(const struct lookback *lookback, uint32_t did, ck_time_t ns)
{
    uint32_t call = lookback_activity_call(lookback, did);

    return (struct dominant_part){did, call,
                                  lookback_activity_cause(lookback, call), ns};
}

/* Parts of one call together, and in them those of one kernel. */
CK_ORDER(by_call,
         struct dominant_part,
         CK_UP(kind) ?: CK_UP(call) ?: CK_UP(did))

/* The longest sum of parts in a row that are one call, or one kernel. */
static void longest_find(const struct lookback *lookback,
                         const struct dominant_part *parts,
                         size_t count,
                         enum cause kind,
                         struct dominant *most)
{
    bool is_kernel = most->kind != kind;
    ck_time_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t mine = is_kernel ? parts[i].did : parts[i].call;
        uint32_t last;

        if (i == 0) {
            last = DEFS_NONE;
        } else if (is_kernel) {
            last = parts[i - 1].did;
        } else {
            last = parts[i - 1].call;
        }

        sum = mine == last && parts[i].kind == parts[i - 1].kind
                  ? sum + parts[i].ns
                  : parts[i].ns;
        if (sum > most->ns && parts[i].kind == kind &&
            (!is_kernel ||
             lookback_activity_device(lookback, parts[i].did) == most->kind)) {
            most->ns = sum;
            most->did = mine;
        }
    }
}

/* The kind of call that took longest, and in it what devices did. */
static enum cause kind_find(const struct lookback *lookback,
                            const struct dominant_part *parts,
                            size_t count,
                            struct dominant *most)
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
            devices[lookback_activity_device(lookback, parts[i].did)] +=
                parts[i].ns;
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

struct dominant dominant_find(const struct lookback *lookback,
                              struct dominant_part *parts,
                              size_t count)
{
    struct dominant most = {CAUSES, 0, 0, DEFS_NONE, CAUSES};
    enum cause kind;

    if (count == 0) {
        return most;
    }
    kind = most.part_kind = kind_find(lookback, parts, count, &most);
    qsort(parts, count, sizeof(*parts), by_call);
    longest_find(lookback, parts, count, kind, &most);
    return most;
}
