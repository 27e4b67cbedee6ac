/* lane.c - one row of a timeline: items that do not overlap, exact or folded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/lanes/lane.h"

#include <stdbool.h>
#include <stdlib.h>

#include "merge/model/array.h"

void lane_fini(struct lane *lane)
{
    free(lane->items);
    *lane = (struct lane){0};
}

/* An item that is shown as it is. */
static bool is_kept(const struct lane_item *item, ck_time_t w)
{
    return item->count == 1 && item->end - item->start >= w / 2;
}

static bool is_joined(const struct lane_item *run,
                      const struct lane_item *item,
                      ck_time_t w)
{
    return !is_kept(run, w) && !is_kept(item, w) &&
           item->start - run->end < w && run->end - run->start < w;
}

static void join(struct lane_item *run, const struct lane_item *item)
{
    run->end = item->end > run->end ? item->end : run->end;
    run->busy += item->busy;
    run->count = run->count > UINT32_MAX - item->count
                     ? UINT32_MAX
                     : run->count + item->count;
    if (item->longest > run->longest) {
        run->longest = item->longest;
        run->name = item->name;
    }
    if (item->class == run->class) {
        run->class_busy += item->class_busy;
    } else if (item->class_busy > run->class_busy) {
        run->class = item->class;
        run->class_busy = item->class_busy;
    }
}

struct lane_item *lane_append(struct lane *lane, ck_time_t end)
{
    array_grow(&lane->items, &lane->room, lane->count, sizeof(*lane->items));
    lane->end = end;
    return &lane->items[lane->count++];
}

void lane_add(struct lane *lane, const struct lane_item *item, ck_time_t w)
{
    struct lane_item *run =
        lane->count == 0 ? NULL : &lane->items[lane->count - 1];

    if (w > 0 && run != NULL && is_joined(run, item, w)) {
        join(run, item);
        lane->end = run->end;
    } else {
        *lane_append(lane, item->end) = *item;
    }
}

void lane_fold(struct lane *lane, ck_time_t w)
{
    size_t kept = 0;

    for (size_t i = 0; i < lane->count; i++) {
        if (kept > 0 && is_joined(&lane->items[kept - 1], &lane->items[i], w)) {
            join(&lane->items[kept - 1], &lane->items[i]);
        } else {
            lane->items[kept++] = lane->items[i];
        }
    }
    lane->count = kept;
}
