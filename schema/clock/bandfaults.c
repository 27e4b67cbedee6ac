/* bandfaults.c - what the cuts of a clock band are called
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdlib.h>

#include "schema/clock/bandstate.h"
#include "schema/order.h"

/* A burst and its answers take no longer. */
#define TORN (20 * CK_TIME_MS)
/* How long the rate is looked at beside a cut. */
#define SIDE_SPAN (20 * CK_TIME_S)

/* Size of each step from the knots on both sides of it. */
static void steps_measure(struct ck_clockband *band)
{
    for (size_t i = 0; i < band->fault_count; i++) {
        struct ck_clock_fault *fault = &band->faults[i];
        size_t x = ck_clockband_near(band, fault->from);
        size_t y = ck_clockband_near(band, fault->to);
        const struct ck_clock_knot *a, *b;

        /* What lay right behind the cut is left out. */
        while (y == x || (y < band->knot_count &&
                          !ck_clock_knot_is_bounded(&band->knots[y]))) {
            y++;
        }
        a = &band->knots[x];
        b = &band->knots[y];
        if (fault->kind == CK_CLOCK_FAULT_PROBE || x == band->knot_count ||
            y == band->knot_count || x == y) {
            continue;
        }
        fault->step = (b->lower + (b->upper - b->lower) / 2 + b->trend) -
                      (a->lower + (a->upper - a->lower) / 2 + a->trend);
        fault->bound =
            (a->upper - a->lower + b->upper - b->lower + 1) / 2 +
            /* Of a clock set backwards more time has passed than it shows. */
            ck_clock_drift(b->at - a->at +
                               (fault->step < 0 ? -fault->step : fault->step),
                           band->options.rate_blind_ppb);
    }
}

CK_ORDER(fault_order, struct ck_clock_fault, CK_UP(from))

/* Cuts that touch are one fault: a burst may be torn by what it saw. */
static void faults_join(struct ck_clockband *band)
{
    struct ck_clock_fault *faults = band->faults;
    size_t kept = 0, last = SIZE_MAX;

    for (size_t i = 0; i < band->fault_count; i++) {
        if (faults[i].kind == CK_CLOCK_FAULT_PROBE) {
            faults[kept++] = faults[i];
        } else if (last != SIZE_MAX &&
                   faults[i].from <= faults[last].to + TORN) {
            struct ck_clock_fault *joined = &faults[last];

            joined->to = faults[i].to > joined->to ? faults[i].to : joined->to;
            if (faults[i].kind == CK_CLOCK_FAULT_STEP) {
                joined->kind = CK_CLOCK_FAULT_STEP;
                joined->rate_ppb = 0;
            }
        } else {
            last = kept;
            faults[kept++] = faults[i];
        }
    }
    band->fault_count = kept;
}

/* It is between both sides of a step. */
static bool is_within_step(const struct ck_clockband *band, ck_time_t at)
{
    for (size_t i = 0; i < band->fault_count; i++) {
        const struct ck_clock_fault *fault = &band->faults[i];

        if (fault->kind == CK_CLOCK_FAULT_STEP && fault->from <= at &&
            at <= fault->to) {
            return true;
        }
    }
    return false;
}

/* A limit that is alone within a step is no wrong stamp: of a burst that the
 * step has torn it is all that one side has. */
static void probes_sift(struct ck_clockband *band)
{
    size_t kept = 0;

    for (size_t i = 0; i < band->fault_count; i++) {
        struct ck_clock_fault fault = band->faults[i];

        if (fault.kind == CK_CLOCK_FAULT_PROBE &&
            is_within_step(band, fault.from)) {
            band->dropped--;
        } else {
            band->faults[kept++] = fault;
        }
    }
    band->fault_count = kept;
}

/* Beside a step that is beyond doubt, cuts whose own step may be none are but
 * a matter of late answers: the band is as wide there, nothing is named. */
static void faults_sift(struct ck_clockband *band)
{
    size_t kept = 0;
    bool is_sure = false;

    for (size_t i = 0; i < band->fault_count; i++) {
        const struct ck_clock_fault *fault = &band->faults[i];

        is_sure = is_sure || (fault->kind == CK_CLOCK_FAULT_STEP &&
                              ck_clock_distance(fault->step, 0) > fault->bound);
    }
    for (size_t i = 0; is_sure && i < band->fault_count; i++) {
        struct ck_clock_fault fault = band->faults[i];

        if (fault.kind == CK_CLOCK_FAULT_PROBE ||
            ck_clock_distance(fault.step, 0) > fault.bound) {
            band->faults[kept++] = fault;
        }
    }
    band->fault_count = is_sure ? kept : band->fault_count;
}

/* Theta at a knot: halfway between its bounds. */
static ck_time_t theta_of(const struct ck_clock_knot *knot)
{
    return knot->trend + knot->lower + (knot->upper - knot->lower) / 2;
}

/* The slope of theta over some time on one side of a cut, from a knot there on,
 * in ns a second, and how wrong it may be. */
static double side_slope(const struct ck_clockband *band,
                         size_t from,
                         int direction,
                         double *error)
{
    const struct ck_clock_knot *a = &band->knots[from];
    const struct ck_clock_knot *b = a;

    for (const struct ck_clock_knot *next = a;; next += direction) {
        if (ck_clock_knot_is_bounded(next)) {
            b = next;
        }
        if (ck_clock_distance(next->at, a->at) > SIDE_SPAN ||
            (direction < 0 ? next == band->knots || next[-1].is_last
                           : next->is_last)) {
            break;
        }
    }
    if (a == b) {
        *error = INFINITY;
        return 0;
    }
    *error = (double)(a->upper - a->lower + b->upper - b->lower) / 2 /
             fabs((double)(b->at - a->at)) * 1e9;
    return (double)(theta_of(b) - theta_of(a)) / (double)(b->at - a->at) * 1e9;
}

bool ck_clockband_is_step(const struct ck_clockband *band)
{
    const struct ck_clock_constraint *c = band->constraints;
    ck_time_t span = c[band->count - 1].at - c[0].at;
    ck_time_t period = span / (ck_time_t)(ck_clock_bursts(c, band->count) + 1);
    const struct ck_clock_fault *fault = &band->faults[band->fault_count - 1];
    double left, right, errors[2];
    size_t k;

    if (band->cuts != 1 || band->fault_count == FAULTS_MAX ||
        band->cut_longest > 2 * period) {
        return false;
    }
    while (fault->kind == CK_CLOCK_FAULT_PROBE) {
        fault--;
    }
    k = ck_clockband_near(band, fault->from);
    if (k == band->knot_count) {
        return true;
    }
    left = side_slope(band, k, -1, &errors[0]);
    while (k < band->knot_count &&
           (band->knots[k].at < fault->to ||
            !ck_clock_knot_is_bounded(&band->knots[k]))) {
        k++;
    }
    if (k == band->knot_count) {
        return true;
    }
    right = side_slope(band, k, 1, &errors[1]);
    /* A burst that is alone on its side has no rate to compare. */
    if (isinf(errors[0]) || isinf(errors[1])) {
        return false;
    }
    return fabs(left - right) <=
           errors[0] + errors[1] + (double)band->options.rate_ppb / 2;
}

void ck_clockband_name(struct ck_clockband *band)
{
    if (band->fault_count > 0) {
        qsort(band->faults, band->fault_count, sizeof(*band->faults),
              fault_order);
    }
    faults_join(band);
    probes_sift(band);
    steps_measure(band);
    faults_sift(band);
}
