/* within.c - how busy devices were while their ranks were in a range
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/totals/within.h"

#include <stdlib.h>

#include "merge/model/array.h"
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
    uint32_t next; /* of the rank, CAST_NONE */
};

struct device {
    ck_time_t to;   /* end of the union of operations so far */
    uint32_t *open; /* spans that may go on */
    size_t count, room;
};

struct within {
    const struct cast *cast; /* borrowed */
    struct region region;
    struct device *devices; /* by physical device */
    struct use *uses;
    uint32_t *first;    /* by rank: the first of its uses, CAST_NONE */
    struct table *keys; /* range, device */
    struct span *spans;
    size_t count, room;
    uint32_t lacking; /* the first range of which a pair is not kept */
};

/* Which devices each rank used. 0, or -1 with ENOMEM. */
static int uses_make(struct within *within)
{
    const struct cast *cast = within->cast;
    uint32_t count = 0;
    size_t room = 1;

    for (size_t i = 0; i < cast->physicals_count; i++) {
        room += cast->physicals[i].ranks_count;
    }
    within->uses = calloc(room, sizeof(*within->uses));
    within->first = calloc(cast->ranks_count + 1, sizeof(*within->first));
    if (within->uses == NULL || within->first == NULL) {
        return -1;
    }
    for (size_t i = 0; i <= cast->ranks_count; i++) {
        within->first[i] = CAST_NONE;
    }
    for (uint32_t i = 0; i < cast->physicals_count; i++) {
        const struct cast_physical *physical = &cast->physicals[i];

        for (size_t k = 0; k < physical->ranks_count; k++) {
            uint32_t rank = cast_rank_index(cast, physical->ranks[k]);

            if (rank != CAST_NONE) {
                within->uses[count] = (struct use){i, within->first[rank]};
                within->first[rank] = count++;
            }
        }
    }
    return 0;
}

struct within *within_create(const struct cast *cast, struct region region)
{
    struct within *within = calloc(1, sizeof(*within));

    if (within == NULL) {
        return NULL;
    }
    within->cast = cast;
    within->region = region;
    within->lacking = CAST_NONE;
    within->devices =
        calloc(cast->physicals_count + 1, sizeof(*within->devices));
    within->keys = table_create();
    if (within->devices == NULL || within->keys == NULL ||
        uses_make(within) != 0) {
        within_destroy(within);
        return NULL;
    }
    for (size_t i = 0; i < cast->physicals_count; i++) {
        within->devices[i].to = region.start;
    }
    return within;
}

void within_destroy(struct within *within)
{
    if (within == NULL) {
        return;
    }
    for (size_t i = 0;
         within->devices != NULL && i < within->cast->physicals_count; i++) {
        free(within->devices[i].open);
    }
    free(within->devices);
    free(within->uses);
    free(within->first);
    free(within->spans);
    table_destroy(within->keys);
    free(within);
}

static ck_time_t later(ck_time_t a, ck_time_t b)
{
    return a > b ? a : b;
}

static ck_time_t earlier(ck_time_t a, ck_time_t b)
{
    return a < b ? a : b;
}

static void
device_add(struct within *within, struct device *device, struct region part)
{
    ck_time_t from = later(part.start, device->to);
    size_t kept = 0;

    for (size_t i = 0; i < device->count; i++) {
        struct span *span = &within->spans[device->open[i]];

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

void within_device(struct within *within, const struct timeline_event *event)
{
    bool is_copy = event->record->kind >= CK_KIND_COPY_H2D;
    struct region part = {event->start, event->end};
    const struct cast_device *device;

    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0 ||
        !region_clip(within->region, &part.start, &part.end)) {
        return;
    }
    device = cast_device(
        within->cast, event->process,
        is_copy ? ((const struct ck_copy *)event->record)->device
                : ((const struct ck_kernel *)event->record)->device);
    if (device != NULL) {
        device_add(within, &within->devices[device->physical], part);
    }
}

/* The span of the pair; *found NULL where there are too many. 0, or -1 with
 * ENOMEM. */
static int span_find(struct within *within,
                     uint32_t range,
                     uint32_t device,
                     struct span **found)
{
    struct table_key key = {range, device, 0};
    int64_t number;

    *found = NULL;
    if (within->count == WITHIN_SPANS_MAX && !table_has(within->keys, key)) {
        within->lacking = range < within->lacking ? range : within->lacking;
        return 0;
    }
    number = table_number(within->keys, key);
    if (number < 0 || array_grow(&within->spans, &within->room, within->count,
                                 sizeof(*within->spans)) != 0) {
        return -1;
    }
    if ((size_t)number == within->count) {
        within->spans[within->count++] = (struct span){
            .range = range, .device = device, .to = within->region.start};
    }
    *found = &within->spans[number];
    return 0;
}

static int
span_add(struct within *within, struct span *span, struct region part)
{
    struct device *device = &within->devices[span->device];
    ck_time_t from = later(part.start, span->to);

    if (part.end <= from) {
        return 0;
    }
    span->length += part.end - from;
    span->common += later(0, earlier(part.end, device->to) - from);
    span->to = part.end;
    if (span->is_open) {
        return 0;
    }
    if (array_grow(&device->open, &device->room, device->count,
                   sizeof(*device->open)) != 0) {
        return -1;
    }
    device->open[device->count++] = (uint32_t)(span - within->spans);
    span->is_open = true;
    return 0;
}

int within_range(struct within *within,
                 uint32_t range,
                 int32_t rank,
                 struct region part)
{
    uint32_t index = cast_rank_index(within->cast, rank);

    if (index == CAST_NONE) {
        return 0;
    }
    for (uint32_t i = within->first[index]; i != CAST_NONE;
         i = within->uses[i].next) {
        struct span *span;

        if (span_find(within, range, within->uses[i].device, &span) != 0 ||
            (span != NULL && span_add(within, span, part) != 0)) {
            return -1;
        }
    }
    return 0;
}

int within_report(const struct within *within,
                  const struct report *report,
                  struct report_range *rows,
                  size_t count)
{
    bool *is_shown = calloc(within->cast->physicals_count + 1, 1);

    if (is_shown == NULL) {
        return -1;
    }
    for (size_t i = 0; i < report->devices_count; i++) {
        is_shown[report->devices[i].physical] = true;
    }
    for (size_t i = 0; i < within->count; i++) {
        const struct span *span = &within->spans[i];

        if (is_shown[span->device]) {
            rows[span->range].device_wall += span->length;
            rows[span->range].device_busy += span->common;
        }
    }
    for (size_t i = 0; i < count; i++) {
        rows[i].is_device_known = i < within->lacking;
    }
    free(is_shown);
    return 0;
}
