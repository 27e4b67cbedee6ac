/* clockband.c - the offset of a clock with a bound that holds
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * All constraints are one stretch at first. Where its band is empty, the two
 * constraints that contradict each other most name the fault, neighbours
 * before all others:
 *
 *   one contradicts several, the other only this one -> a bad probe, left out
 *   else -> the clock jumped, or ran too fast, between them: the stretch is
 *           cut there, and what is between the two is left out
 *
 * Steps are looked for first, about one straight line: a trend in pieces is
 * bent by a step, and then much seems to contradict much. Then trends are
 * fitted, at a wander that grows by a half or a third, with shorter windows,
 * until nothing is left to cut. What was not refuted at half a wander is solved
 * with the whole: probes show most of a wander, not all of it.
 *
 * Between two stretches theta is in the hull of what both allow, so a cut
 * needs no belief about its cause.
 */
#include "schema/clock/clockband.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schema/clock/bandstate.h"
#include "schema/clock/clockgap.h"
#include "schema/order.h"

#define RATE_BLIND 100000
/* Above it a contradiction is called a step, below it a rate: 20 ppm. */
#define RATE_STEP 20000
/* The most wander that is tried about a trend: 32 ppm. */
#define WANDER_MAX 32000
/* A burst and its answers take no longer. */
#define TORN (20 * CK_TIME_MS)

struct ck_clockband *
ck_clockband_create(const struct ck_clockband_options *options)
{
    struct ck_clockband *band = calloc(1, sizeof(*band));

    if (band == NULL) {
        return NULL;
    }
    if (options != NULL) {
        band->options = *options;
    }
    if (band->options.rate_ppb == 0) {
        band->options.rate_ppb = CK_CLOCK_WANDER_PPB;
    }
    if (band->options.rate_blind_ppb == 0) {
        band->options.rate_blind_ppb = RATE_BLIND;
    }
    band->rtt_min = -1;
    for (size_t i = 0; i < BAND_WIDTHS; i++) {
        band->widths[i] = -1;
    }
    if (ck_clocktrend_init(&band->trend) != 0) {
        free(band);
        return NULL;
    }
    return band;
}

void ck_clockband_destroy(struct ck_clockband *band)
{
    if (band == NULL) {
        return;
    }
    ck_clocktrend_fini(&band->trend);
    free(band->constraints);
    free(band->knots);
    free(band->stretches);
    free(band);
}

static int constraints_reserve(struct ck_clockband *band, size_t more)
{
    size_t room = band->room == 0 ? 64 : band->room;
    struct ck_clock_constraint *grown;

    while (room < band->count + more) {
        room *= 2;
    }
    if (room == band->room) {
        return 0;
    }
    grown = realloc(band->constraints, room * sizeof(*grown));
    if (grown == NULL) {
        return -1;
    }
    band->constraints = grown;
    band->room = room;
    return 0;
}

CK_ORDER(constraint_order,
         struct ck_clock_constraint,
         CK_UP(at) ?: CK_UP(is_upper))

/* There is room for it. What comes in order needs no sorting. */
static void constraint_add(struct ck_clockband *band,
                           struct ck_clock_constraint constraint)
{
    if (band->count == 0) {
        band->is_sorted = true;
    } else if (constraint_order(&band->constraints[band->count - 1],
                                &constraint) > 0) {
        band->is_sorted = false;
    }
    band->constraints[band->count++] = constraint;
}

/* A stamp or an error so large that sums of them might wrap. */
static bool probe_is_wild(const struct ck_clock_probe *probe)
{
    const ck_time_t values[] = {probe->a1, probe->r2, probe->r3, probe->a4};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (values[i] < -CK_CLOCK_NONE / 8 || values[i] > CK_CLOCK_NONE / 8) {
            return true;
        }
    }
    return probe->error_forward < 0 ||
           probe->error_forward > CK_CLOCK_NONE / 8 ||
           probe->error_backward < 0 ||
           probe->error_backward > CK_CLOCK_NONE / 8;
}

static void
round_trip_note(struct ck_clockband *band, ck_time_t rtt, ck_time_t errors)
{
    ck_time_t width;

    rtt = rtt > 0 ? rtt : 0;
    width = rtt + errors;
    if (band->rtt_min < 0 || rtt < band->rtt_min) {
        band->rtt_min = rtt;
    }
    for (size_t i = 0; i < BAND_WIDTHS; i++) {
        if (band->widths[i] < 0 || width < band->widths[i]) {
            ck_time_t longer = band->widths[i];

            band->widths[i] = width;
            if (longer < 0) {
                return;
            }
            width = longer;
        }
    }
}

/* What no round trip leaves less open than. */
static ck_time_t width_least(const struct ck_clockband *band)
{
    size_t last = BAND_WIDTHS - 1;

    while (last > 0 && band->widths[last] < 0) {
        last--;
    }
    return band->widths[last] < 0 ? 0 : band->widths[last];
}

int ck_clockband_add(struct ck_clockband *band,
                     const struct ck_clock_probe *probe)
{
    bool has_forward = probe->a1 != 0 && probe->r2 != 0;
    bool has_backward = probe->r3 != 0 && probe->a4 != 0;
    ck_time_t delay = band->options.delay_min;

    if ((!has_forward && !has_backward) || probe_is_wild(probe) ||
        (has_forward && has_backward &&
         (probe->a4 < probe->a1 || probe->r3 < probe->r2))) {
        errno = EINVAL;
        return -1;
    }
    if (constraints_reserve(band, 2) != 0) {
        return -1;
    }
    if (has_forward) {
        constraint_add(band, (struct ck_clock_constraint){
                                 .at = probe->a1,
                                 .value = probe->r2 - probe->a1 - delay +
                                          probe->error_forward,
                                 .is_upper = true,
                             });
    }
    if (has_backward) {
        constraint_add(band, (struct ck_clock_constraint){
                                 .at = probe->a4,
                                 .value = probe->r3 - probe->a4 + delay -
                                          probe->error_backward,
                             });
    }
    if (has_forward && has_backward) {
        round_trip_note(band, (probe->a4 - probe->a1) - (probe->r3 - probe->r2),
                        probe->error_forward + probe->error_backward);
    }
    band->probes++;
    return 0;
}

static void fault_add(struct ck_clockband *band, struct ck_clock_fault fault)
{
    if (band->fault_count < FAULTS_MAX) {
        band->faults[band->fault_count++] = fault;
    }
}

static void stretch_push(struct ck_clockband *band, struct stretch stretch)
{
    if (stretch.lo < stretch.hi) {
        band->stretches[band->stretch_count++] = stretch;
    }
}

/* What is alone beside a cut may be all that a burst has of the other side: the
 * clock jumped while the burst was under way. */
static bool is_beside_cut(const struct ck_clockband *band,
                          const struct stretch *work,
                          size_t index)
{
    ck_time_t at = band->constraints[index].at;

    return (work->lo > 0 && at - band->constraints[work->lo].at <= TORN) ||
           (work->hi < band->count &&
            band->constraints[work->hi - 1].at - at <= TORN);
}

/* Leave out a constraint that is alone against many. */
static bool stretch_repair(struct ck_clockband *band,
                           const struct stretch *work,
                           const struct ck_clock_conflict *bad)
{
    size_t outlier = ck_clockpiece_outlier(bad, band->constraints, work->lo,
                                           work->hi, &band->trend);
    struct ck_clock_constraint *c;

    if (outlier == SIZE_MAX || is_beside_cut(band, work, outlier)) {
        return false;
    }
    c = &band->constraints[outlier];
    c->is_dropped = true;
    band->dropped++;
    fault_add(band, (struct ck_clock_fault){
                        .kind = CK_CLOCK_FAULT_PROBE,
                        .from = c->at,
                        .to = c->at,
                        .step = bad->excess,
                    });
    return true;
}

static bool is_two_sided(const struct ck_clockband *band, size_t lo, size_t hi)
{
    bool has_upper = false, has_lower = false;

    for (size_t i = lo; i < hi && !(has_upper && has_lower); i++) {
        const struct ck_clock_constraint *c = &band->constraints[i];

        has_upper |= !c->is_dropped && c->is_upper;
        has_lower |= !c->is_dropped && !c->is_upper;
    }
    return has_upper && has_lower;
}

/* Limits of one direction bound nothing: what is left of a stretch at an end of
 * the run, [lo, hi), takes in more of its own burst, down to `first` or up to
 * `end`, until it has both. If the clock jumped meanwhile, that hides in the
 * delays of the burst, for which the bound allows. */
static struct stretch side_of(const struct ck_clockband *band,
                              struct stretch side,
                              size_t first,
                              size_t end)
{
    const struct ck_clock_constraint *limits = band->constraints;
    struct stretch grown = side;

    if (is_two_sided(band, side.lo, side.hi)) {
        return side;
    }
    while (grown.lo > first &&
           limits[side.lo].at - limits[grown.lo - 1].at <= TORN) {
        grown.lo--;
    }
    while (grown.hi < end &&
           limits[grown.hi].at - limits[side.hi - 1].at <= TORN) {
        grown.hi++;
    }
    return is_two_sided(band, grown.lo, grown.hi) ? grown : side;
}

/* Cut between the two: what is there may be of either side. */
static void stretch_cut(struct ck_clockband *band,
                        const struct stretch *work,
                        const struct ck_clock_conflict *found)
{
    struct ck_clock_conflict bad =
        ck_clockpiece_narrow(found, band->constraints, &band->trend);
    bool is_up = bad.upper_of < bad.lower_of;
    size_t a = is_up ? bad.upper_of : bad.lower_of;
    size_t b = is_up ? bad.lower_of : bad.upper_of;
    ck_time_t span = band->constraints[b].at - band->constraints[a].at;
    __int128 needed =
        span == 0 ? INT64_MAX : (__int128)bad.excess * 1000000000 / span;
    bool is_step = !band->is_wandering || needed > RATE_STEP;
    struct stretch left;

    fault_add(
        band,
        (struct ck_clock_fault){
            .kind = is_step ? CK_CLOCK_FAULT_STEP : CK_CLOCK_FAULT_RATE,
            .from = band->constraints[a].at,
            .to = band->constraints[b].at,
            .step = is_up ? bad.excess : -bad.excess,
            .rate_ppb = is_step ? 0 : band->trend.rate_ppb + (int64_t)needed,
        });
    if (band->is_wandering) {
        band->cuts++;
        band->cut_longest = span > band->cut_longest ? span : band->cut_longest;
    }
    left = side_of(band, (struct stretch){work->lo, a + 1}, work->lo, b);
    stretch_push(
        band, side_of(band, (struct stretch){b, work->hi}, left.hi, work->hi));
    stretch_push(band, left);
}

/* So many faults: every cluster alone, which is always true of its instant. */
static void stretch_shred(struct ck_clockband *band, const struct stretch *work)
{
    ck_clocktrend_flatten(&band->trend, CK_CLOCK_RATE_CAP_PPB);
    for (size_t at = work->lo; at < work->hi;) {
        size_t end = ck_clock_cluster(band->constraints, at, work->hi);

        band->knot_count +=
            ck_clockpiece_build(&band->knots[band->knot_count],
                                band->constraints, at, end, &band->trend);
        at = end;
    }
}

/* Of two bursts beside a fault the slope is no evidence: the jump itself may
 * be between them. */
static bool is_scarce(const struct ck_clockband *band,
                      const struct stretch *work)
{
    size_t bursts = 0;

    for (size_t at = work->lo; at < work->hi && bursts < 3;) {
        bool is_both;

        at = ck_clock_burst(band->constraints, at, work->hi, &is_both);
        bursts += is_both;
    }
    return band->fault_count > 0 && bursts < 3;
}

/* What the stretch is measured by: one line for steps, else a trend that half
 * the wander has to do for. */
static int stretch_trend(struct ck_clockband *band, const struct stretch *work)
{
    const struct ck_clock_constraint *first = &band->constraints[work->lo];
    size_t count = work->hi - work->lo;
    int64_t blind = band->options.rate_blind_ppb;

    if (!band->is_wandering) {
        return ck_clocktrend_line(&band->trend, first, count, RATE_STEP, blind);
    }
    return ck_clocktrend_fit(&band->trend, first, count,
                             is_scarce(band, work) ? blind : band->wander_ppb,
                             blind);
}

/* The largest contradiction of a stretch, whose knots are made. */
static struct ck_clock_conflict stretch_knots(struct ck_clockband *band,
                                              const struct stretch *work,
                                              struct ck_clock_knot *knots,
                                              size_t *count)
{
    struct ck_clock_conflict bad;

    *count = ck_clockpiece_build(knots, band->constraints, work->lo, work->hi,
                                 &band->trend);
    bad = ck_clockpiece_jump(knots, *count);
    if (bad.excess == 0) {
        ck_clockpiece_spread(knots, *count);
        bad = ck_clockpiece_refuted(knots, *count);
    }
    return bad;
}

/* Wide knots about the middles of narrow ones: the middle is the better guess
 * for a clock that wanders no more than it shows, the bound holds for others
 * too.
 *
 * No path is shorter than its two least delays, so limits that leave a clock
 * less room than the shortest round trip (`room`) may be of both sides of a
 * step s that is shorter than it: room - s is what they leave then, and the
 * clock may be off by half of room + s. */
static void knots_centre(struct ck_clock_knot *wide,
                         const struct ck_clock_knot *narrow,
                         size_t count,
                         ck_time_t room)
{
    for (size_t k = 0; k < count; k++) {
        ck_time_t middle, half, left;

        if (!ck_clock_knot_is_bounded(&wide[k])) {
            continue;
        }
        middle = narrow[k].lower + (narrow[k].upper - narrow[k].lower) / 2;
        half = wide[k].upper - middle > middle - wide[k].lower
                   ? wide[k].upper - middle
                   : middle - wide[k].lower;
        left = (narrow[k].upper - narrow[k].lower) / 2;
        half = room - left > half ? room - left : half;
        wide[k].lower = middle - half;
        wide[k].upper = middle + half;
    }
}

/* Nothing contradicts half the wander: its knots, with all of it, about the
 * middles of half of it, in which delays count for less. */
static void stretch_keep(struct ck_clockband *band, const struct stretch *work)
{
    struct ck_clock_knot *knots = &band->knots[band->knot_count];
    struct ck_clock_knot *narrow = &band->narrow[band->knot_count];
    struct ck_clocktrend *trend = &band->trend;
    size_t count;

    count = ck_clockpiece_build(narrow, band->constraints, work->lo, work->hi,
                                trend);
    ck_clockpiece_spread(narrow, count);
    if (trend->rate_ppb < band->options.rate_blind_ppb) {
        trend->rate_ppb += band->wander_ppb - band->wander_ppb / 2;
    }
    trend->rate_ppb += trend->hidden_ppb;
    if (trend->hidden_ppb > band->hidden_ppb) {
        band->hidden_ppb = trend->hidden_ppb;
    }
    (void)ck_clockpiece_build(knots, band->constraints, work->lo, work->hi,
                              trend);
    ck_clockpiece_spread(knots, count);
    knots_centre(knots, narrow, count, width_least(band));
    ck_clockgap_widen(knots, count);
    band->knot_count += count;
}

/* Solve one stretch: put its parts on the stack, or keep it, for the next pass
 * or with its knots. */
static int stretch_solve(struct ck_clockband *band, struct stretch work)
{
    while (band->fault_count < FAULTS_MAX) {
        struct ck_clock_conflict bad;
        size_t count;

        if (stretch_trend(band, &work) != 0) {
            return -1;
        }
        bad =
            stretch_knots(band, &work, &band->knots[band->knot_count], &count);
        if (bad.excess == 0 && !band->is_wandering) {
            band->whole[band->whole_count++] = work;
            return 0;
        }
        if (bad.excess == 0) {
            stretch_keep(band, &work);
            return 0;
        }
        if (!stretch_repair(band, &work, &bad)) {
            stretch_cut(band, &work, &bad);
            return 0;
        }
    }
    if (!band->is_wandering) {
        band->whole[band->whole_count++] = work;
    } else {
        stretch_shred(band, &work);
    }
    return 0;
}

/* Memory of a solve: at most one knot and one stretch a constraint. */
static int band_reset(struct ck_clockband *band)
{
    struct ck_clock_knot *knots =
        realloc(band->knots, 2 * band->count * sizeof(*knots));
    struct stretch *stretches;

    if (knots == NULL) {
        return -1;
    }
    band->knots = knots;
    band->narrow = knots + band->count;
    stretches =
        realloc(band->stretches, 2 * (band->count + 1) * sizeof(*stretches));
    if (stretches == NULL) {
        return -1;
    }
    band->stretches = stretches;
    band->whole = stretches + band->count + 1;
    band->stretch_count = 0;
    band->whole_count = 0;
    band->knot_count = 0;
    band->fault_count = 0;
    band->dropped = 0;
    return 0;
}

static int stretches_solve(struct ck_clockband *band)
{
    while (band->stretch_count > 0) {
        if (stretch_solve(band, band->stretches[--band->stretch_count]) != 0) {
            band->knot_count = 0;
            return -1;
        }
    }
    return 0;
}

/* What the search for steps left behind, to begin again from there. */
struct start {
    size_t faults;
    uint64_t dropped;
};

/* The stretches between steps, with trends, at one wander. What an earlier one
 * left out is back. */
static int wander_try(struct ck_clockband *band,
                      const struct start *start,
                      int64_t wander_ppb)
{
    while (band->fault_count > start->faults) {
        const struct ck_clock_fault *fault = &band->faults[--band->fault_count];

        for (size_t i = 0;
             fault->kind == CK_CLOCK_FAULT_PROBE && i < band->count; i++) {
            if (band->constraints[i].at == fault->from) {
                band->constraints[i].is_dropped = false;
            }
        }
    }
    band->dropped = start->dropped;
    band->wander_ppb = wander_ppb;
    band->hidden_ppb = 0;
    band->cuts = 0;
    band->cut_longest = 0;
    band->knot_count = 0;
    for (size_t i = band->whole_count; i > 0; i--) {
        stretch_push(band, band->whole[i - 1]);
    }
    return stretches_solve(band);
}

static int band_pass(struct ck_clockband *band)
{
    struct start start;
    int64_t wander = band->options.rate_ppb;

    band->is_wandering = false;
    stretch_push(band, (struct stretch){0, band->count});
    if (stretches_solve(band) != 0) {
        return -1;
    }
    start = (struct start){band->fault_count, band->dropped};
    band->is_wandering = true;
    while (wander_try(band, &start, wander) == 0) {
        bool is_first = wander == band->options.rate_ppb;

        if (band->cuts == 0 || (is_first && ck_clockband_is_step(band)) ||
            wander >= WANDER_MAX) {
            return 0;
        }
        /* 1, 1.5, 2, 3, 4, 6, 8 ppm. */
        wander += wander % 3 == 0 ? wander / 3 : wander / 2;
    }
    return -1;
}

int ck_clockband_solve(struct ck_clockband *band)
{
    bool has_upper = false;
    bool has_lower = false;

    for (size_t i = 0; i < band->count; i++) {
        has_upper |= band->constraints[i].is_upper;
        has_lower |= !band->constraints[i].is_upper;
        band->constraints[i].is_dropped = false;
    }
    if (!has_upper || !has_lower) {
        errno = ENODATA;
        return -1;
    }
    if (!band->is_sorted) {
        qsort(band->constraints, band->count, sizeof(*band->constraints),
              constraint_order);
        band->is_sorted = true;
    }
    if (band_reset(band) != 0 || band_pass(band) != 0) {
        return -1;
    }
    ck_clockband_name(band);
    return 0;
}

char ck_clock_grade(ck_time_t bound)
{
    if (bound < CK_TIME_US) {
        return 'A';
    }
    if (bound < 10 * CK_TIME_US) {
        return 'B';
    }
    if (bound < 100 * CK_TIME_US) {
        return 'C';
    }
    return 'D';
}
