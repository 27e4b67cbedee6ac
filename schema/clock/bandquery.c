/* bandquery.c - what a solved clock band allows at an instant
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdlib.h>

#include "schema/clock/bandstate.h"
#include "schema/order.h"

/* Bounds on theta at `local` by one knot of the piece. */
static void knot_reach(const struct ck_clock_knot *knot,
                       ck_time_t local,
                       int64_t rate,
                       ck_time_t trend,
                       ck_time_t bounds[2])
{
    ck_time_t moved = ck_clock_drift(ck_clock_distance(local, knot->at), rate);

    bounds[0] = knot->lower - moved + trend;
    bounds[1] = knot->upper + moved + trend;
}

/* Two knots give a slope from here on: rounded to 1 ns, 0.01 ppm. */
#define SLOPE_SPAN (100 * CK_TIME_MS)

/* g at `local`, continued from two knots of the piece around or next to it; a
 * piece of one knot is flat. Beyond its ends no slope is drawn from knots that
 * are but a burst apart. */
static ck_time_t
knots_trend(const struct ck_clockband *band, size_t k, ck_time_t local)
{
    const struct ck_clock_knot *first = band->knots;
    const struct ck_clock_knot *end = band->knots + band->knot_count;
    const struct ck_clock_knot *a = &band->knots[k];
    const struct ck_clock_knot *b;

    if (a->is_last && (k == 0 || a[-1].is_last)) {
        return a->trend;
    }
    a = a->is_last ? a - 1 : a;
    b = a + 1;
    while (local > b->at && b->at - a->at < SLOPE_SPAN && a > first &&
           !a[-1].is_last) {
        a--;
    }
    while (local < a->at && b->at - a->at < SLOPE_SPAN && b + 1 < end &&
           !b->is_last) {
        b++;
    }
    return a->trend + (ck_time_t)((__int128)(b->trend - a->trend) *
                                  (local - a->at) / (b->at - a->at));
}

/* Number of knots at or before `local`. */
CK_BEFORE(knots_before, struct ck_clock_knot, ck_time_t, a->at <= key)

size_t ck_clockband_near(const struct ck_clockband *band, ck_time_t local)
{
    size_t at = knots_before(band->knots, band->knot_count, local);
    size_t k;

    for (k = at; k > 0; k--) {
        if (ck_clock_knot_is_bounded(&band->knots[k - 1])) {
            return k - 1;
        }
    }
    for (k = at; k < band->knot_count; k++) {
        if (ck_clock_knot_is_bounded(&band->knots[k])) {
            break;
        }
    }
    return k;
}

/* Inside a piece both neighbours hold: intersect. Between pieces the step may
 * be on either side: the hull. */
static void
bounds_join(ck_time_t left[2], const ck_time_t right[2], bool is_inside)
{
    bool is_left_low = left[0] < right[0];
    bool is_left_high = left[1] > right[1];

    if (is_left_low == is_inside) {
        left[0] = right[0];
    }
    if (is_left_high == is_inside) {
        left[1] = right[1];
    }
}

/* Pieces with one side only are passed over. */
int ck_clockband_at(const struct ck_clockband *band,
                    ck_time_t local,
                    struct ck_clock_offset *offset)
{
    const struct ck_clock_knot *knots = band->knots;
    size_t after = knots_before(band->knots, band->knot_count, local);
    size_t before = after; /* one past the left neighbour */
    ck_time_t bounds[2] = {0, 0};
    bool is_inside;

    while (before > 0 && !ck_clock_knot_is_bounded(&knots[before - 1])) {
        before--;
    }
    while (after < band->knot_count &&
           !ck_clock_knot_is_bounded(&knots[after])) {
        after++;
    }
    if (before == 0 && after == band->knot_count) {
        errno = ENODATA;
        return -1;
    }
    is_inside = before > 0 && before == after && after < band->knot_count &&
                !knots[before - 1].is_last;
    if (before > 0) {
        knot_reach(&knots[before - 1], local, knots[before - 1].rate_ppb,
                   knots_trend(band, before - 1, local), bounds);
    }
    if (after < band->knot_count) {
        ck_time_t right[2];

        knot_reach(&knots[after], local, knots[after].rate_ppb,
                   knots_trend(band, is_inside ? before - 1 : after, local),
                   right);
        if (before > 0) {
            bounds_join(bounds, right, is_inside);
        } else {
            bounds[0] = right[0];
            bounds[1] = right[1];
        }
    }
    offset->offset = bounds[0] + (bounds[1] - bounds[0]) / 2;
    offset->bound = (bounds[1] - bounds[0] + 1) / 2;
    return 0;
}

CK_ORDER(bound_order, ck_time_t, CK_LESS(*a, *b))

/* Median and maximum over the knots. */
static void bounds_summarise(const struct ck_clockband *band,
                             struct ck_clockband_summary *summary)
{
    size_t count = 0;
    ck_time_t *bounds = malloc((band->knot_count + 1) * sizeof(*bounds));

    for (size_t k = 0; bounds != NULL && k < band->knot_count; k++) {
        const struct ck_clock_knot *knot = &band->knots[k];

        if (ck_clock_knot_is_bounded(knot)) {
            bounds[count++] = (knot->upper - knot->lower + 1) / 2;
        }
    }
    if (count > 0) {
        qsort(bounds, count, sizeof(*bounds), bound_order);
        summary->bound_median = bounds[count / 2];
        summary->bound_max = bounds[count - 1];
    }
    free(bounds);
}

void ck_clockband_summarise(const struct ck_clockband *band,
                            struct ck_clockband_summary *summary)
{
    struct ck_clock_offset first;
    struct ck_clock_offset last;

    *summary = (struct ck_clockband_summary){
        .probes = band->probes,
        .dropped = band->dropped,
        .rtt_min = band->rtt_min,
        .wander_ppb = band->wander_ppb,
        .hidden_ppb = band->hidden_ppb,
        .faults = band->fault_count,
    };
    bounds_summarise(band, summary);
    if (band->knot_count == 0) {
        return;
    }
    summary->from = band->knots[0].at;
    summary->to = band->knots[band->knot_count - 1].at;
    if (summary->to > summary->from &&
        ck_clockband_at(band, summary->from, &first) == 0 &&
        ck_clockband_at(band, summary->to, &last) == 0) {
        summary->drift_ppb =
            (int64_t)((__int128)(last.offset - first.offset) * 1000000000 /
                      (summary->to - summary->from));
    }
}

bool ck_clockband_knot(const struct ck_clockband *band,
                       size_t *index,
                       struct ck_clockband_knot *knot)
{
    size_t at = *index;

    while (at < band->knot_count &&
           !ck_clock_knot_is_bounded(&band->knots[at])) {
        at++;
    }
    if (at == band->knot_count) {
        return false;
    }
    /* Its own limits: a jump behind it is none of its instant. */
    knot->theta.offset = band->knots[at].trend + band->knots[at].lower +
                         (band->knots[at].upper - band->knots[at].lower) / 2;
    knot->theta.bound = (band->knots[at].upper - band->knots[at].lower + 1) / 2;
    knot->at = band->knots[at].at;
    knot->rate_ppb = band->knots[at].rate_ppb;
    knot->is_last = band->knots[at].is_last;
    for (at++;
         at < band->knot_count && !ck_clock_knot_is_bounded(&band->knots[at]);
         at++) {
        knot->is_last = knot->is_last || band->knots[at].is_last;
    }
    *index = at;
    return true;
}

const struct ck_clock_fault *ck_clockband_fault(const struct ck_clockband *band,
                                                size_t index)
{
    return index < band->fault_count ? &band->faults[index] : NULL;
}
