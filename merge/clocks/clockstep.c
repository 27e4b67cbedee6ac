/* clockstep.c - whose clock jumped
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/clockstep.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/clock/clocktrend.h"
#include "schema/order.h"

/* MONOTONIC leaves its usual rate against RAW no faster: 50 ppm. */
#define SLEW_PPB 50000
/* Readings come each second; a fault is about one when it is no further off. */
#define NEAR (1500 * CK_TIME_MS)
/* A limit contradicts another by less than the step between them: by the
 * delays, a quarter of it at most. */
#define STAMP_SHARE 4

void clockstep_add(struct clockstep_clock *clock,
                   const struct clockstep_fault *fault)
{
    array_grow(&clock->faults, &clock->room, clock->count, sizeof(*fault));
    clock->faults[clock->count++] = *fault;
}

/* How much MONOTONIC gained on RAW from a reading to the next, in ppb of the
 * time that MONOTONIC counted. */
static int64_t gain_of(const struct clockstep_reading *reading)
{
    ck_time_t passed = reading[1].other - reading[0].other;
    ck_time_t gained = passed - (reading[1].raw - reading[0].raw);

    return passed <= 0 ? 0 : (int64_t)((__int128)gained * 1000000000 / passed);
}

CK_ORDER(gain_order, int64_t, CK_LESS(*a, *b))

/* The usual gain. */
static void gain_median(const struct clockstep_clock *clock, int64_t *median)
{
    size_t count = clock->readings_count;
    int64_t *gains = xmalloc((count + 1) * sizeof(*gains));

    *median = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        gains[i] = gain_of(&clock->readings[i]);
    }
    if (count > 1) {
        qsort(gains, count - 1, sizeof(*gains), gain_order);
        *median = gains[(count - 1) / 2];
    }
    free(gains);
}

/* A jump of RAW, and how well its size is known. */
struct jump {
    ck_time_t size;
    ck_time_t slack;
};

/* What RAW did from a reading to the next. */
static struct jump jump_of(const struct clockstep_reading *a, int64_t usual)
{
    ck_time_t passed = a[1].other - a->other;

    return (struct jump){a[1].raw - a->raw - passed +
                             (ck_time_t)((__int128)passed * usual / 1000000000),
                         a->width + a[1].width +
                             ck_clock_drift(passed, SLEW_PPB)};
}

/* The two are near a stretch of the clock. */
static bool is_near(const struct clockstep_reading *a, const ck_time_t part[2])
{
    ck_time_t low = a->raw < a[1].raw ? a->raw : a[1].raw;
    ck_time_t high = a->raw < a[1].raw ? a[1].raw : a->raw;

    return a[1].other > a->other && high >= part[0] - NEAR &&
           low <= part[1] + NEAR;
}

/* Between two readings near a stretch of the clock: did RAW jump by about
 * that much? As the readings have it, if so. */
static bool jump_find(const struct clockstep_clock *clock,
                      const ck_time_t part[2],
                      struct jump *wanted)
{
    int64_t usual;

    gain_median(clock, &usual);
    for (size_t i = 0; i + 1 < clock->readings_count; i++) {
        struct jump jump = jump_of(&clock->readings[i], usual);

        if (is_near(&clock->readings[i], part) &&
            ck_clock_distance(jump.size, 0) > jump.slack &&
            ck_clock_distance(jump.size, wanted->size) <=
                jump.slack + wanted->slack) {
            *wanted = jump;
            return true;
        }
    }
    return false;
}

/* The largest that RAW did between readings near a stretch; `least`: what they
 * show at least. False: there are none on both sides of it. */
static bool jump_largest(const struct clockstep_clock *clock,
                         const ck_time_t part[2],
                         ck_time_t *largest,
                         ck_time_t *least)
{
    size_t count = clock->readings_count;
    int64_t usual;

    *largest = *least = 0;
    if (count < 2 || clock->readings[0].raw > part[0] ||
        clock->readings[count - 1].raw < part[1]) {
        return false;
    }
    gain_median(clock, &usual);
    for (size_t i = 0; i + 1 < count; i++) {
        struct jump jump = jump_of(&clock->readings[i], usual);
        ck_time_t size = ck_clock_distance(jump.size, 0);

        if (!is_near(&clock->readings[i], part)) {
            continue;
        }
        *least = jump.slack > *least ? jump.slack : *least;
        if (size > jump.slack && size > *largest) {
            *largest = size;
        }
    }
    return true;
}

/* A clock that is set twice within a second shows another size than what the
 * facts do: then it is the one whose readings jumped at all, if the other's
 * would show such a step and do not. */
static bool is_alone(const struct clockstep_clock *clock,
                     const ck_time_t part[2],
                     const struct clockstep_clock *quiet,
                     const ck_time_t its[2],
                     ck_time_t size)
{
    ck_time_t largest, least, none;

    return jump_largest(clock, part, &largest, &least) &&
           largest >= size / STAMP_SHARE && largest > 0 &&
           jump_largest(quiet, its, &none, &least) && none == 0 &&
           size > 2 * least;
}

static bool has_jump(const struct clockstep_clock *clock,
                     const ck_time_t part[2],
                     ck_time_t size,
                     ck_time_t slack)
{
    struct jump wanted = {size, slack};

    return jump_find(clock, part, &wanted);
}

static bool is_same_time(const struct clockstep_fault *a,
                         const struct clockstep_fault *b)
{
    ck_time_t first = a->from < a->to ? a->from : a->to;
    ck_time_t last = a->from < a->to ? a->to : a->from;

    return (b->from <= last + NEAR || b->to <= last + NEAR) &&
           (b->from >= first - NEAR || b->to >= first - NEAR);
}

/* A clock against the same one has the same step about that time: each looks
 * at it in bursts of its own, and a clock set backwards shows times twice. */
bool clockstep_has(const struct clockstep_clock *clock,
                   const struct clockstep_fault *step)
{
    for (size_t i = 0; i < clock->count; i++) {
        const struct clockstep_fault *other = &clock->faults[i];

        if (other->fault.kind != CK_CLOCK_FAULT_PROBE &&
            is_same_time(other, step) &&
            ck_clock_distance(other->fault.step, step->fault.step) <=
                other->fault.bound + step->fault.bound) {
            return true;
        }
    }
    return false;
}

/* Several clocks are known against that one, and nearly all of them jumped at
 * once by as much: one of three or more may not show it, next to a step of its
 * own. */
static bool is_common(const struct clockstep_clock *clocks,
                      size_t count,
                      uint32_t against,
                      const struct clockstep_fault *step)
{
    size_t others = 0, shown = 0;

    for (size_t i = 0; i < count; i++) {
        if (clocks[i].against == against) {
            others++;
            shown += clockstep_has(&clocks[i], step);
        }
    }
    return shown > 1 && shown + 1 >= others;
}

/* Whether a step that a clock shows is the other one's. */
static bool is_others(const struct clockstep_clock *clocks,
                      size_t count,
                      size_t number,
                      const struct clockstep_fault *step)
{
    uint32_t against = clocks[number].against;
    const ck_time_t own[2] = {step->fault.from, step->fault.to};
    const ck_time_t its[2] = {step->from, step->to};

    if (step->fault.kind == CK_CLOCK_FAULT_PROBE || against >= count ||
        has_jump(&clocks[number], own, -step->fault.step, step->fault.bound)) {
        return false;
    }
    return has_jump(&clocks[against], its, step->fault.step,
                    step->fault.bound) ||
           is_alone(&clocks[against], its, &clocks[number], own,
                    ck_clock_distance(step->fault.step, 0)) ||
           is_common(clocks, count, against, step);
}

/* The step as that of the other clock, unless that is known of it. */
static void step_move(struct clockstep_clock *to,
                      const struct clockstep_fault *step)
{
    struct clockstep_fault moved = *step;

    moved.fault.from = step->from;
    moved.fault.to = step->to;
    moved.fault.step = -step->fault.step;
    if (!(clockstep_has(to, &moved))) {
        clockstep_add(to, &moved);
    }
}

/* Take the marked steps out of their clocks. How many: in `moved`, with the
 * clock that each goes to in `whose`. */
static size_t steps_take(struct clockstep_clock *clocks,
                         size_t count,
                         const bool *is_moved,
                         struct clockstep_fault *moved,
                         uint32_t *whose)
{
    size_t at = 0, taken = 0;

    for (size_t i = 0; i < count; i++) {
        struct clockstep_clock *clock = &clocks[i];
        size_t kept = 0;

        for (size_t k = 0; k < clock->count; k++) {
            if (is_moved[at++]) {
                whose[taken] = clock->against;
                moved[taken++] = clock->faults[k];
            } else {
                clock->faults[kept++] = clock->faults[k];
            }
        }
        clock->count = kept;
    }
    return taken;
}

/* The one limit that a burst has of the other side of a step, before the first
 * reading or behind the last, looks like a wrong stamp. */
static bool is_of_step(const struct clockstep_clock *clock,
                       const struct clockstep_fault *stamp)
{
    ck_time_t size = ck_clock_distance(stamp->fault.step, 0);

    for (size_t i = 0; i < clock->count; i++) {
        const struct clockstep_fault *other = &clock->faults[i];

        if (other->fault.kind == CK_CLOCK_FAULT_STEP &&
            is_same_time(other, stamp) &&
            ck_clock_distance(ck_clock_distance(other->fault.step, 0), size) <=
                other->fault.bound + size / STAMP_SHARE) {
            return true;
        }
    }
    return false;
}

/* A wrong stamp as the step of a clock by whose own readings it jumped then;
 * `sign`: of that jump in what the stamp compares. */
static bool step_read(const struct clockstep_clock *clock,
                      const ck_time_t part[2],
                      int sign,
                      struct clockstep_fault *stamp)
{
    ck_time_t size = ck_clock_distance(stamp->fault.step, 0);

    for (int up = -1; up <= 1; up += 2) {
        struct jump jump = {up * size, size / STAMP_SHARE};

        if (jump_find(clock, part, &jump)) {
            stamp->fault.kind = CK_CLOCK_FAULT_STEP;
            stamp->fault.step = sign * jump.size;
            stamp->fault.bound = jump.slack;
            return true;
        }
    }
    return false;
}

/* Does a fault stay with its clock: a stamp that is none of a step? */
static bool stamp_keep(struct clockstep_clock *clocks,
                       size_t count,
                       struct clockstep_clock *clock,
                       struct clockstep_fault *stamp)
{
    const ck_time_t own[2] = {stamp->fault.from, stamp->fault.to};
    const ck_time_t its[2] = {stamp->from, stamp->to};
    struct clockstep_clock *against =
        clock->against < count ? &clocks[clock->against] : NULL;

    if (stamp->fault.kind != CK_CLOCK_FAULT_PROBE) {
        return true;
    }
    if (is_of_step(clock, stamp) ||
        (against != NULL && is_of_step(against, stamp))) {
        return false;
    }
    if (!step_read(clock, own, -1, stamp) && against != NULL &&
        step_read(against, its, 1, stamp)) {
        step_move(against, stamp);
        return false;
    }
    return true;
}

/* Wrong stamps beside steps are none. */
static void stamps_sift(struct clockstep_clock *clocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct clockstep_clock *clock = &clocks[i];
        size_t kept = 0;

        for (size_t k = 0; k < clock->count; k++) {
            struct clockstep_fault fault = clock->faults[k];

            if (stamp_keep(clocks, count, clock, &fault)) {
                clock->faults[kept++] = fault;
            }
        }
        clock->count = kept;
    }
}

/* What is to be moved is marked first: clocks are compared as they were. */
void clockstep_blame(struct clockstep_clock *clocks, size_t count)
{
    size_t faults = 0, at = 0;
    bool *is_moved;
    struct clockstep_fault *moved;
    uint32_t *whose;

    for (size_t i = 0; i < count; i++) {
        faults += clocks[i].count;
    }
    is_moved = xcalloc(faults + 1, sizeof(*is_moved));
    moved = xmalloc((faults + 1) * sizeof(*moved));
    whose = xmalloc((faults + 1) * sizeof(*whose));
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < clocks[i].count; k++) {
            is_moved[at++] = is_others(clocks, count, i, &clocks[i].faults[k]);
        }
    }
    faults = steps_take(clocks, count, is_moved, moved, whose);
    for (size_t i = 0; i < faults; i++) {
        step_move(&clocks[whose[i]], &moved[i]);
    }
    free(is_moved);
    free(moved);
    free(whose);
    stamps_sift(clocks, count);
}
