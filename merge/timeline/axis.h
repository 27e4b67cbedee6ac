/* axis.h - stamps of all clocks on one axis
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The axis is CLOCK_MONOTONIC_RAW of the reference clock, or else of domain 0,
 * in nanoseconds. Within a domain RAW is one clock; ticks of the time stamp
 * counter go to RAW by one piecewise straight line a domain (ticks.h), and RAW
 * to the axis by a map (clockmap.h) or one offset. merge/clocks/align.h makes
 * the maps; here they are applied.
 */
#ifndef CK_MERGE_TIMELINE_AXIS_H
#define CK_MERGE_TIMELINE_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/defs.h"
#include "merge/timeline/clockfold.h"
#include "merge/timeline/clockmap.h"
#include "merge/timeline/ticks.h"
#include "schema/event.h"
#include "schema/time.h"

/* The clock of a domain. */
struct axis_map {
    struct ticks ticks;
    struct clockmap *clock; /* NULL = one offset; borrowed */
    struct clockfold fold;  /* of that map */
    ck_time_t offset;       /* added to RAW where there is no map */
};

/* A device with a clock of its own. */
struct axis_device {
    uint32_t agent;
    uint32_t number;
    struct axis_map map; /* its ticks are the host's */
    ck_time_t lead;      /* its records may be earlier by it */
    ck_time_t offset;    /* to its host's clock, at half its time */
    ck_time_t bound;     /* of that offset */
};

struct axis {
    struct axis_device *devices;
    size_t devices_count;
    struct axis_map *maps; /* by domain */
    size_t maps_count;
    uint32_t *domains; /* by agent */
    size_t agents_count;
};

/* The device, if it has a clock of its own; else NULL. */
struct axis_device *
axis_device(const struct axis *axis, uint32_t agent, uint32_t number);
/* What is added to a RAW of a map's clock. */
ck_time_t axis_map_offset(struct axis_map *map, ck_time_t raw);

/* A stamp of an agent on the axis. */
ck_time_t axis_time(const struct axis *axis,
                    uint32_t agent,
                    bool is_ticks,
                    int64_t stamp);
/* A device's stamp, on the RAW of its host, on the axis. */
ck_time_t axis_device_time(const struct axis *axis,
                           uint32_t agent,
                           uint32_t device,
                           ck_time_t stamp);
/* How much earlier records of an agent's devices may be than their stamps on
 * its own clock. */
ck_time_t axis_lead(const struct axis *axis, uint32_t agent);
/* A time on the axis as the agent's own RAW had it, within some ns. */
ck_time_t axis_undo(const struct axis *axis, uint32_t agent, ck_time_t time);
/* Nothing with stamps from the first to the last is earlier on the axis;
 * INT64_MIN: there are none. */
ck_time_t axis_floor(const struct axis *axis,
                     uint32_t agent,
                     const struct stamps *stamps);
/* First and last of stamps, on the axis; false when there were none. */
bool axis_stamps(const struct axis *axis,
                 uint32_t agent,
                 const struct stamps *stamps,
                 ck_time_t *first,
                 ck_time_t *last);
/* Put all times of a record on the axis, in place (durations too). */
void axis_record(const struct axis *axis,
                 uint32_t agent,
                 bool is_ticks,
                 struct ck_event *event);

/* Whether one offset puts all records of an agent on the axis; then
 * axis_shift() does what axis_record() does. */
bool axis_is_shift(const struct axis *axis,
                   uint32_t agent,
                   bool is_ticks,
                   ck_time_t *offset);
static inline void
axis_shift(ck_time_t offset, enum ck_class cls, struct ck_event *event)
{
    struct ck_mark *span = (struct ck_mark *)event;
    struct ck_kernel *work = (struct ck_kernel *)event;

    event->start = (ck_time_t)((uint64_t)event->start + (uint64_t)offset);
    if (cls > CK_CLASS_COPY) {
        return;
    }
    if (span->dur < 0) {
        span->dur = 0;
        event->flags |= CK_FLAG_BAD_TIME;
    }
    if (cls >= CK_CLASS_KERNEL) {
        work->queued += work->queued != 0 ? offset : 0;
        work->submitted += work->submitted != 0 ? offset : 0;
    }
}

_Static_assert(CK_CLASS_KERNEL == 5 && CK_CLASS_COPY == 6 &&
                   offsetof(struct ck_kernel, queued) ==
                       offsetof(struct ck_copy, queued) &&
                   offsetof(struct ck_kernel, submitted) ==
                       offsetof(struct ck_copy, submitted),
               "axis_shift() treats kernels and copies as one");

#endif
