/* lane.c - one row of a timeline: items that do not overlap, exact or folded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/lanes/lane.h"

#include <stdbool.h>
#include <stdlib.h>

#include "merge/model/memory.h"
#include "merge/output/lanes/lanebytes.h"

void lane_fini(struct lane *lane)
{
    lanebytes_free(lane->before.first);
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

/* The last item will not change any more. */
static void last_keep(struct lane *lane)
{
    if (lane->before.open == NULL || !lanebytes_has_room(lane->before.open)) {
        struct lane_bytes *more = lanebytes_create(lane->before.open);

        if (lane->before.first == NULL) {
            lane->before.first = more;
        }
        lane->before.open = more;
    }
    lanebytes_put(lane->before.open, &lane->last, lane->before.end,
                  lane->before.name);
    lane->before.end = lane->last.end;
    lane->before.name = lane->last.name;
}

struct lane_item *lane_append(struct lane *lane, ck_time_t end)
{
    if (lane->count > 0) {
        last_keep(lane);
    }
    lane->count++;
    lane->end = end;
    return &lane->last;
}

void lane_add(struct lane *lane, const struct lane_item *item, ck_time_t w)
{
    if (w > 0 && lane->count > 0 && is_joined(&lane->last, item, w)) {
        join(&lane->last, item);
        lane->end = lane->last.end;
    } else {
        *lane_append(lane, item->end) = *item;
    }
}

void lane_fold(struct lane *lane, ck_time_t w)
{
    struct lane old = *lane;
    struct lane_item item = {.end = 0};

    *lane = (struct lane){0};
    while (old.before.first != NULL) {
        const unsigned char *at = NULL;

        while (lanebytes_next(old.before.first, &at, &item)) {
            lane_add(lane, &item, w);
        }
        old.before.first = lanebytes_drop(old.before.first);
    }
    if (old.count > 0) {
        lane_add(lane, &old.last, w);
    }
}

void lane_items_reserve(struct lane_items *items, size_t count)
{
    items->count = 0;
    if (count > items->room) {
        free(items->all);
        items->all = xmalloc(count * sizeof(*items->all));
        items->room = count;
    }
}

void lane_read(const struct lane *lane, struct lane_items *items)
{
    struct lane_item item = {.end = 0};

    lane_items_reserve(items, lane->count);
    for (const struct lane_bytes *bytes = lane->before.first; bytes != NULL;
         bytes = lanebytes_behind(bytes)) {
        const unsigned char *at = NULL;

        while (lanebytes_next(bytes, &at, &item)) {
            items->all[items->count++] = item;
        }
    }
    if (lane->count > 0) {
        items->all[items->count++] = lane->last;
    }
}

void lane_items_fold(struct lane_items *items, ck_time_t w)
{
    size_t kept = 0;

    for (size_t i = 0; i < items->count; i++) {
        if (kept > 0 && is_joined(&items->all[kept - 1], &items->all[i], w)) {
            join(&items->all[kept - 1], &items->all[i]);
        } else {
            items->all[kept++] = items->all[i];
        }
    }
    items->count = kept;
}
