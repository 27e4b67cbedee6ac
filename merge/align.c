/* align.c - every rank's clock onto one axis
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A map is points (ticks, RAW) in ascending order. Between two of them a
 * stamp lies on their straight line; outside, the line through the first and
 * the last point goes on. A part's slope is a double: a part of an hour has
 * 2^44 ticks, so the product is good to well under a nanosecond.
 */
#include "merge/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/array.h"
#include "merge/clockmap.h"
#include "schema/run.h"

/* Two points nearer than this are one: their brackets would tilt the line. */
#define PAIR_GAP_NS ((int64_t)1000000)

/* What one agent stored. */
struct pair {
    uint32_t agent;
    enum ck_clock clock;
    int64_t stamp;
    int64_t raw;
    int64_t width;
};

struct point {
    int64_t ticks;
    int64_t raw;
    double slope; /* RAW ns a tick from here on */
};

struct map {
    struct point *points;
    size_t count;
    size_t hint;  /* where the last stamp was found */
    double slope; /* outside */
    struct align_domain domain;
    struct clockmap *clock; /* NULL = one offset; borrowed */
    int64_t realtime;       /* REALTIME - RAW */
    bool has_realtime;
};

struct align {
    struct pair *pairs;
    size_t pairs_count;
    size_t pairs_room;
    struct map *maps;
    size_t maps_count;
    struct calibration *calibration;
    uint32_t *domains; /* by agent */
    size_t agents_count;
};

struct align *align_create(void)
{
    struct align *align = calloc(1, sizeof(*align));

    if (align == NULL) {
        return NULL;
    }
    align->calibration = calibration_create();
    if (align->calibration == NULL) {
        free(align);
        return NULL;
    }
    return align;
}

void align_destroy(struct align *align)
{
    if (align == NULL) {
        return;
    }
    for (size_t i = 0; i < align->maps_count; i++) {
        free(align->maps[i].points);
    }
    calibration_destroy(align->calibration);
    free(align->pairs);
    free(align->maps);
    free(align->domains);
    free(align);
}

int align_fact(struct align *align,
               uint32_t agent,
               const struct ck_clock_fact *fact)
{
    struct pair *pair;

    if (fact->e.kind == CK_KIND_CLOCK_PROBE) {
        return calibration_probe(align->calibration, agent, fact);
    }
    if (fact->e.kind != CK_KIND_CLOCK_PAIR || fact->clock == CK_CLOCK_DEVICE) {
        return 0;
    }
    if (array_grow(&align->pairs, &align->pairs_room, align->pairs_count,
                   sizeof(*pair)) != 0) {
        return -1;
    }
    pair = &align->pairs[align->pairs_count++];
    pair->agent = agent;
    pair->clock = (enum ck_clock)fact->clock;
    pair->stamp = fact->e.start;
    pair->raw = fact->value;
    pair->width = fact->width < 0 ? -fact->width : fact->width;
    return 0;
}

void align_forget_probes(struct align *align)
{
    calibration_forget(align->calibration);
}

static int by_stamp(const void *a, const void *b)
{
    const struct pair *left = a;
    const struct pair *right = b;

    return (left->stamp > right->stamp) - (left->stamp < right->stamp);
}

/* Take a pair into the map if it goes on from the last point. */
static void map_take(struct map *map, const struct pair *pair)
{
    if (map->count > 0) {
        const struct point *last = &map->points[map->count - 1];

        if (pair->stamp <= last->ticks || pair->raw < last->raw + PAIR_GAP_NS) {
            return;
        }
    }
    map->points[map->count].ticks = pair->stamp;
    map->points[map->count].raw = pair->raw;
    map->count++;
    if (pair->width > map->domain.bound) {
        map->domain.bound = pair->width;
    }
}

static void map_slopes(struct map *map)
{
    struct point *points = map->points;
    size_t last = map->count - 1;

    map->slope = 1.0;
    if (map->count < 2) {
        return;
    }
    for (size_t i = 0; i < last; i++) {
        points[i].slope = (double)(points[i + 1].raw - points[i].raw) /
                          (double)(points[i + 1].ticks - points[i].ticks);
    }
    map->slope = (double)(points[last].raw - points[0].raw) /
                 (double)(points[last].ticks - points[0].ticks);
    points[last].slope = map->slope;
}

/* Rank of the agent whose pairs lead, as a sort key: unknown ranks last. */
static uint32_t leader_key(const struct cast *cast, uint32_t agent)
{
    return (uint32_t)cast->agents[agent].rank;
}

/* The lowest rank of the domain with pairs that span any time. */
static uint32_t
map_leader(const struct align *align, const struct cast *cast, uint32_t domain)
{
    uint32_t leader = CAST_NONE;

    for (size_t i = 0; i < align->pairs_count; i++) {
        const struct pair *pair = &align->pairs[i];

        if (pair->clock == CK_CLOCK_TSC &&
            align->domains[pair->agent] == domain &&
            (leader == CAST_NONE ||
             leader_key(cast, pair->agent) < leader_key(cast, leader))) {
            leader = pair->agent;
        }
    }
    return leader;
}

/* The pairs (sorted by stamp): the leader's, and others before and after. */
static int
map_fill(struct align *align, const struct cast *cast, uint32_t domain)
{
    struct map *map = &align->maps[domain];
    uint32_t leader = map_leader(align, cast, domain);
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;

    if (leader == CAST_NONE) {
        return 0;
    }
    map->points = calloc(align->pairs_count, sizeof(*map->points));
    if (map->points == NULL) {
        return -1;
    }
    for (size_t i = 0; i < align->pairs_count; i++) {
        const struct pair *pair = &align->pairs[i];

        if (pair->clock == CK_CLOCK_TSC && pair->agent == leader) {
            first = pair->stamp < first ? pair->stamp : first;
            last = pair->stamp > last ? pair->stamp : last;
        }
    }
    for (size_t i = 0; i < align->pairs_count; i++) {
        const struct pair *pair = &align->pairs[i];
        bool is_outside = pair->stamp < first || pair->stamp > last;

        if (pair->clock == CK_CLOCK_TSC &&
            align->domains[pair->agent] == domain &&
            (pair->agent == leader || is_outside)) {
            map_take(map, pair);
        }
    }
    map->domain.pairs = map->count;
    map_slopes(map);
    return 0;
}

/* REALTIME - RAW of a domain from its narrowest snapshot. */
static void
map_realtime(struct align *align, const struct cast *cast, uint32_t domain)
{
    struct map *map = &align->maps[domain];
    int64_t narrowest = INT64_MAX;

    for (size_t i = 0; i < align->pairs_count; i++) {
        const struct pair *pair = &align->pairs[i];

        if (pair->clock == CK_CLOCK_REALTIME &&
            align->domains[pair->agent] == domain && pair->width < narrowest) {
            narrowest = pair->width;
            map->realtime = pair->stamp - pair->raw;
            map->has_realtime = true;
        }
    }
    for (size_t i = 0; !map->has_realtime && i < cast->agents_count; i++) {
        const struct cast_agent *agent = &cast->agents[i];

        if (agent->domain == domain && agent->start_realtime != 0) {
            map->realtime = agent->start_realtime - agent->start_raw;
            map->has_realtime = true;
        }
    }
}

/* What is added to the RAW of domains that have no map. */
static void map_place(struct align *align, uint32_t domain)
{
    struct map *map = &align->maps[domain];
    const struct map *axis = &align->maps[0];
    ck_time_t zero;

    map->domain.clock = calibration_domain(align->calibration, domain);
    map->clock = calibration_map(align->calibration, domain);
    map->domain.is_calibrated = map->domain.clock.method != CALIBRATION_NONE;
    map->domain.has_place =
        map->domain.is_calibrated || (map->has_realtime && axis->has_realtime);
    map->domain.offset = map->domain.clock.offset;
    if (map->domain.has_place && !map->domain.is_calibrated) {
        zero = axis->domain.clock.offset;
        map->domain.offset = map->realtime - axis->realtime + zero;
    }
}

int align_settle(struct align *align, const struct clockedges *edges)
{
    ck_time_t *errors = calloc(align->maps_count + 1, sizeof(*errors));
    int rc = -1;

    for (size_t i = 0; errors != NULL && i < align->maps_count; i++) {
        errors[i] = align->maps[i].domain.bound;
    }
    if (errors != NULL) {
        rc = calibration_solve(align->calibration, edges, errors);
    }
    free(errors);
    for (uint32_t i = 0; rc == 0 && i < align->maps_count; i++) {
        map_place(align, i);
    }
    return rc;
}

int align_close(struct align *align, const struct cast *cast)
{
    align->agents_count = cast->agents_count;
    align->domains = calloc(cast->agents_count + 1, sizeof(*align->domains));
    align->maps = calloc(cast->domains_count + 1, sizeof(*align->maps));
    if (align->domains == NULL || align->maps == NULL) {
        return -1;
    }
    align->maps_count = cast->domains_count;
    for (size_t i = 0; i < cast->agents_count; i++) {
        align->domains[i] = cast->agents[i].domain;
    }
    if (align->pairs_count > 0) {
        qsort(align->pairs, align->pairs_count, sizeof(*align->pairs),
              by_stamp);
    }
    if (calibration_close(align->calibration, cast) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < align->maps_count; i++) {
        if (map_fill(align, cast, i) != 0) {
            return -1;
        }
        map_realtime(align, cast, i);
        map_place(align, i);
    }
    return 0;
}

static int64_t map_raw(struct map *map, int64_t ticks)
{
    const struct point *points = map->points;
    size_t at = map->hint;
    size_t low = 0;
    size_t high = map->count;

    if (map->count < 2) {
        map->domain.lacks_pairs = true;
        return map->count == 0 ? ticks
                               : points[0].raw + (ticks - points[0].ticks);
    }
    if (ticks < points[0].ticks) {
        return points[0].raw -
               (int64_t)((double)(points[0].ticks - ticks) * map->slope);
    }
    if (ticks < points[at].ticks ||
        (at + 1 < map->count && ticks >= points[at + 1].ticks)) {
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;

            if (points[middle].ticks <= ticks) {
                low = middle;
            } else {
                high = middle;
            }
        }
        at = low;
        map->hint = at;
    }
    return points[at].raw +
           (int64_t)((double)(ticks - points[at].ticks) * points[at].slope);
}

static inline ck_time_t map_time(struct map *map, bool is_ticks, int64_t stamp)
{
    ck_time_t offset = map->domain.offset;

    if (is_ticks) {
        stamp = map_raw(map, stamp);
    }
    if (map->clock != NULL) {
        offset = clock_map(map->clock, stamp);
    }
    return (ck_time_t)((uint64_t)stamp + (uint64_t)offset);
}

ck_time_t align_time(const struct align *align,
                     uint32_t agent,
                     bool is_ticks,
                     int64_t stamp)
{
    return map_time(&align->maps[align->domains[agent]], is_ticks, stamp);
}

ck_time_t align_undo(const struct align *align, uint32_t agent, ck_time_t time)
{
    const struct map *map = &align->maps[align->domains[agent]];
    ck_time_t raw = time - map->domain.offset;

    if (map->clock == NULL) {
        return raw;
    }
    /* The offset hardly changes while it is wrong. */
    raw = time - clock_map(map->clock, raw);
    raw = time - clock_map(map->clock, raw);
    return time - clock_map(map->clock, raw);
}

int align_bound(const struct align *align,
                uint32_t agent,
                bool is_ticks,
                int64_t stamp,
                ck_time_t *bound)
{
    struct map *map = &align->maps[align->domains[agent]];
    ck_time_t error;

    if (!map->domain.is_calibrated) {
        return -1;
    }
    if (map->clock == NULL) {
        *bound = 0;
        return 0;
    }
    error = clockmap_error(map->clock, is_ticks ? map_raw(map, stamp) : stamp);
    if (error == CLOCKMAP_ERROR_UNKNOWN) {
        return -1;
    }
    *bound = error;
    return 0;
}

bool align_stamps(const struct align *align,
                  uint32_t agent,
                  const struct stamps *stamps,
                  ck_time_t *first,
                  ck_time_t *last)
{
    bool is_any = false;

    for (unsigned clock = 0; clock < 2; clock++) {
        ck_time_t begin, end;

        if (stamps->first[clock] > stamps->last[clock]) {
            continue;
        }
        begin = align_time(align, agent, clock == 1, stamps->first[clock]);
        end = align_time(align, agent, clock == 1, stamps->last[clock]);
        *first = is_any && *first < begin ? *first : begin;
        *last = is_any && *last > end ? *last : end;
        is_any = true;
    }
    return is_any;
}

/* start and dur lie next to each other in every record that has both. */
static inline void
span_align(struct map *map, bool is_ticks, struct ck_mark *span)
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

static inline void stamp_align(struct map *map, bool is_ticks, int64_t *stamp)
{
    if (*stamp != 0) {
        *stamp = map_time(map, is_ticks, *stamp);
    }
}

void align_record(const struct align *align,
                  uint32_t agent,
                  bool is_ticks,
                  struct ck_event *event)
{
    struct map *map = &align->maps[align->domains[agent]];

    is_ticks = is_ticks && (event->flags & CK_FLAG_RAW) == 0;
    switch (ck_kind_class(event->kind)) {
    case CK_CLASS_KERNEL:
        stamp_align(map, is_ticks, &((struct ck_kernel *)event)->queued);
        stamp_align(map, is_ticks, &((struct ck_kernel *)event)->submitted);
        span_align(map, is_ticks, (struct ck_mark *)event);
        break;
    case CK_CLASS_COPY:
        stamp_align(map, is_ticks, &((struct ck_copy *)event)->queued);
        stamp_align(map, is_ticks, &((struct ck_copy *)event)->submitted);
        span_align(map, is_ticks, (struct ck_mark *)event);
        break;
    case CK_CLASS_MARK:
    case CK_CLASS_CALL:
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
        span_align(map, is_ticks, (struct ck_mark *)event);
        break;
    default:
        event->start = map_time(map, is_ticks, event->start);
        break;
    }
}

struct align_domain align_domain(const struct align *align, uint32_t domain)
{
    return align->maps[domain].domain;
}

const struct ck_clock_fault *
align_fault(const struct align *align, uint32_t domain, size_t index)
{
    return calibration_fault(align->calibration, domain, index);
}

const struct clocksolve_fault *align_conflict(const struct align *align,
                                              size_t index)
{
    return calibration_conflict(align->calibration, index);
}

int align_watch(const struct align *align,
                uint32_t domain,
                struct clockwatch_event **events,
                size_t *count)
{
    struct clockwatch_reading *readings =
        malloc((align->pairs_count + 1) * sizeof(*readings));
    size_t kept = 0;
    int rc;

    if (readings == NULL) {
        return -1;
    }
    for (size_t i = 0; i < align->pairs_count; i++) {
        const struct pair *pair = &align->pairs[i];

        if (pair->clock != CK_CLOCK_TSC &&
            align->domains[pair->agent] == domain) {
            readings[kept++] = (struct clockwatch_reading){
                domain, pair->clock, pair->raw, pair->stamp - pair->raw,
                pair->width};
        }
    }
    rc = clockwatch_find(readings, kept, domain, events, count);
    free(readings);
    return rc;
}

int64_t align_realtime(const struct align *align)
{
    const struct map *map = align->maps;

    return align->maps_count > 0 && map->has_realtime
               ? map->realtime - map->domain.clock.offset
               : 0;
}
