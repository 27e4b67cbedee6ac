/* axis.c - stamps of all clocks on one axis
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/axis.h"

/* What is added to RAW. */
static inline ck_time_t map_offset(struct axis_map *map, ck_time_t raw)
{
    return map->clock != NULL ? clock_map(map->clock, raw) : map->offset;
}

ck_time_t axis_map_offset(struct axis_map *map, ck_time_t raw)
{
    return map_offset(map, raw);
}

static inline ck_time_t
map_time(struct axis_map *map, bool is_ticks, int64_t stamp)
{
    if (is_ticks) {
        stamp = ticks_raw(&map->ticks, stamp);
    }
    return (ck_time_t)((uint64_t)stamp + (uint64_t)map_offset(map, stamp));
}

ck_time_t
axis_time(const struct axis *axis, uint32_t agent, bool is_ticks, int64_t stamp)
{
    return map_time(&axis->maps[axis->domains[agent]], is_ticks, stamp);
}

ck_time_t axis_undo(const struct axis *axis, uint32_t agent, ck_time_t time)
{
    const struct axis_map *map = &axis->maps[axis->domains[agent]];
    ck_time_t raw = time - map->offset;

    if (map->clock == NULL) {
        return raw;
    }
    if (map->fold.count > 0) {
        return clockfold_undo(&map->fold, map->clock, time);
    }
    /* The offset hardly changes while it is wrong. */
    raw = time - clock_map(map->clock, raw);
    raw = time - clock_map(map->clock, raw);
    return time - clock_map(map->clock, raw);
}

struct axis_device *
axis_device(const struct axis *axis, uint32_t agent, uint32_t number)
{
    for (size_t i = 0; i < axis->devices_count; i++) {
        struct axis_device *device = &axis->devices[i];

        if (device->agent == agent && device->number == number) {
            return device;
        }
    }
    return NULL;
}

ck_time_t axis_lead(const struct axis *axis, uint32_t agent)
{
    ck_time_t lead = 0;

    for (size_t i = 0; i < axis->devices_count; i++) {
        if (axis->devices[i].agent == agent && axis->devices[i].lead > lead) {
            lead = axis->devices[i].lead;
        }
    }
    return lead;
}

/* The same clock's stamps on the axis; of ticks or a clock that jumped the
 * lowest is not always the first. */
static void stamps_span(const struct axis *axis,
                        uint32_t agent,
                        const struct stamps *stamps,
                        unsigned clock,
                        bool is_safe,
                        ck_time_t span[2])
{
    struct axis_map *map = &axis->maps[axis->domains[agent]];
    int64_t ends[2] = {stamps->first[clock], stamps->last[clock]};

    if (clock == 1) {
        ticks_span(&map->ticks, ends, is_safe, ends);
    }
    for (int end = 0; end < 2; end++) {
        span[end] = axis_time(axis, agent, false, ends[end]);
    }
    if (is_safe && map->clock != NULL) {
        clockfold_reach(&map->fold, ends, span);
    }
}

static bool spans_join(const struct axis *axis,
                       uint32_t agent,
                       const struct stamps *stamps,
                       bool is_safe,
                       ck_time_t span[2])
{
    bool is_any = false;

    for (unsigned clock = 0; clock < 2; clock++) {
        ck_time_t its[2];

        if (stamps->first[clock] > stamps->last[clock]) {
            continue;
        }
        stamps_span(axis, agent, stamps, clock, is_safe, its);
        span[0] = is_any && span[0] < its[0] ? span[0] : its[0];
        span[1] = is_any && span[1] > its[1] ? span[1] : its[1];
        is_any = true;
    }
    return is_any;
}

ck_time_t
axis_floor(const struct axis *axis, uint32_t agent, const struct stamps *stamps)
{
    ck_time_t span[2] = {INT64_MIN, INT64_MAX};

    (void)spans_join(axis, agent, stamps, true, span);
    return span[0];
}

bool axis_stamps(const struct axis *axis,
                 uint32_t agent,
                 const struct stamps *stamps,
                 ck_time_t *first,
                 ck_time_t *last)
{
    ck_time_t span[2];

    if (!spans_join(axis, agent, stamps, false, span)) {
        return false;
    }
    *first = span[0];
    *last = span[1];
    return true;
}

/* start and dur are next to each other in every record that has both. */
static inline void
span_align(struct axis_map *map, bool is_ticks, struct ck_mark *span)
{
    uint64_t end = (uint64_t)span->e.start + (uint64_t)span->dur;
    ck_time_t start = map_time(map, is_ticks, span->e.start);

    span->dur = map_time(map, is_ticks, (int64_t)end) - start;
    span->e.start = start;
    if (span->dur < 0) {
        span->dur = 0;
        span->e.flags |= CK_FLAG_BAD_TIME;
    }
}

_Static_assert(offsetof(struct ck_mark, dur) == 16 &&
                   offsetof(struct ck_call, dur) == 16 &&
                   offsetof(struct ck_message, dur) == 16 &&
                   offsetof(struct ck_collective, dur) == 16 &&
                   offsetof(struct ck_kernel, dur) == 16 &&
                   offsetof(struct ck_copy, dur) == 16,
               "start and dur of all");

static inline void
stamp_align(struct axis_map *map, bool is_ticks, int64_t *stamp)
{
    if (*stamp != 0) {
        *stamp = map_time(map, is_ticks, *stamp);
    }
}

/* The map of a device's records. */
static struct axis_map *
device_map(const struct axis *axis, uint32_t agent, uint32_t number)
{
    struct axis_device *device = axis_device(axis, agent, number);

    return device != NULL ? &device->map : &axis->maps[axis->domains[agent]];
}

ck_time_t axis_device_time(const struct axis *axis,
                           uint32_t agent,
                           uint32_t device,
                           ck_time_t stamp)
{
    return map_time(device_map(axis, agent, device), false, stamp);
}

void axis_record(const struct axis *axis,
                 uint32_t agent,
                 bool is_ticks,
                 struct ck_event *event)
{
    struct axis_map *map = &axis->maps[axis->domains[agent]];

    is_ticks = is_ticks && (event->flags & CK_FLAG_RAW) == 0;
    switch (ck_kind_class(event->kind)) {
    case CK_CLASS_KERNEL:
        map = device_map(axis, agent, ((struct ck_kernel *)event)->device);
        stamp_align(map, is_ticks, &((struct ck_kernel *)event)->queued);
        stamp_align(map, is_ticks, &((struct ck_kernel *)event)->submitted);
        span_align(map, is_ticks, (struct ck_mark *)event);
        break;
    case CK_CLASS_COPY:
        map = device_map(axis, agent, ((struct ck_copy *)event)->device);
        stamp_align(map, is_ticks, &((struct ck_copy *)event)->queued);
        stamp_align(map, is_ticks, &((struct ck_copy *)event)->submitted);
        span_align(map, is_ticks, (struct ck_mark *)event);
        break;
    case CK_CLASS_MARK:
    case CK_CLASS_CALL:
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
    case CK_CLASS_TEAM:
        span_align(map, is_ticks, (struct ck_mark *)event);
        break;
    default:
        event->start = map_time(map, is_ticks, event->start);
        break;
    }
}

bool axis_is_shift(const struct axis *axis,
                   uint32_t agent,
                   bool is_ticks,
                   ck_time_t *offset)
{
    const struct axis_map *map = &axis->maps[axis->domains[agent]];

    *offset = map->offset;
    return !is_ticks && map->clock == NULL && axis->devices_count == 0;
}
