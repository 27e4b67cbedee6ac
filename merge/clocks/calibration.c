/* calibration.c - the offset of each clock domain, with its bound
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ways: each domain's band against the reference as it is, or all facts in
 * one graph, in which the reference is a clock like the others.
 */
#include "merge/clocks/calibration.h"

#include <stdlib.h>
#include <string.h>

#include "merge/clocks/clockback.h"
#include "merge/clocks/clockcuts.h"
#include "merge/clocks/clockedges.h"
#include "merge/clocks/clockjump.h"
#include "merge/clocks/clockpair.h"
#include "merge/clocks/clockreach.h"
#include "merge/clocks/solve/clockgraph.h"
#include "merge/clocks/solve/clocksolve.h"
#include "merge/model/array.h"
#include "merge/clocks/probeband.h"
#include "merge/model/memory.h"
#include "schema/clock/clocktrend.h"
#include "schema/store/run.h"

struct domain {
    struct ck_clockband *band; /* NULL = not probed */
    struct calibration_domain facts;
    struct clockmap map;
    struct ck_clock_fault *jumps; /* without a band: by all facts */
    bool is_blamed;               /* jumps are the clock's own, of all kinds */
};

struct calibration {
    struct calibration_probe *probes;
    size_t probes_count, probes_room;
    struct domain *domains;
    size_t domains_count;
    uint32_t *domain_of; /* agent */
    uint32_t reference;  /* domain, DEFS_NONE = none of them */
    struct clockgraph *graph;
    struct clocksolve *solve;
    struct clockpair *pair;
    struct clockback *backs;
    size_t backs_count;
    struct domain *devices; /* that were set apart */
    size_t devices_count;
};

struct calibration *calibration_create(void)
{
    return xcalloc(1, sizeof(struct calibration));
}

void calibration_destroy(struct calibration *calibration)
{
    if (calibration == NULL) {
        return;
    }
    for (size_t i = 0; i < calibration->domains_count; i++) {
        ck_clockband_destroy(calibration->domains[i].band);
        clockmap_fini(&calibration->domains[i].map);
        free(calibration->domains[i].jumps);
    }
    for (size_t i = 0; i < calibration->devices_count; i++) {
        clockmap_fini(&calibration->devices[i].map);
        free(calibration->devices[i].jumps);
    }
    free(calibration->devices);
    clockpair_destroy(calibration->pair);
    clocksolve_destroy(calibration->solve);
    clockgraph_destroy(calibration->graph);
    free(calibration->backs);
    free(calibration->domain_of);
    free(calibration->domains);
    free(calibration->probes);
    free(calibration);
}

void calibration_probe(struct calibration *calibration,
                       uint32_t agent,
                       const struct ck_clock_fact *fact)
{
    struct calibration_probe *probe;

    array_grow(&calibration->probes, &calibration->probes_room,
               calibration->probes_count, sizeof(*probe));
    probe = &calibration->probes[calibration->probes_count++];
    probe->agent = agent;
    probe->stamps = (struct ck_clock_probe){
        .a1 = fact->e.start,
        .r2 = fact->value,
        .r3 = fact->t3,
        .a4 = fact->t4,
        .error_forward = fact->width,
        .error_backward = fact->width,
    };
}

void calibration_forget(struct calibration *calibration)
{
    calibration->probes_count = 0;
}

const struct calibration_probe *
calibration_probes(const struct calibration *calibration, size_t *count)
{
    *count = calibration->probes_count;
    return calibration->probes;
}

/* The reference's boot id and time namespace as some agent received them. */
static bool
reference_read(const struct defs *defs, char boot[64], char timens[64])
{
    for (size_t i = 0; i < defs->agents_count; i++) {
        const char *const lines[] = {defs->agents[i].identity,
                                     defs->agents[i].exit};

        for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
            size_t length = lines[k] == NULL ? 0 : strlen(lines[k]);

            if (length > 0 &&
                ck_lines_get(lines[k], length, "reference_boot_id", boot, 64) &&
                ck_lines_get(lines[k], length, "reference_timens", timens,
                             64)) {
                return true;
            }
        }
    }
    return false;
}

uint32_t calibration_reference(const struct defs *defs)
{
    char boot[64];
    char timens[64];

    if (!reference_read(defs, boot, timens) || boot[0] == '\0') {
        return DEFS_NONE;
    }
    for (size_t i = 0; i < defs->domains_count; i++) {
        if (strcmp(defs->domains[i].boot_id, boot) == 0 &&
            strcmp(defs->domains[i].timens, timens) == 0) {
            return (uint32_t)i;
        }
    }
    return DEFS_NONE;
}

static void probe_add(struct domain *domain,
                      const struct ck_clock_probe *stamps)
{
    if (stamps->r2 == 0 || stamps->a4 == 0) {
        domain->facts.lost++;
    }
    (void)probeband_add(&domain->band, stamps);
}

static void domain_solve(struct domain *domain)
{
    struct calibration_domain *facts = &domain->facts;
    struct ck_clock_offset middle;
    ck_time_t at;

    if (domain->band == NULL) {
        return;
    }
    if (!probeband_solve(domain->band)) {
        return;
    }
    ck_clockband_summarise(domain->band, &facts->band);
    at = facts->band.from + (facts->band.to - facts->band.from) / 2;
    if (ck_clockband_at(domain->band, at, &middle) == 0) {
        facts->method = CALIBRATION_FACTS;
        facts->used[CLOCK_SOURCE_PROBE] = facts->band.probes;
        facts->offset = middle.offset;
    }
}

/* Domain 0 has no place on the reference's axis: it is the axis. */
static void axis_withdraw(struct calibration *calibration)
{
    for (size_t i = 0; i < calibration->domains_count; i++) {
        struct calibration_domain *facts = &calibration->domains[i].facts;

        facts->method = i == 0 ? CALIBRATION_SAME : CALIBRATION_NONE;
        facts->offset = 0;
    }
}

/* Which clocks the bands put on the reference's axis. */
static void axis_choose(struct calibration *calibration)
{
    if (calibration->reference != DEFS_NONE) {
        calibration->domains[calibration->reference].facts.method =
            CALIBRATION_SAME;
    }
    if (calibration->domains_count > 0 &&
        calibration->domains[0].facts.method == CALIBRATION_NONE) {
        axis_withdraw(calibration);
    }
}

void calibration_close(struct calibration *calibration, const struct defs *defs)
{
    calibration->reference = calibration_reference(defs);
    calibration->domains =
        xcalloc(defs->domains_count + 1, sizeof(*calibration->domains));
    calibration->domain_of =
        xcalloc(defs->agents_count + 1, sizeof(*calibration->domain_of));
    calibration->domains_count = defs->domains_count;
    for (size_t i = 0; i < defs->agents_count; i++) {
        calibration->domain_of[i] = defs->agents[i].domain;
    }
    for (size_t i = 0; i < calibration->probes_count; i++) {
        const struct calibration_probe *probe = &calibration->probes[i];
        uint32_t domain = calibration->domain_of[probe->agent];

        if (domain != calibration->reference) {
            probe_add(&calibration->domains[domain], &probe->stamps);
        }
    }
    for (size_t i = 0; i < calibration->domains_count; i++) {
        domain_solve(&calibration->domains[i]);
    }
    axis_choose(calibration);
    clockback_find(calibration->probes, calibration->probes_count,
                   calibration->domain_of, &calibration->backs,
                   &calibration->backs_count);
}

/* ---- maps of bands ------------------------------------------------------- */

static void points_add(struct clockmap_point **points,
                       size_t *room,
                       size_t count,
                       struct clockmap_point point)
{
    array_grow(points, room, count, sizeof(point));
    (*points)[count] = point;
}

static void band_map(struct domain *domain)
{
    struct clockmap_point *points = NULL;
    struct ck_clockband_knot knot;
    size_t count = 0, room = 0, index = 0;

    while (ck_clockband_knot(domain->band, &index, &knot)) {
        points_add(&points, &room, count,
                   (struct clockmap_point){
                       .at = knot.at,
                       .offset = knot.theta.offset,
                       .bound = knot.theta.bound,
                       .rate_ppb = knot.rate_ppb,
                       .is_last = knot.is_last,
                   });
        count++;
    }
    if (count > 0) {
        domain->facts.drift_ppb = clockjump_drift(points, count);
        domain->facts.wander_ppb = domain->facts.band.wander_ppb;
        domain->facts.hidden_ppb = domain->facts.band.hidden_ppb;
        (void)clockmap_make(&domain->map, points,
                            clockjump_clear(points, count));
    }
    free(points);
}

static void bands_map(struct calibration *calibration)
{
    for (size_t i = 0; i < calibration->domains_count; i++) {
        struct domain *domain = &calibration->domains[i];

        if (domain->facts.method == CALIBRATION_FACTS) {
            band_map(domain);
        }
        clockback_mark(calibration->backs, calibration->backs_count,
                       (uint32_t)i, &domain->map);
    }
}

/* ---- all facts together -------------------------------------------------- */

/* The reference in the graph: a domain, or the one behind the last. */
static uint32_t reference_node(const struct calibration *calibration)
{
    return calibration->reference != DEFS_NONE
               ? calibration->reference
               : (uint32_t)calibration->domains_count;
}

/* The band found the stamp to be wrong. */
static bool is_bad_stamp(const struct ck_clockband *band, ck_time_t at)
{
    const struct ck_clock_fault *fault;

    for (size_t i = 0;
         band != NULL && (fault = ck_clockband_fault(band, i)) != NULL; i++) {
        if (fault->kind == CK_CLOCK_FAULT_PROBE && fault->from == at) {
            return true;
        }
    }
    return false;
}

static void probe_put(struct calibration *calibration,
                      const struct calibration_probe *probe,
                      ck_time_t stamp_error)
{
    const struct ck_clock_probe *stamps = &probe->stamps;
    uint32_t domain = calibration->domain_of[probe->agent];
    const struct ck_clockband *band = calibration->domains[domain].band;
    struct clock_edge edge = {.from = domain,
                              .to = reference_node(calibration),
                              .source = CLOCK_SOURCE_PROBE};

    if (domain == calibration->reference ||
        (stamps->r2 != 0 && stamps->r3 != 0 && stamps->r3 < stamps->r2) ||
        (stamps->a4 != 0 && stamps->a4 < stamps->a1)) {
        return;
    }
    edge.sent = stamps->a1;
    edge.received = stamps->r2 + stamps->error_forward + stamp_error;
    if (stamps->r2 != 0 && !is_bad_stamp(band, stamps->a1)) {
        (void)clockgraph_edge(calibration->graph, &edge);
    }
    edge.from = edge.to;
    edge.to = domain;
    edge.sent = stamps->r3;
    edge.received = stamps->a4 + stamps->error_backward + stamp_error;
    if (stamps->r3 != 0 && stamps->a4 != 0 && !is_bad_stamp(band, stamps->a4)) {
        (void)clockgraph_edge(calibration->graph, &edge);
    }
}

/* Where bands, and the order of probes, show that clocks jumped. */
static void cuts_put(struct calibration *calibration)
{
    struct clockcuts_clock *clocks =
        xcalloc(calibration->domains_count + 1, sizeof(*clocks));

    for (size_t i = 0; i < calibration->domains_count; i++) {
        const struct domain *domain = &calibration->domains[i];

        clocks[i] = (struct clockcuts_clock){
            .band = domain->band,
            .rtt_min = domain->facts.band.rtt_min,
            .from = domain->facts.band.from,
            .to = domain->facts.band.to,
        };
    }
    clockcuts_put(
        &(struct clockcuts){
            .clocks = clocks,
            .count = (uint32_t)calibration->domains_count,
            .reference = reference_node(calibration),
            .backs = calibration->backs,
            .backs_count = calibration->backs_count,
        },
        calibration->graph);
    free(clocks);
}

static void graph_fill(struct calibration *calibration,
                       const struct clockedges *edges,
                       const ck_time_t *stamp_error)
{
    uint32_t count = (uint32_t)calibration->domains_count;

    calibration->graph =
        clockgraph_create(count + 1 + (uint32_t)clockedges_devices(edges));
    clockedges_fill(edges, calibration->graph);
    for (size_t i = 0; i < calibration->probes_count; i++) {
        const struct calibration_probe *probe = &calibration->probes[i];
        uint32_t domain = calibration->domain_of[probe->agent];

        probe_put(calibration, probe, stamp_error[domain]);
    }
    cuts_put(calibration);
    clockgraph_close(calibration->graph);
}

/* Facts of a domain by source, and how many were dropped. */
static void facts_count(const struct calibration *calibration,
                        uint32_t domain,
                        struct calibration_domain *facts)
{
    const struct clockgraph *graph = calibration->graph;

    memset(facts->used, 0, sizeof(facts->used));
    facts->dropped = 0;
    for (size_t i = graph->first[domain]; i < graph->first[domain + 1]; i++) {
        const struct clock_edge *edge =
            &graph->edges[graph->ends[i].which >> 1];

        facts->used[edge->source] += !edge->is_dropped;
        facts->dropped +=
            edge->is_dropped && edge->source != CLOCK_SOURCE_PROBE;
    }
    facts->method = CALIBRATION_FACTS;
}

/* The domain's map from the knots of the solution. */
static void knots_map(const struct calibration *calibration,
                      uint32_t domain,
                      struct domain *of)
{
    struct clockmap_point *points;
    const struct clocksolve_knot *knots;
    struct clockreach reach;
    size_t count, kept;

    knots = clocksolve_knots(calibration->solve, domain, &count);
    reach = (struct clockreach){calibration->graph, domain, knots, count};
    clockjump_points(knots, count, &points, &kept);
    of->facts.method = CALIBRATION_NONE;
    of->facts.offset = 0;
    if (of->band == NULL) {
        clockjump_find(points, kept, &of->jumps, &of->facts.band.faults);
    }
    if (kept > 0) {
        ck_time_t span = points[kept - 1].at - points[0].at;

        of->facts.drift_ppb = clockjump_drift(points, kept);
        of->facts.wander_ppb = clocksolve_wander(calibration->solve, domain,
                                                 &of->facts.hidden_ppb);
        clockreach_between(&reach, points, kept);
        kept = clockjump_clear(points, kept);
        clockreach_ends(&reach, &points, &kept);
        (void)clockmap_make(&of->map, points, kept);
        clockback_mark(calibration->backs, calibration->backs_count, domain,
                       &of->map);
        facts_count(calibration, domain, &of->facts);
        of->facts.offset = clock_map(&of->map, points[0].at + span / 2);
    }
    free(points);
}

/* The maps of devices that have a clock of their own. */
static void devices_map(struct calibration *calibration,
                        const struct clockedges *edges)
{
    uint32_t first = (uint32_t)calibration->domains_count + 1;
    size_t count = clockedges_devices(edges);

    calibration->devices = xcalloc(count + 1, sizeof(*calibration->devices));
    calibration->devices_count = count;
    for (size_t i = 0; i < count; i++) {
        if (clockedges_device_at(edges, i)->is_apart) {
            knots_map(calibration, first + (uint32_t)i,
                      &calibration->devices[i]);
        }
    }
}

static void facts_solve(struct calibration *calibration,
                        const struct clockedges *edges,
                        const ck_time_t *stamp_error)
{
    graph_fill(calibration, edges, stamp_error);
    calibration->solve = clocksolve_create(calibration->graph, NULL);
    clocksolve_run(calibration->solve, 0);
    for (uint32_t d = 1; d < calibration->domains_count; d++) {
        knots_map(calibration, d, &calibration->domains[d]);
    }
    calibration->domains[0].facts.method = CALIBRATION_SAME;
    calibration->domains[0].facts.offset = 0;
    calibration->pair = clockpair_create(calibration->solve);
    devices_map(calibration, edges);
}

void calibration_solve(struct calibration *calibration,
                       const struct clockedges *edges,
                       const ck_time_t *stamp_error)
{
    if (edges == NULL || clockedges_kept(edges) == 0) {
        bands_map(calibration);
        return;
    }
    facts_solve(calibration, edges, stamp_error);
}

void calibration_believe(struct calibration *calibration)
{
    for (size_t i = 0; i < calibration->domains_count; i++) {
        calibration->domains[i].facts.method =
            i == 0 ? CALIBRATION_SAME : CALIBRATION_DATES;
        calibration->domains[i].facts.offset = 0;
    }
}

/* A limit within readings that a clock showed twice is no wrong stamp. */
static bool is_twice(const struct calibration *calibration,
                     uint32_t domain,
                     const struct ck_clock_fault *fault)
{
    for (size_t i = 0;
         fault->kind == CK_CLOCK_FAULT_PROBE && i < calibration->backs_count;
         i++) {
        const struct clockback *back = &calibration->backs[i];

        if (back->domain == domain && back->from <= fault->from &&
            fault->from <= back->to) {
            return true;
        }
    }
    return false;
}

/* Steps that the order of probes shows, and nothing else did. */
static void backs_collect(const struct calibration *calibration,
                          uint32_t number,
                          struct clockstep_clock *clock)
{
    struct clockmap *map = calibration_map(calibration, number);

    for (size_t i = 0; i < calibration->backs_count; i++) {
        const struct clockback *back = &calibration->backs[i];
        struct clockstep_fault step = {back->fault, back->fault.from,
                                       back->fault.to};

        if (back->domain != number || map == NULL) {
            continue;
        }
        step.from += clock_map(map, step.from);
        step.to += clock_map(map, step.to);
        if (!clockstep_has(clock, &step)) {
            clockstep_add(clock, &step);
        }
    }
}

/* A domain's faults, with the clock that they were found against. */
static void faults_collect(const struct calibration *calibration,
                           uint32_t number,
                           struct clockstep_clock *clock)
{
    const struct domain *domain = &calibration->domains[number];
    struct clockmap *map = calibration_map(calibration, number);
    const struct ck_clock_fault *fault;

    clock->against = CLOCKSTEP_NONE;
    if (domain->band != NULL && calibration->reference != DEFS_NONE) {
        clock->against = calibration->reference;
    } else if (domain->band == NULL && number != 0 && map != NULL) {
        clock->against = 0;
    }
    for (size_t i = 0;
         (fault = calibration_fault(calibration, number, i)) != NULL; i++) {
        struct clockstep_fault step = {*fault, fault->from, fault->to};
        struct ck_clock_offset from = {0, 0}, to = {0, 0};

        if (is_twice(calibration, number, fault)) {
            continue;
        }
        if (domain->band != NULL) {
            (void)ck_clockband_at(domain->band, fault->from, &from);
            (void)ck_clockband_at(domain->band, fault->to, &to);
        } else if (map != NULL) {
            from.offset = clock_map(map, fault->from);
            to.offset = clock_map(map, fault->to);
        }
        step.from += from.offset;
        step.to += to.offset;
        clockstep_add(clock, &step);
    }
    backs_collect(calibration, number, clock);
}

static void faults_keep(struct domain *domain,
                        const struct clockstep_clock *clock)
{
    struct ck_clock_fault *kept = xcalloc(clock->count + 1, sizeof(*kept));

    for (size_t i = 0; i < clock->count; i++) {
        kept[i] = clock->faults[i].fault;
    }
    free(domain->jumps);
    domain->jumps = kept;
    domain->facts.band.faults = clock->count;
    domain->is_blamed = true;
}

void calibration_blame(struct calibration *calibration,
                       struct clockstep_clock *clocks)
{
    size_t count = calibration->domains_count;

    for (uint32_t i = 0; i < count; i++) {
        faults_collect(calibration, i, &clocks[i]);
    }
    clockstep_blame(clocks, count);
    for (uint32_t i = 0; i < count; i++) {
        faults_keep(&calibration->domains[i], &clocks[i]);
    }
}

struct clockmap *calibration_map(const struct calibration *calibration,
                                 uint32_t domain_number)
{
    struct domain *domain = &calibration->domains[domain_number];

    return domain->map.count == 0 ? NULL : &domain->map;
}

struct clockmap *calibration_device(const struct calibration *calibration,
                                    uint32_t domain)
{
    size_t index = domain - calibration->domains_count - 1;

    return index < calibration->devices_count &&
                   calibration->devices[index].map.count > 0
               ? &calibration->devices[index].map
               : NULL;
}

ck_time_t calibration_pair(const struct calibration *calibration,
                           uint32_t a,
                           uint32_t b,
                           ck_time_t time)
{
    return calibration->pair == NULL
               ? CK_CLOCK_NONE
               : clockpair_bound(calibration->pair, a, b, time);
}

bool calibration_pair_parts(const struct calibration *calibration,
                            uint32_t a,
                            uint32_t b,
                            const ck_time_t stretch[2],
                            ck_time_t parts[CLOCKPARTS])
{
    return calibration->pair != NULL &&
           clockpair_parts(calibration->pair, a, b, stretch, parts);
}

bool calibration_pair_is_solved(const struct calibration *calibration,
                                uint32_t a,
                                uint32_t b,
                                ck_time_t time)
{
    return calibration->pair == NULL || a == 0 || b == 0 || a == b ||
           clockpair_bound(calibration->pair, a, b, time) != CK_CLOCK_NONE;
}

const struct clocksolve_fault *
calibration_conflict(const struct calibration *calibration, size_t index)
{
    return calibration->solve == NULL
               ? NULL
               : clocksolve_fault(calibration->solve, index);
}

struct calibration_domain
calibration_domain(const struct calibration *calibration, uint32_t domain)
{
    return calibration->domains[domain].facts;
}

const struct ck_clock_fault *calibration_fault(
    const struct calibration *calibration, uint32_t domain, size_t index)
{
    const struct domain *of = &calibration->domains[domain];

    if (!of->is_blamed && of->band != NULL) {
        return ck_clockband_fault(of->band, index);
    }
    return index < of->facts.band.faults ? &of->jumps[index] : NULL;
}

const char *calibration_name(const struct calibration_domain *domain)
{
    static const char *const names[] = {"none",
                                        "probes",
                                        "messages",
                                        "probes and messages",
                                        "kernels",
                                        "probes and kernels",
                                        "messages and kernels",
                                        "probes, messages and kernels"};
    const uint64_t *used = domain->used;

    if (domain->method != CALIBRATION_FACTS) {
        if (domain->method == CALIBRATION_SAME) {
            return "same clock";
        }
        if (domain->method == CALIBRATION_DATES) {
            return "dates";
        }
        return names[0];
    }
    return names
        [(used[CLOCK_SOURCE_PROBE] > 0) +
         2 * (used[CLOCK_SOURCE_MESSAGE] + used[CLOCK_SOURCE_COLLECTIVE] > 0) +
         4 * (used[CLOCK_SOURCE_KERNEL] + used[CLOCK_SOURCE_DEVICE] > 0)];
}

char calibration_grade(ck_time_t bound)
{
    return ck_clock_grade(bound);
}
