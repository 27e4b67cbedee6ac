/* consumer.h - who takes the records of a run, and what it gets
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_TIMELINE_CONSUMER_H
#define CK_MERGE_TIMELINE_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/interval.h"
#include "schema/event.h"

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
                         called behind those that do, by another thread */
};

/* True for a record of device work (kernel or copy). */
static inline bool timeline_is_device(const struct timeline_event *event)
{
    return event->record->kind >= CK_KIND_KERNEL &&
           event->record->kind <= CK_KIND_COPY_MAP;
}

#endif
