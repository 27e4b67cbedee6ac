/* ranges.c - the program's ranges, by name
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/totals/ranges.h"

#include <stdlib.h>

#include "merge/analysis/totals/rangeoccupancy.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/quantile.h"
#include "merge/model/table.h"
#include "schema/order.h"

struct range {
    struct report_range row;
    struct quantile lengths;
    struct interval_union open; /* on any rank */
    int32_t last;               /* rank counted last */
};

struct ranges {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct table *keys; /* name */
    struct range *items;
    size_t count, room;
    struct table *ranks; /* range, rank: for how many ranks have it */
    struct rangeoccupancy *within;
};

struct ranges *ranges_create(const struct defs *defs, struct region region)
{
    struct ranges *ranges = xcalloc(1, sizeof(*ranges));

    ranges->defs = defs;
    ranges->region = region;
    ranges->keys = table_create();
    ranges->ranks = table_create();
    ranges->within = rangeoccupancy_create(defs, region);
    return ranges;
}

void ranges_destroy(struct ranges *ranges)
{
    if (ranges == NULL) {
        return;
    }
    for (size_t i = 0; i < ranges->count; i++) {
        quantile_fini(&ranges->items[i].lengths);
    }
    free(ranges->items);
    table_destroy(ranges->keys);
    table_destroy(ranges->ranks);
    rangeoccupancy_destroy(ranges->within);
    free(ranges);
}

static struct range *range_find(struct ranges *ranges, const char *name)
{
    /* Kept texts: equal ones are one pointer. */
    struct table_key key = {(uint64_t)(uintptr_t)name, 0, 0};
    int64_t number = table_number(ranges->keys, key);

    if ((size_t)number == ranges->count) {
        struct range *range;

        array_grow(&ranges->items, &ranges->room, ranges->count,
                   sizeof(*ranges->items));
        range = &ranges->items[ranges->count++];
        range->row = (struct report_range){.name = name};
        range->last = DEFS_RANK_UNKNOWN;
        quantile_init(&range->lengths);
        interval_union_init(&range->open, ranges->region);
    }
    return &ranges->items[number];
}

static void rank_count(struct ranges *ranges, struct range *range, int32_t rank)
{
    struct table_key key = {(uint64_t)(range - ranges->items),
                            (uint64_t)(uint32_t)rank, 0};
    size_t before = table_count(ranges->ranks);

    if (rank == range->last) {
        return;
    }
    range->last = rank;
    table_number(ranges->ranks, key);
    range->row.ranks +=
        rank != DEFS_RANK_UNKNOWN && table_count(ranges->ranks) > before;
}

int ranges_take(void *consumer, const struct timeline_event *event)
{
    struct ranges *ranges = consumer;
    ck_time_t start = event->start, end = event->end;
    ck_time_t length = end - start;
    struct range *range;
    const char *name;

    if (timeline_is_device(event)) {
        rangeoccupancy_device(ranges->within, event);
        return 0;
    }
    if (event->record->kind != CK_KIND_RANGE ||
        !defs_is_wanted(ranges->defs, event->rank) ||
        !region_clip(ranges->region, &start, &end)) {
        return 0;
    }
    name = defs_name(ranges->defs, event->process, event->record->name);
    range = range_find(ranges, name == NULL ? "" : name);
    rank_count(ranges, range, event->rank);
    range->row.calls++;
    range->row.total += end - start;
    range->row.max = length > range->row.max ? length : range->row.max;
    interval_union_add(&range->open, start, end);
    rangeoccupancy_range(ranges->within, (uint32_t)(range - ranges->items),
                         event->rank, (struct region){start, end});
    quantile_add(&range->lengths, length);
    return 0;
}

CK_ORDER(by_total, struct report_range, CK_DOWN(total))

void ranges_report(struct ranges *ranges, struct report *report)
{
    report->ranges = xcalloc(ranges->count + 1, sizeof(*report->ranges));
    for (size_t i = 0; i < ranges->count; i++) {
        struct range *range = &ranges->items[i];

        range->row.median = quantile_at(&range->lengths, 0.5);
        range->row.is_median_exact = quantile_is_exact(&range->lengths);
        range->row.wall = interval_union_length(&range->open);
        report->ranges[report->ranges_count++] = range->row;
    }
    rangeoccupancy_report(ranges->within, report, report->ranges,
                          ranges->count);
    qsort(report->ranges, report->ranges_count, sizeof(*report->ranges),
          by_total);
}
