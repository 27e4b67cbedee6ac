/* timeline.h - all records of a run, in order of time, as calls to consumers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Order: start, then rank, then stream, then order of storing. What the
 * consumers see is on one axis (axis.h).
 */
#ifndef CK_MERGE_TIMELINE_TIMELINE_H
#define CK_MERGE_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/defs.h"
#include "merge/model/interval.h"
#include "schema/err.h"
#include "schema/event.h"

struct axis;
struct follower;
struct rundir;

/* One record and whose it is; borrowed, for the time of the call. */
struct timeline_event {
    const struct ck_event *record; /* times on the axis */
    ck_time_t start;
    ck_time_t end;    /* = start where the record is a point */
    int32_t rank;     /* DEFS_RANK_UNKNOWN = none */
    uint32_t process; /* in the definitions */
    uint32_t thread;  /* in the definitions */
};

/* Takes the next event. 0, or -1 with errno: the merge ends. */
typedef int (*timeline_take_f)(void *consumer,
                               const struct timeline_event *event);

/* Consumers of one pass. */
#define TIMELINE_CONSUMERS_MAX 20

struct timeline_consumer {
    timeline_take_f take;
    void *consumer;
    uint32_t classes; /* 1 << class of what it takes; 0 = every class */
    bool is_behind;   /* it asks no other consumer for what changes: it may be
                         called later, by the follower's thread */
};

/* Called now and then with the share done, 0..1. */
typedef void (*timeline_progress_f)(void *state, double done);

struct timeline {
    struct rundir *store; /* all borrowed */
    const struct defs *defs;
    const struct axis *axis;
    const struct timeline_consumer *consumers;
    size_t consumers_count;
    size_t witnesses_count;       /* of them, the first: they take the events of
                                     ranks that are not wanted, too */
    struct follower *follower;    /* calls those that may be behind, which are
                                     made known to it here; NULL = none does */
    timeline_progress_f progress; /* NULL = none */
    void *progress_state;
};

/* Run it from the first record to the last, with the calls
 * that were never left (opencalls.h) in their places. *events = how many stored
 * ones were handed out. 0, or -1 with err. */
int timeline_run(const struct timeline *timeline,
                 uint64_t *events,
                 struct ck_err *err);

/* True for a record of device work (kernel or copy). */
static inline bool timeline_is_device(const struct timeline_event *event)
{
    return event->record->kind >= CK_KIND_KERNEL &&
           event->record->kind <= CK_KIND_COPY_MAP;
}

#endif
