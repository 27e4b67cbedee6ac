/* clockcuts.c - where clocks are known to have jumped, before all is solved
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The band of a clock d against the reference r jumps: it was d or r. Against
 * the axis, then
 *
 *   d jumps         unless d is the axis
 *   r jumps         unless r is the axis, or another clock that is probed then
 *                   does not see it: it was d
 *   all others do   if d is the axis; one that is probed cannot see that
 *
 * If r is the axis, each clock that is probed sees the jump itself.
 */
#include "merge/clocks/clockcuts.h"

#include "schema/clock/clocktrend.h"

#define AXIS 0
/* Each clock is looked at in bursts of its own: what is this far from a jump
 * may be of it. */
#define NEAR (1500 * CK_TIME_MS)
/* Steps this much smaller may hide in the delays of another clock's probes. */
#define HIDDEN 4
/* Larger ones are damage; sums of some are to fit. */
#define SIZE_MOST (CK_CLOCK_NONE / 64)

/* From the last reading of the old time to the first one of the new. */
struct span {
    ck_time_t from;
    ck_time_t to;
};

/* A jump that the band of a domain shows. */
struct jump {
    uint32_t domain;
    const struct ck_clock_fault *fault;
};

/* How far theta is from one side to the other. */
static ck_time_t size_of(const struct ck_clock_fault *fault)
{
    ck_time_t step = ck_clock_distance(fault->step, 0);

    return (step < SIZE_MOST ? step : SIZE_MOST) +
           (fault->bound < SIZE_MOST ? fault->bound : SIZE_MOST);
}

/* The reference's clock meanwhile. */
static struct span span_there(const struct ck_clockband *band,
                              const struct ck_clock_fault *fault)
{
    struct ck_clock_offset from = {0, 0}, to = {0, 0};

    (void)ck_clockband_at(band, fault->from, &from);
    (void)ck_clockband_at(band, fault->to, &to);
    return (struct span){fault->from + from.offset - from.bound,
                         fault->to + to.offset + to.bound};
}

/* The same by a clock that is probed. */
static struct span span_here(const struct ck_clockband *band, struct span there)
{
    struct ck_clock_offset from = {0, 0}, to = {0, 0};

    for (int i = 0; i < 2; i++) {
        (void)ck_clockband_at(band, there.from - from.offset, &from);
        (void)ck_clockband_at(band, there.to - to.offset, &to);
    }
    return (struct span){there.from - from.offset - from.bound,
                         there.to - to.offset + to.bound};
}

/* A clock that is probed before and after, and saw nothing of a jump of the
 * reference: that did not jump. */
static bool is_witness(const struct clockcuts_clock *clock,
                       struct span there,
                       const struct ck_clock_fault *jump)
{
    struct span here = span_here(clock->band, there);
    const struct ck_clock_fault *fault;

    if (clock->from > here.from || clock->to < here.to ||
        ck_clock_distance(jump->step, 0) - jump->bound <
            HIDDEN * clock->rtt_min) {
        return false;
    }
    for (size_t i = 0; (fault = ck_clockband_fault(clock->band, i)) != NULL;
         i++) {
        if (fault->from <= here.to + NEAR && fault->to >= here.from - NEAR) {
            return false;
        }
    }
    return true;
}

/* Whether it may be the reference's. */
static bool is_reference_in_doubt(const struct clockcuts *on,
                                  const struct jump *jump)
{
    struct span there = span_there(on->clocks[jump->domain].band, jump->fault);

    for (uint32_t d = 0; d < on->count; d++) {
        if (d != jump->domain && on->clocks[d].band != NULL &&
            is_witness(&on->clocks[d], there, jump->fault)) {
            return false;
        }
    }
    return true;
}

/* One jump, as several clocks show it. */
static bool
is_same(const struct clock_cut *a, const struct clock_cut *b, ck_time_t bound)
{
    return a->domain == b->domain && a->shown_by != b->shown_by &&
           a->from <= b->to && b->from <= a->to &&
           ck_clock_distance(a->size, b->size) <= 2 * bound;
}

static void cut_join(struct clock_cut *into, const struct clock_cut *cut)
{
    into->from = cut->from < into->from ? cut->from : into->from;
    into->to = cut->to > into->to ? cut->to : into->to;
    into->size = cut->size > into->size ? cut->size : into->size;
}

/* A clock that was set back shows as much twice: on both sides, as many
 * readings may be of the other one. */
static void cut_put(struct clockgraph *graph,
                    const struct jump *jump,
                    uint32_t domain,
                    struct span span,
                    bool is_back)
{
    ck_time_t size = size_of(jump->fault);
    ck_time_t twice = is_back ? size : 0;
    struct clock_cut cut = {.domain = domain,
                            .shown_by = jump->domain,
                            .from = span.from - twice,
                            .to = span.to + twice,
                            .size = size};

    for (size_t i = 0; i < graph->cuts_count; i++) {
        if (is_same(&graph->cuts[i], &cut, jump->fault->bound)) {
            cut_join(&graph->cuts[i], &cut);
            return;
        }
    }
    clockgraph_cut(graph, &cut);
}

static void jump_cut(const struct clockcuts *on,
                     const struct jump *jump,
                     struct clockgraph *graph)
{
    const struct ck_clock_fault *fault = jump->fault;
    struct span there = span_there(on->clocks[jump->domain].band, fault);

    cut_put(graph, jump, jump->domain, (struct span){fault->from, fault->to},
            fault->step > 0);
    if (on->reference != AXIS &&
        (jump->domain == AXIS || is_reference_in_doubt(on, jump))) {
        cut_put(graph, jump, on->reference, there, fault->step < 0);
    }
    for (uint32_t d = AXIS + 1; jump->domain == AXIS && d < on->count; d++) {
        if (on->clocks[d].band != NULL) {
            cut_put(graph, jump, d, span_here(on->clocks[d].band, there),
                    false);
        }
    }
}

static void
band_cut(const struct clockcuts *on, uint32_t domain, struct clockgraph *graph)
{
    struct jump jump = {.domain = domain};

    for (size_t i = 0;
         (jump.fault = ck_clockband_fault(on->clocks[domain].band, i)) != NULL;
         i++) {
        if (jump.fault->kind != CK_CLOCK_FAULT_PROBE) {
            jump_cut(on, &jump, graph);
        }
    }
}

void clockcuts_put(const struct clockcuts *on, struct clockgraph *graph)
{
    for (uint32_t d = 0; d < on->count; d++) {
        if (on->clocks[d].band != NULL) {
            band_cut(on, d, graph);
        }
    }
    for (size_t i = 0; i < on->backs_count; i++) {
        const struct clockback *back = &on->backs[i];
        const struct jump jump = {back->domain, &back->fault};

        cut_put(graph, &jump, back->domain, (struct span){back->from, back->to},
                false);
    }
}
