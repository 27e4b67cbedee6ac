/* rangeoccupancy.c - how busy devices were while their ranks were in a range
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/totals/rangeoccupancy.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* A range on a device. */
struct span {
    uint32_t range;
    uint32_t device;
    bool is_open;     /* in the device's list */
    ck_time_t to;     /* end of the union so far */
    ck_time_t length; /* of the union */
    ck_time_t common; /* of it, with the device busy */
};

/* A rank uses a device. */
struct use {
    uint32_t device;
    uint32_t next; /* of the rank, DEFS_NONE */
};

struct device {
    ck_time_t to;   /* end of the union of operations so far */
    uint32_t *open; /* spans that may go on */
    size_t count, room;
};

struct rangeoccupancy {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct device *devices; /* by physical device */
    struct use *uses;
    uint32_t *first;    /* by rank: the first of its uses, DEFS_NONE */
    struct table *keys; /* range, device */
    struct span *spans;
    size_t count, room;
    uint32_t lacking; /* the first range with a pair that is not kept */
};

/* Which devices each rank used. */
static void uses_make(struct rangeoccupancy *rangeoccupancy)
{
    const struct defs *defs = rangeoccupancy->defs;
    uint32_t count = 0;
    size_t room = 1;

    for (size_t i = 0; i < defs->physicals_count; i++) {
        room += defs->physicals[i].ranks_count;
    }
    rangeoccupancy->uses = xcalloc(room, sizeof(*rangeoccupancy->uses));
    rangeoccupancy->first =
        xcalloc(defs->ranks_count + 1, sizeof(*rangeoccupancy->first));
    for (size_t i = 0; i <= defs->ranks_count; i++) {
        rangeoccupancy->first[i] = DEFS_NONE;
    }
    for (uint32_t i = 0; i < defs->physicals_count; i++) {
        const struct defs_physical *physical = &defs->physicals[i];

        for (size_t k = 0; k < physical->ranks_count; k++) {
            uint32_t rank = defs_rank_index(defs, physical->ranks[k]);

            if (rank != DEFS_NONE) {
                rangeoccupancy->uses[count] =
                    (struct use){i, rangeoccupancy->first[rank]};
                rangeoccupancy->first[rank] = count++;
            }
        }
    }
}

struct rangeoccupancy *rangeoccupancy_create(const struct defs *defs,
                                             struct region region)
{
    struct rangeoccupancy *rangeoccupancy = xcalloc(1, sizeof(*rangeoccupancy));

    rangeoccupancy->defs = defs;
    rangeoccupancy->region = region;
    rangeoccupancy->lacking = DEFS_NONE;
    rangeoccupancy->devices =
        xcalloc(defs->physicals_count + 1, sizeof(*rangeoccupancy->devices));
    rangeoccupancy->keys = table_create();
    uses_make(rangeoccupancy);
    for (size_t i = 0; i < defs->physicals_count; i++) {
        rangeoccupancy->devices[i].to = region.start;
    }
    return rangeoccupancy;
}

void rangeoccupancy_destroy(struct rangeoccupancy *rangeoccupancy)
{
    if (rangeoccupancy == NULL) {
        return;
    }
    for (size_t i = 0; rangeoccupancy->devices != NULL &&
                       i < rangeoccupancy->defs->physicals_count;
         i++) {
        free(rangeoccupancy->devices[i].open);
    }
    free(rangeoccupancy->devices);
    free(rangeoccupancy->uses);
    free(rangeoccupancy->first);
    free(rangeoccupancy->spans);
    table_destroy(rangeoccupancy->keys);
    free(rangeoccupancy);
}

static ck_time_t later(ck_time_t a, ck_time_t b)
{
    return a > b ? a : b;
}

static ck_time_t earlier(ck_time_t a, ck_time_t b)
{
    return a < b ? a : b;
}

static void device_add(struct rangeoccupancy *rangeoccupancy,
                       struct device *device,
                       struct region part)
{
    ck_time_t from = later(part.start, device->to);
    size_t kept = 0;

    for (size_t i = 0; i < device->count; i++) {
        struct span *span = &rangeoccupancy->spans[device->open[i]];

        if (span->to <= part.start) {
            span->is_open = false;
            continue;
        }
        device->open[kept++] = device->open[i];
        span->common += later(0, earlier(part.end, span->to) - from);
    }
    device->count = kept;
    device->to = later(device->to, part.end);
}

void rangeoccupancy_device(struct rangeoccupancy *rangeoccupancy,
                           const struct timeline_event *event)
{
    bool is_copy = event->record->kind >= CK_KIND_COPY_H2D;
    struct region part = {event->start, event->end};
    const struct defs_device *device;

    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0 ||
        !region_clip(rangeoccupancy->region, &part.start, &part.end)) {
        return;
    }
    device = defs_device(
        rangeoccupancy->defs, event->process,
        is_copy ? ((const struct ck_copy *)event->record)->device
                : ((const struct ck_kernel *)event->record)->device);
    if (device != NULL) {
        device_add(rangeoccupancy, &rangeoccupancy->devices[device->physical],
                   part);
    }
}

/* The span of the pair; *found NULL where there are too many. */
static void span_find(struct rangeoccupancy *rangeoccupancy,
                      uint32_t range,
                      uint32_t device,
                      struct span **found)
{
    struct table_key key = {range, device, 0};
    int64_t number;

    *found = NULL;
    if (rangeoccupancy->count == RANGEOCCUPANCY_SPANS_MAX &&
        !table_has(rangeoccupancy->keys, key)) {
        rangeoccupancy->lacking =
            range < rangeoccupancy->lacking ? range : rangeoccupancy->lacking;
        return;
    }
    number = table_number(rangeoccupancy->keys, key);
    array_grow(&rangeoccupancy->spans, &rangeoccupancy->room,
               rangeoccupancy->count, sizeof(*rangeoccupancy->spans));
    if ((size_t)number == rangeoccupancy->count) {
        rangeoccupancy->spans[rangeoccupancy->count++] =
            (struct span){.range = range,
                          .device = device,
                          .to = rangeoccupancy->region.start};
    }
    *found = &rangeoccupancy->spans[number];
}

static void span_add(struct rangeoccupancy *rangeoccupancy,
                     struct span *span,
                     struct region part)
{
    struct device *device = &rangeoccupancy->devices[span->device];
    ck_time_t from = later(part.start, span->to);

    if (part.end <= from) {
        return;
    }
    span->length += part.end - from;
    span->common += later(0, earlier(part.end, device->to) - from);
    span->to = part.end;
    if (span->is_open) {
        return;
    }
    array_grow(&device->open, &device->room, device->count,
               sizeof(*device->open));
    device->open[device->count++] = (uint32_t)(span - rangeoccupancy->spans);
    span->is_open = true;
}

void rangeoccupancy_range(struct rangeoccupancy *rangeoccupancy,
                          uint32_t range,
                          int32_t rank,
                          struct region part)
{
    uint32_t index = defs_rank_index(rangeoccupancy->defs, rank);

    if (index == DEFS_NONE) {
        return;
    }
    for (uint32_t i = rangeoccupancy->first[index]; i != DEFS_NONE;
         i = rangeoccupancy->uses[i].next) {
        struct span *span;

        span_find(rangeoccupancy, range, rangeoccupancy->uses[i].device, &span);
        if (span != NULL) {
            span_add(rangeoccupancy, span, part);
        }
    }
}

void rangeoccupancy_report(const struct rangeoccupancy *rangeoccupancy,
                           const struct report *report,
                           struct report_range *rows,
                           size_t count)
{
    bool *is_shown = xcalloc(rangeoccupancy->defs->physicals_count + 1, 1);

    for (size_t i = 0; i < report->devices_count; i++) {
        is_shown[report->devices[i].physical] = true;
    }
    for (size_t i = 0; i < rangeoccupancy->count; i++) {
        const struct span *span = &rangeoccupancy->spans[i];

        if (is_shown[span->device]) {
            rows[span->range].device_wall += span->length;
            rows[span->range].device_busy += span->common;
        }
    }
    for (size_t i = 0; i < count; i++) {
        rows[i].is_device_known = i < rangeoccupancy->lacking;
    }
    free(is_shown);
}
