/* align.c - every rank's clock onto one axis
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/align.h"

#include <stdlib.h>
#include <string.h>

#include "merge/clocks/clockedges.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/timeline/clockmap.h"
#include "schema/clock/clocktrend.h"
#include "schema/order.h"
#include "schema/store/run.h"

/* Between two points, and beyond them, a device may lead a little more. */
#define LEAD_MORE (100 * CK_TIME_MS)

/* What one agent stored. */
struct pair {
    uint32_t agent;
    uint32_t domain; /* once the definitions is closed */
    enum ck_clock clock;
    int64_t stamp;
    int64_t raw;
    int64_t width;
    int64_t source; /* of the counter: the kernel's clocksource; 0 = unknown */
};

struct map {
    struct axis_map *on; /* as the axis has it */
    struct align_domain domain;
    struct clockmap *held; /* the map, while it is not used (align_hold()) */
    ck_time_t offset;      /* while it is used: that of `on` */
    ck_time_t error;       /* of a date that is believed */
    int64_t realtime;      /* REALTIME - RAW */
    bool has_realtime;
    const struct pair *pairs; /* that its agents stored */
    size_t pairs_count;
};

struct align {
    struct axis axis;
    struct pair *pairs; /* once closed: by domain, and by stamp */
    size_t pairs_count;
    size_t pairs_room;
    struct map *maps; /* by domain */
    struct calibration *calibration;
    bool has_edges; /* the maps' facts are of stamps, not of RAW */
};

struct align *align_create(void)
{
    struct align *align = xcalloc(1, sizeof(*align));

    align->calibration = calibration_create();
    return align;
}

void align_destroy(struct align *align)
{
    if (align == NULL) {
        return;
    }
    for (size_t i = 0; i < align->axis.maps_count; i++) {
        ticks_fini(&align->axis.maps[i].ticks);
        clockfold_fini(&align->axis.maps[i].fold);
    }
    calibration_destroy(align->calibration);
    free(align->axis.devices);
    free(align->pairs);
    free(align->maps);
    free(align->axis.maps);
    free(align->axis.domains);
    free(align);
}

/* Pairs whose sums might wrap are damage. */
static bool pair_is_wild(const struct ck_clock_fact *fact)
{
    return fact->e.start < -TICKS_MAX || fact->e.start > TICKS_MAX ||
           fact->value < -TICKS_MAX || fact->value > TICKS_MAX ||
           fact->width < -TICKS_WIDTH_MAX || fact->width > TICKS_WIDTH_MAX;
}

void align_fact(struct align *align,
                uint32_t agent,
                const struct ck_clock_fact *fact)
{
    struct pair *pair;

    if (fact->e.kind == CK_KIND_CLOCK_PROBE) {
        calibration_probe(align->calibration, agent, fact);
        return;
    }
    if (fact->e.kind != CK_KIND_CLOCK_PAIR || fact->clock == CK_CLOCK_DEVICE ||
        pair_is_wild(fact)) {
        return;
    }
    array_grow(&align->pairs, &align->pairs_room, align->pairs_count,
               sizeof(*pair));
    pair = &align->pairs[align->pairs_count++];
    pair->agent = agent;
    pair->clock = (enum ck_clock)fact->clock;
    pair->stamp = fact->e.start;
    pair->raw = fact->value;
    pair->width = fact->width < 0 ? -fact->width : fact->width;
    pair->source = fact->t3;
}

static void
taker_take(void *state, uint32_t agent, const struct ck_clock_fact *fact)
{
    align_fact(state, agent, fact);
}

struct clocktaker align_taker(struct align *align)
{
    return (struct clocktaker){taker_take, align};
}

void align_forget_probes(struct align *align)
{
    calibration_forget(align->calibration);
}

CK_ORDER(pair_order, struct pair, CK_UP(domain) ?: CK_UP(stamp))

/* Each domain's pairs come side by side. */
static void pairs_sort(struct align *align)
{
    for (size_t i = 0; i < align->pairs_count; i++) {
        align->pairs[i].domain = align->axis.domains[align->pairs[i].agent];
    }
    if (align->pairs_count > 0) {
        qsort(align->pairs, align->pairs_count, sizeof(*align->pairs),
              pair_order);
    }
    for (size_t i = 0; i < align->pairs_count; i++) {
        struct map *map = &align->maps[align->pairs[i].domain];

        map->pairs = map->pairs_count == 0 ? &align->pairs[i] : map->pairs;
        map->pairs_count++;
    }
}

static void map_fill(struct map *map, const struct defs *defs)
{
    struct ticks_pair *pairs = xcalloc(map->pairs_count + 1, sizeof(*pairs));
    size_t count = 0;

    for (size_t i = 0; i < map->pairs_count; i++) {
        const struct pair *pair = &map->pairs[i];

        if (pair->clock == CK_CLOCK_TSC) {
            /* Unknown ranks lead last. */
            pairs[count++] = (struct ticks_pair){
                pair->agent, (uint32_t)defs->agents[pair->agent].rank,
                pair->stamp, pair->raw,
                pair->width, pair->source};
        }
    }
    ticks_make(&map->on->ticks, pairs, count);
    map->domain.pairs = map->on->ticks.count;
    map->domain.bound = map->on->ticks.worst;
    free(pairs);
}

/* REALTIME - RAW of a domain from its narrowest snapshot. */
static void map_realtime(struct map *map)
{
    int64_t narrowest = INT64_MAX;

    for (size_t i = 0; i < map->pairs_count; i++) {
        const struct pair *pair = &map->pairs[i];

        if (pair->clock == CK_CLOCK_REALTIME && pair->width < narrowest) {
            narrowest = pair->width;
            map->realtime = pair->stamp - pair->raw;
            map->has_realtime = true;
        }
    }
}

/* Without one, as the first of its agents began. */
static void maps_realtime(struct align *align, const struct defs *defs)
{
    for (size_t i = 0; i < align->axis.maps_count; i++) {
        map_realtime(&align->maps[i]);
    }
    for (size_t i = 0; i < defs->agents_count; i++) {
        const struct defs_agent *agent = &defs->agents[i];
        struct map *map = &align->maps[agent->domain];

        if (!map->has_realtime && agent->start_realtime != 0) {
            map->realtime = agent->start_realtime - agent->start_raw;
            map->has_realtime = true;
        }
    }
}

/* The map, or what is added to the RAW of domains that have none. */
static void map_place(struct align *align, uint32_t domain)
{
    struct map *map = &align->maps[domain];
    const struct map *axis = &align->maps[0];
    ck_time_t zero;

    map->domain.clock = calibration_domain(align->calibration, domain);
    map->on->clock = calibration_map(align->calibration, domain);
    map->domain.is_calibrated = map->domain.clock.method != CALIBRATION_NONE;
    map->domain.has_place =
        map->domain.is_calibrated || (map->has_realtime && axis->has_realtime);
    map->on->offset = map->domain.clock.offset;
    if (map->domain.has_place &&
        (!map->domain.is_calibrated ||
         map->domain.clock.method == CALIBRATION_DATES)) {
        zero = axis->domain.clock.offset;
        map->on->offset = map->realtime - axis->realtime + zero;
    }
    if (!(map->on->clock == NULL)) {
        clockfold_make(&map->on->fold, map->on->clock);
    }
}

/* What a device's clock is against its host's. */
static void device_compare(const struct align *align,
                           uint32_t domain,
                           struct axis_device *device)
{
    uint32_t host = align->axis.domains[device->agent];
    struct axis_map *own = &align->axis.maps[host];
    const struct clockmap *map = device->map.clock;
    const struct clockmap_piece *last = &map->pieces[map->count - 1];
    ck_time_t middle =
        map->pieces[0].c0 + (last->c0 + last->length - map->pieces[0].c0) / 2;

    device->offset =
        axis_map_offset(&device->map, middle) - axis_map_offset(own, middle);
    device->bound = calibration_pair(align->calibration, host, domain,
                                     middle + axis_map_offset(own, middle));
    for (size_t i = 0; i < map->count; i++) {
        ck_time_t at = map->pieces[i].c0;
        ck_time_t ahead = axis_map_offset(own, at) -
                          axis_map_offset(&device->map, at) + LEAD_MORE;

        device->lead = ahead > device->lead ? ahead : device->lead;
    }
}

/* Devices that were set apart and could be placed. */
static void devices_place(struct align *align, const struct clockedges *edges)
{
    size_t count = edges == NULL ? 0 : clockedges_devices(edges);

    align->axis.devices = xcalloc(count + 1, sizeof(*align->axis.devices));
    for (size_t i = 0; i < count; i++) {
        const struct clockedges_device *apart = clockedges_device_at(edges, i);
        uint32_t domain = (uint32_t)(align->axis.maps_count + 1 + i);
        struct clockmap *map = calibration_device(align->calibration, domain);
        struct axis_device *device =
            &align->axis.devices[align->axis.devices_count];
        uint32_t host = align->axis.domains[apart->agent];

        if (!apart->is_apart || map == NULL) {
            continue;
        }
        *device = (struct axis_device){.agent = apart->agent,
                                       .number = apart->number,
                                       .map = align->axis.maps[host]};
        device->map.clock = map;
        device_compare(align, domain, device);
        align->axis.devices_count++;
    }
}

/* RAW of a domain beside a clock that cannot be set, as its collectors read
 * them: CLOCK_BOOTTIME goes on while the machine sleeps, which RAW and
 * CLOCK_MONOTONIC do not; older runs have only the latter. */
static void readings_fill(const struct map *map, struct clockstep_clock *clock)
{
    size_t counts[2] = {0, 0};
    uint32_t kind;

    clock->readings =
        xmalloc((map->pairs_count + 1) * sizeof(*clock->readings));
    for (size_t i = 0; i < map->pairs_count; i++) {
        counts[0] += map->pairs[i].clock == CK_CLOCK_BOOTTIME;
        counts[1] += map->pairs[i].clock == CK_CLOCK_MONOTONIC;
    }
    kind = counts[0] < counts[1] ? CK_CLOCK_MONOTONIC : CK_CLOCK_BOOTTIME;
    for (size_t i = 0; i < map->pairs_count; i++) {
        const struct pair *pair = &map->pairs[i];

        if (pair->clock == kind) {
            clock->readings[clock->readings_count++] =
                (struct clockstep_reading){pair->raw, pair->stamp, pair->width};
        }
    }
}

/* Name the steps on the clocks that jumped. */
static void steps_blame(struct align *align)
{
    struct clockstep_clock *clocks =
        xcalloc(align->axis.maps_count + 1, sizeof(*clocks));
    bool is_any = false;

    for (uint32_t i = 0; i < align->axis.maps_count; i++) {
        is_any |= calibration_fault(align->calibration, i, 0) != NULL;
    }
    for (uint32_t i = 0; is_any && i < align->axis.maps_count; i++) {
        readings_fill(&align->maps[i], &clocks[i]);
    }
    if (is_any) {
        calibration_blame(align->calibration, clocks);
    }
    for (uint32_t i = 0; i < align->axis.maps_count; i++) {
        free(clocks[i].faults);
        free(clocks[i].readings);
    }
    free(clocks);
}

void align_settle(struct align *align, const struct clockedges *edges)
{
    ck_time_t *errors = xcalloc(align->axis.maps_count + 1, sizeof(*errors));

    for (size_t i = 0; i < align->axis.maps_count; i++) {
        errors[i] = align->axis.maps[i].ticks.bound;
    }
    align->has_edges = edges != NULL && clockedges_kept(edges) > 0;
    calibration_solve(align->calibration, edges, errors);
    free(errors);
    steps_blame(align);
    for (uint32_t i = 0; i < align->axis.maps_count; i++) {
        map_place(align, i);
    }
    devices_place(align, edges);
}

void align_believe(struct align *align,
                   const struct defs *defs,
                   const ck_time_t *errors)
{
    calibration_believe(align->calibration);
    for (uint32_t i = 0; i < defs->agents_count; i++) {
        uint32_t rank = defs_rank_index(defs, defs->agents[i].rank);
        struct map *map = &align->maps[align->axis.domains[i]];

        if (rank != DEFS_NONE && errors[rank] > map->error) {
            map->error = errors[rank];
        }
    }
}

bool align_hold(struct align *align, const struct defs *defs)
{
    bool has_held = false;

    for (size_t i = 0; i < defs->agents_count; i++) {
        const struct defs_agent *agent = &defs->agents[i];
        struct map *map = &align->maps[agent->domain];

        if (!agent->is_profile || map->on->clock == NULL) {
            continue;
        }
        has_held = true;
        map->held = map->on->clock;
        map->offset = map->on->offset;
        map->on->offset = clock_map(
            map->on->clock,
            agent->start_raw + (agent->exit_time - agent->start_raw) / 2);
        map->on->clock = NULL;
    }
    return has_held;
}

void align_release(struct align *align)
{
    for (size_t i = 0; i < align->axis.maps_count; i++) {
        struct map *map = &align->maps[i];

        if (map->held != NULL) {
            map->on->clock = map->held;
            map->on->offset = map->offset;
            map->held = NULL;
        }
    }
}

void align_close(struct align *align, const struct defs *defs)
{
    align->axis.agents_count = defs->agents_count;
    align->axis.domains =
        xcalloc(defs->agents_count + 1, sizeof(*align->axis.domains));
    align->axis.maps =
        xcalloc(defs->domains_count + 1, sizeof(*align->axis.maps));
    align->maps = xcalloc(defs->domains_count + 1, sizeof(*align->maps));
    align->axis.maps_count = defs->domains_count;
    for (size_t i = 0; i < defs->domains_count; i++) {
        align->maps[i].on = &align->axis.maps[i];
    }
    for (size_t i = 0; i < defs->agents_count; i++) {
        align->axis.domains[i] = defs->agents[i].domain;
    }
    pairs_sort(align);
    calibration_close(align->calibration, defs);
    maps_realtime(align, defs);
    for (uint32_t i = 0; i < align->axis.maps_count; i++) {
        map_fill(&align->maps[i], defs);
        map_place(align, i);
    }
}

/* The first and the last stamp that may be put between two times. */
static void stamps_between(const struct align *align,
                           uint32_t agent,
                           const ck_time_t span[2],
                           ck_time_t raw[2])
{
    const struct map *map = &align->maps[align->axis.domains[agent]];

    if (map->on->clock != NULL && map->on->fold.count > 0) {
        clockfold_stamps(&map->on->fold, map->on->clock, span, raw);
        return;
    }
    raw[0] = axis_undo(&align->axis, agent, span[0]);
    raw[1] =
        span[1] == span[0] ? raw[0] : axis_undo(&align->axis, agent, span[1]);
}

/* A RAW that is off by that much is off by so much on the axis, whose clock
 * runs at another rate. */
static ck_time_t on_axis(ck_time_t error)
{
    return error + ck_clock_drift(error, CK_CLOCK_RATE_CAP_PPB);
}

/* What a map of ticks adds to the error of its domain's clock between two times
 * of RAW. Where messages were solved, it is of RAW as the ticks have it. */
static ck_time_t ticks_more(const struct align *align,
                            const struct map *map,
                            ck_time_t from,
                            ck_time_t to)
{
    ck_time_t error = ticks_error_between(&map->on->ticks, from, to);

    return align->has_edges && error <= TICKS_DOUBT ? 0 : on_axis(error);
}

/* The same of two stamps of one clock: nothing but where it is doubtful. */
static ck_time_t
ticks_doubt(const struct map *map, ck_time_t from, ck_time_t to)
{
    ck_time_t error = ticks_error_between(&map->on->ticks, from, to);

    return error <= TICKS_DOUBT ? 0 : 2 * on_axis(error);
}

/* The same of what was put between two times. */
static ck_time_t doubt_between(const struct align *align,
                               uint32_t agent,
                               const ck_time_t span[2])
{
    const struct map *map = &align->maps[align->axis.domains[agent]];
    ck_time_t raw[2];

    if (map->on->ticks.count < 2) {
        return 0;
    }
    stamps_between(align, agent, span, raw);
    return ticks_doubt(map, raw[0], raw[1]);
}

ck_time_t align_doubt(const struct align *align, uint32_t agent, ck_time_t time)
{
    const ck_time_t span[2] = {time, time};

    return doubt_between(align, agent, span) / 2;
}

int align_bound(const struct align *align,
                uint32_t agent,
                bool is_ticks,
                int64_t stamp,
                ck_time_t *bound)
{
    struct map *map = &align->maps[align->axis.domains[agent]];
    struct clockmap *clock = map->held != NULL ? map->held : map->on->clock;
    ck_time_t more =
        is_ticks ? on_axis(ticks_error(&map->on->ticks, stamp)) : 0;
    ck_time_t error;

    if (!map->domain.is_calibrated) {
        return -1;
    }
    if (clock == NULL) {
        *bound = map->error + more;
        return 0;
    }
    error = clockmap_error(clock, is_ticks ? ticks_raw(&map->on->ticks, stamp)
                                           : stamp);
    if (error == CLOCKMAP_ERROR_UNKNOWN) {
        return -1;
    }
    *bound = error + more;
    return 0;
}

/* What is known of records at a time on the axis, whatever clock stamped them.
 */
struct known {
    ck_time_t time;
    ck_time_t room; /* they may be as much earlier or later */
    ck_time_t error;
    bool is_jump; /* next to a jump of their clock */
};

static int
bound_at(const struct align *align, uint32_t agent, struct known *known)
{
    const struct map *map = &align->maps[align->axis.domains[agent]];
    const ck_time_t span[2] = {known->time - known->room,
                               known->time + known->room};
    const ck_time_t instant[2] = {known->time, known->time};
    ck_time_t raw[2], jump = 0;

    if (align_bound(align, agent, false,
                    axis_undo(&align->axis, agent, known->time),
                    &known->error) != 0) {
        return -1;
    }
    if (map->on->clock != NULL && map->on->fold.count > 0) {
        jump = clockfold_error(&map->on->fold, span);
    }
    if (jump == CLOCKMAP_ERROR_UNKNOWN) {
        return -1;
    }
    known->is_jump = jump > 0;
    known->error = jump > known->error ? jump : known->error;
    if (map->on->ticks.count > 1) {
        stamps_between(align, agent, known->is_jump ? span : instant, raw);
        known->error += ticks_more(align, map, raw[0], raw[1]);
    }
    return 0;
}

/* The bounds of both. Where a clock jumps, the other's records may be as far
 * from that time as its own may. 0, or -1. */
static int bounds_at(const struct align *align,
                     const uint32_t agents[2],
                     struct known known[2])
{
    ck_time_t error;

    if (bound_at(align, agents[0], &known[0]) != 0 ||
        bound_at(align, agents[1], &known[1]) != 0) {
        return -1;
    }
    error = known[0].error;
    for (int i = 0; i < 2; i++) {
        const struct map *map = &align->maps[align->axis.domains[agents[i]]];

        known[i].room = i == 0 ? known[1].error : error;
        if (map->on->clock != NULL && map->on->fold.count > 0 &&
            bound_at(align, agents[i], &known[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* What two clocks know of each other is about the lines that their maps follow;
 * where a map has none, nothing but its own error holds. */
static bool is_blind(const struct align *align, uint32_t agent, ck_time_t time)
{
    const struct map *map = &align->maps[align->axis.domains[agent]];

    return map->on->clock != NULL && clockmap_has_blind(map->on->clock) &&
           clockmap_is_blind(map->on->clock,
                             axis_undo(&align->axis, agent, time));
}

int align_pair_bound(const struct align *align,
                     uint32_t agent,
                     uint32_t other,
                     ck_time_t time,
                     ck_time_t *bound)
{
    const uint32_t agents[2] = {agent, other};
    struct known known[2] = {{.time = time}, {.time = time}};
    uint32_t domain = align->axis.domains[agent];
    uint32_t its = align->axis.domains[other];
    ck_time_t pair;

    *bound = 0;
    if (domain == its) {
        *bound = 2 * align_doubt(align, agent, time);
        return 0;
    }
    if (bounds_at(align, agents, known) != 0) {
        return -1;
    }
    *bound = known[0].error + known[1].error;
    /* Next to a clock that is exact there is nothing to gain; where one jumped,
     * two stamps that have this time are known differently well. */
    if (known[0].error > 0 && known[1].error > 0 && !known[0].is_jump &&
        !known[1].is_jump && align->axis.maps[domain].clock != NULL &&
        align->axis.maps[its].clock != NULL && !is_blind(align, agent, time) &&
        !is_blind(align, other, time)) {
        pair = calibration_pair(align->calibration, domain, its, time);
        pair += pair == CK_CLOCK_NONE ? 0
                                      : align_doubt(align, agent, time) +
                                            align_doubt(align, other, time);
        *bound = pair < *bound ? pair : *bound;
    }
    return 0;
}

/* Whose ticks are asked for: of one clock, or of two stamps of one; records may
 * be `room` earlier or later, part by part (NULL: not at all). */
struct parts_of {
    bool is_one;
    const ck_time_t *room;
};

/* Next to a jump, that far to both sides. */
static void span_widen(const struct map *map, ck_time_t room, ck_time_t span[2])
{
    const ck_time_t wide[2] = {span[0] - room, span[1] + room};

    if (map->on->clock != NULL && map->on->fold.count > 0 &&
        clockfold_error(&map->on->fold, wide) > 0) {
        span[0] = wide[0];
        span[1] = wide[1];
    }
}

/* What ticks add to it: in each part the largest, of one clock or of two stamps
 * of one. Next to a jump, of all that may be put there, as bound_at() has it.
 */
static void parts_ticks(const struct align *align,
                        uint32_t agent,
                        const ck_time_t stretch[2],
                        const struct parts_of *of,
                        ck_time_t parts[CLOCKPARTS])
{
    const struct map *map = &align->maps[align->axis.domains[agent]];
    double width = (double)(stretch[1] - stretch[0]) / CLOCKPARTS;

    for (size_t i = 0; map->on->ticks.count > 1 && i < CLOCKPARTS; i++) {
        ck_time_t span[2] = {stretch[0] + (ck_time_t)(width * (double)i),
                             stretch[0] + (ck_time_t)(width * (double)(i + 1)) +
                                 1};
        ck_time_t raw[2];

        if (of->room != NULL) {
            span_widen(map, of->room[i], span);
        }
        stamps_between(align, agent, span, raw);
        if (parts[i] != CLOCKMAP_ERROR_UNKNOWN) {
            parts[i] += of->is_one ? ticks_doubt(map, raw[0], raw[1])
                                   : ticks_more(align, map, raw[0], raw[1]);
        }
    }
}

/* Whatever clock stamped the records, which may be put as far beyond a part as
 * `room` has it; NULL = 0. */
static int bound_parts(const struct align *align,
                       uint32_t agent,
                       const ck_time_t stretch[2],
                       const ck_time_t *room,
                       ck_time_t parts[CLOCKPARTS])
{
    const struct map *map = &align->maps[align->axis.domains[agent]];

    if (!map->domain.is_calibrated) {
        return -1;
    }
    for (size_t i = 0; map->on->clock == NULL && i < CLOCKPARTS; i++) {
        parts[i] = map->error;
    }
    if (map->on->clock != NULL) {
        clockparts_fill(map->on->clock, stretch[0], stretch[1], parts);
        clockfold_raise(&map->on->fold, stretch, room, parts);
    }
    parts_ticks(align, agent, stretch, &(struct parts_of){false, room}, parts);
    return 0;
}

int align_bound_parts(const struct align *align,
                      uint32_t agent,
                      const ck_time_t stretch[2],
                      ck_time_t parts[CLOCKPARTS])
{
    const struct map *map = &align->maps[align->axis.domains[agent]];

    if (bound_parts(align, agent, stretch, NULL, parts) != 0) {
        return -1;
    }
    /* The axis is exact but where its counter is doubtful. */
    for (size_t i = 0; map->on->clock == NULL && i < CLOCKPARTS; i++) {
        parts[i] -=
            parts[i] - map->error <= TICKS_DOUBT ? parts[i] - map->error : 0;
    }
    return 0;
}

/* The bounds of both, as bounds_at() has them. 0, or -1. */
static int sides_parts(const struct align *align,
                       const uint32_t agents[2],
                       const ck_time_t stretch[2],
                       ck_time_t parts[2][CLOCKPARTS])
{
    ck_time_t room[2][CLOCKPARTS];

    if (bound_parts(align, agents[0], stretch, NULL, parts[0]) != 0 ||
        bound_parts(align, agents[1], stretch, NULL, parts[1]) != 0) {
        return -1;
    }
    memcpy(room, parts, sizeof(room));
    for (int i = 0; i < 2; i++) {
        const struct map *map = &align->maps[align->axis.domains[agents[i]]];

        if (map->on->clock != NULL && map->on->fold.count > 0) {
            (void)bound_parts(align, agents[i], stretch, room[1 - i], parts[i]);
        }
    }
    return 0;
}

/* What is known of two clocks together, where none of them jumped; elsewhere
 * `parts` stay, their sum. */
static void parts_lower(const struct align *align,
                        const uint32_t agents[2],
                        const ck_time_t stretch[2],
                        ck_time_t parts[CLOCKPARTS])
{
    const struct map *maps[2] = {&align->maps[align->axis.domains[agents[0]]],
                                 &align->maps[align->axis.domains[agents[1]]]};
    double width = (double)(stretch[1] - stretch[0]) / CLOCKPARTS;
    ck_time_t pair[CLOCKPARTS];

    if (maps[0]->on->clock == NULL || maps[1]->on->clock == NULL ||
        !calibration_pair_parts(
            align->calibration, align->axis.domains[agents[0]],
            align->axis.domains[agents[1]], stretch, pair)) {
        return;
    }
    parts_ticks(align, agents[0], stretch, &(struct parts_of){false, NULL},
                pair);
    parts_ticks(align, agents[1], stretch, &(struct parts_of){false, NULL},
                pair);
    for (size_t i = 0; i < CLOCKPARTS; i++) {
        ck_time_t from = stretch[0] + (ck_time_t)(width * (double)i);
        const ck_time_t span[2] = {from - parts[i],
                                   from + (ck_time_t)width + 1 + parts[i]};

        if (parts[i] != CLOCKMAP_ERROR_UNKNOWN && pair[i] < parts[i] &&
            !is_blind(align, agents[0], span[0]) &&
            !is_blind(align, agents[0], span[1]) &&
            !is_blind(align, agents[1], span[0]) &&
            !is_blind(align, agents[1], span[1]) &&
            clockfold_error(&maps[0]->on->fold, span) == 0 &&
            clockfold_error(&maps[1]->on->fold, span) == 0) {
            parts[i] = pair[i];
        }
    }
}

int align_pair_parts(const struct align *align,
                     uint32_t agent,
                     uint32_t other,
                     const ck_time_t stretch[2],
                     ck_time_t parts[CLOCKPARTS])
{
    const uint32_t agents[2] = {agent, other};
    ck_time_t sides[2][CLOCKPARTS];

    if (sides_parts(align, agents, stretch, sides) != 0) {
        return -1;
    }
    if (align->axis.domains[agent] == align->axis.domains[other]) {
        memset(parts, 0, CLOCKPARTS * sizeof(*parts));
        parts_ticks(align, agent, stretch, &(struct parts_of){true, NULL},
                    parts);
        return 0;
    }
    for (size_t i = 0; i < CLOCKPARTS; i++) {
        bool is_known = sides[0][i] != CLOCKMAP_ERROR_UNKNOWN &&
                        sides[1][i] != CLOCKMAP_ERROR_UNKNOWN;

        parts[i] =
            is_known ? sides[0][i] + sides[1][i] : CLOCKMAP_ERROR_UNKNOWN;
    }
    parts_lower(align, agents, stretch, parts);
    return 0;
}

const struct axis *align_axis(const struct align *align)
{
    return &align->axis;
}

const struct calibration *align_calibration(const struct align *align)
{
    return align->calibration;
}

struct align_domain align_domain(const struct align *align, uint32_t domain)
{
    struct align_domain row = align->maps[domain].domain;

    row.offset = align->axis.maps[domain].offset;
    row.lacks_pairs = atomic_load_explicit(
        &align->axis.maps[domain].ticks.is_lacking, memory_order_relaxed);
    return row;
}

/* What befell the counter between a point and the next. False: nothing. */
static bool counter_event(const struct ticks *ticks,
                          size_t at,
                          struct clockwatch_event *event)
{
    const struct ticks_point *point = &ticks->points[at];

    *event = (struct clockwatch_event){
        .kind = CLOCKWATCH_COUNTER, .from = point->raw, .to = point[1].raw};
    if (point->is_last) {
        event->step = ticks_jump(ticks, at);
        return true;
    }
    event->kind = CLOCKWATCH_SOURCE;
    event->source = point[1].source;
    return point->source != 0 && point[1].source != 0 &&
           point->source != point[1].source;
}

/* Add what happened to a domain's counter. */
static void ticks_watch(const struct ticks *ticks,
                        struct clockwatch_event **events,
                        size_t *count)
{
    struct clockwatch_event event;
    size_t more = 0;

    for (size_t i = 0; i + 1 < ticks->count; i++) {
        more += counter_event(ticks, i, &event);
    }
    if (more > 0) {
        void *grown = xrealloc(*events, (*count + more) * sizeof(event));

        *events = grown;
    }
    for (size_t i = 0; i + 1 < ticks->count; i++) {
        if (counter_event(ticks, i, &event)) {
            (*events)[(*count)++] = event;
        }
    }
}

void align_watch(const struct align *align,
                 uint32_t domain,
                 struct clockwatch_event **events,
                 size_t *count)
{
    const struct map *map = &align->maps[domain];
    struct clockwatch_reading *readings =
        xmalloc((map->pairs_count + 1) * sizeof(*readings));
    size_t kept = 0;

    for (size_t i = 0; i < map->pairs_count; i++) {
        const struct pair *pair = &map->pairs[i];

        if (pair->clock != CK_CLOCK_TSC) {
            readings[kept++] = (struct clockwatch_reading){
                domain, pair->clock, pair->raw, pair->stamp - pair->raw,
                pair->width};
        }
    }
    clockwatch_find(readings, kept, domain, events, count);
    free(readings);
    ticks_watch(&map->on->ticks, events, count);
}

int64_t align_realtime(const struct align *align)
{
    const struct map *map = align->maps;

    return align->axis.maps_count > 0 && map->has_realtime
               ? map->realtime - map->domain.clock.offset
               : 0;
}
