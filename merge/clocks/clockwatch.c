/* clockwatch.c - what happened to a host's other clocks, and to the host
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/clockwatch.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "schema/clock/clocktrend.h"
#include "schema/order.h"

/* A time service changes a rate by no more; what is beyond is a step. */
#define SLEW_MAX_PPB 500000
#define STEP_MIN CK_TIME_US
/* A change of rate that is reported, and the least time that it lasts. */
#define SLEW_MIN_PPB 1000
#define SLEW_SPAN (2 * CK_TIME_S)
#define SUSPEND_MIN CK_TIME_MS
/* Readings are taken once a second; this late, no collector ran. */
#define PAUSE_MIN (1500 * CK_TIME_MS)
#define EVENTS_MAX 1000

struct events {
    struct clockwatch_event *items;
    size_t count, room;
};

static void event_add(struct events *events, struct clockwatch_event event)
{
    if (events->count == EVENTS_MAX) {
        return;
    }
    array_grow(&events->items, &events->room, events->count, sizeof(event));
    events->items[events->count++] = event;
}

CK_ORDER(reading_order,
         struct clockwatch_reading,
         CK_UP(domain) ?: CK_UP(clock) ?: CK_UP(raw))

static ck_time_t absolute(ck_time_t value)
{
    return value < 0 ? -value : value;
}

/* REALTIME: what no slewing explains. */
static void steps_find(const struct clockwatch_reading *readings,
                       size_t count,
                       struct events *events)
{
    for (size_t i = 1; i < count; i++) {
        const struct clockwatch_reading *a = &readings[i - 1];
        const struct clockwatch_reading *b = &readings[i];
        ck_time_t change = b->offset - a->offset;

        if (absolute(change) >
            STEP_MIN + a->width + b->width +
                ck_clock_drift(b->raw - a->raw, SLEW_MAX_PPB)) {
            event_add(events, (struct clockwatch_event){CLOCKWATCH_STEP, a->raw,
                                                        b->raw, change, 0, 0});
        }
    }
}

/* Rate of a clock against RAW between two readings, and how vague it is. */
static int64_t rate_of(const struct clockwatch_reading *a,
                       const struct clockwatch_reading *b,
                       int64_t *vague)
{
    ck_time_t span = b->raw - a->raw;

    *vague = (int64_t)((__int128)(a->width + b->width) * 1000000000 / span) + 1;
    return (int64_t)((__int128)(b->offset - a->offset) * 1000000000 / span);
}

/* MONOTONIC: each stretch of some seconds against the one before. */
static void slews_find(const struct clockwatch_reading *readings,
                       size_t count,
                       struct events *events)
{
    size_t first = 0, middle = 0;

    for (size_t i = 1; i < count; i++) {
        int64_t before, after, vague[2];

        if (readings[i].raw - readings[middle].raw < SLEW_SPAN) {
            continue;
        }
        if (middle > first) {
            before = rate_of(&readings[first], &readings[middle], &vague[0]);
            after = rate_of(&readings[middle], &readings[i], &vague[1]);
            if (absolute(after - before) > SLEW_MIN_PPB + vague[0] + vague[1]) {
                event_add(events, (struct clockwatch_event){
                                      CLOCKWATCH_SLEW, readings[middle].raw,
                                      readings[i].raw, 0, after - before, 0});
            }
        }
        first = middle;
        middle = i;
    }
}

/* BOOTTIME: a step forward is sleep. RAW did not advance meanwhile. */
static void suspends_find(const struct clockwatch_reading *readings,
                          size_t count,
                          struct events *events)
{
    for (size_t i = 1; i < count; i++) {
        const struct clockwatch_reading *a = &readings[i - 1];
        const struct clockwatch_reading *b = &readings[i];
        ck_time_t slept = b->offset - a->offset;

        if (slept >
            SUSPEND_MIN + ck_clock_drift(b->raw - a->raw, SLEW_MAX_PPB)) {
            event_add(events,
                      (struct clockwatch_event){CLOCKWATCH_SUSPEND, a->raw,
                                                b->raw, slept, 0, 0});
        }
    }
}

/* REALTIME's readings: none was taken for too long. */
static void pauses_find(const struct clockwatch_reading *readings,
                        size_t count,
                        struct events *events)
{
    for (size_t i = 1; i < count; i++) {
        ck_time_t from = readings[i - 1].raw;
        ck_time_t gap = readings[i].raw - from;

        if (gap > PAUSE_MIN) {
            event_add(events, (struct clockwatch_event){CLOCKWATCH_PAUSE, from,
                                                        readings[i].raw,
                                                        gap - CK_TIME_S, 0, 0});
        }
    }
}

static void clock_find(const struct clockwatch_reading *readings,
                       size_t count,
                       struct events *events)
{
    switch (readings[0].clock) {
    case CK_CLOCK_REALTIME:
        steps_find(readings, count, events);
        pauses_find(readings, count, events);
        return;
    case CK_CLOCK_MONOTONIC:
        slews_find(readings, count, events);
        return;
    case CK_CLOCK_BOOTTIME:
        suspends_find(readings, count, events);
        return;
    default:
        return;
    }
}

CK_ORDER(event_order, struct clockwatch_event, CK_UP(from))

void clockwatch_find(struct clockwatch_reading *readings,
                     size_t count,
                     uint32_t domain,
                     struct clockwatch_event **items,
                     size_t *items_count)
{
    struct events events = {0};

    if (count > 0) {
        qsort(readings, count, sizeof(*readings), reading_order);
    }
    for (size_t at = 0; at < count;) {
        size_t end = at + 1;

        while (end < count && readings[end].clock == readings[at].clock &&
               readings[end].domain == readings[at].domain) {
            end++;
        }
        if (readings[at].domain == domain) {
            clock_find(&readings[at], end - at, &events);
        }
        at = end;
    }
    if (events.count > 0) {
        qsort(events.items, events.count, sizeof(*events.items), event_order);
    }
    *items = events.items;
    *items_count = events.count;
}

const char *clockwatch_name(enum clockwatch_kind kind)
{
    static const char *const names[CLOCKWATCH_KINDS] = {
        "realtime_step", "slew",         "suspend",
        "pause",         "counter_jump", "clocksource"};

    return names[kind];
}
