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
 *           cut there, and what lies between the two is a stretch a knot
 *
 * Between two stretches theta lies in the hull of what both say, so a cut
 * needs no belief about its cause.
 */
#include "schema/clockband.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "schema/clockpiece.h"
#include "schema/clocktrend.h"

#define RATE_DEFAULT 1000
#define RATE_BLIND 100000
/* Above it a contradiction is called a step, below it a rate: 20 ppm. */
#define RATE_STEP 20000
/* More faults than this and every cluster is a stretch of its own. */
#define FAULTS_MAX 1000

/* Constraints [lo, hi), to be solved. */
struct stretch {
    size_t lo;
    size_t hi;
};

struct ck_clockband {
    struct ck_clockband_options options;
    struct ck_clock_constraint *constraints;
    size_t count;
    size_t room;
    struct ck_clock_knot *knots;
    size_t knot_count;
    struct stretch *stretches; /* to do, the earliest on top */
    size_t stretch_count;
    struct ck_clocktrend trend; /* of the stretch in work */
    struct ck_clock_fault faults[FAULTS_MAX];
    size_t fault_count;
    uint64_t probes;
    uint64_t dropped;
    ck_time_t rtt_min;
    bool is_sorted;
};

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
        band->options.rate_ppb = RATE_DEFAULT;
    }
    if (band->options.rate_blind_ppb == 0) {
        band->options.rate_blind_ppb = RATE_BLIND;
    }
    band->rtt_min = -1;
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
        band->constraints[band->count++] = (struct ck_clock_constraint){
            .at = probe->a1,
            .value = probe->r2 - probe->a1 - delay + probe->error_forward,
            .is_upper = true,
        };
    }
    if (has_backward) {
        band->constraints[band->count++] = (struct ck_clock_constraint){
            .at = probe->a4,
            .value = probe->r3 - probe->a4 + delay - probe->error_backward,
        };
    }
    if (has_forward && has_backward) {
        ck_time_t rtt = (probe->a4 - probe->a1) - (probe->r3 - probe->r2);

        if (band->rtt_min < 0 || rtt < band->rtt_min) {
            band->rtt_min = rtt > 0 ? rtt : 0;
        }
    }
    band->probes++;
    band->is_sorted = false;
    return 0;
}

static int constraint_order(const void *a, const void *b)
{
    const struct ck_clock_constraint *x = a;
    const struct ck_clock_constraint *y = b;

    if (x->at != y->at) {
        return x->at < y->at ? -1 : 1;
    }
    return (int)x->is_upper - (int)y->is_upper;
}

static void fault_add(struct ck_clockband *band, struct ck_clock_fault fault)
{
    if (band->fault_count < FAULTS_MAX) {
        band->faults[band->fault_count++] = fault;
    }
}

static void stretch_push(struct ck_clockband *band, size_t lo, size_t hi)
{
    if (lo < hi) {
        band->stretches[band->stretch_count++] = (struct stretch){lo, hi};
    }
}

/* Leave out a constraint that is alone against many. */
static bool stretch_repair(struct ck_clockband *band,
                           const struct stretch *work,
                           const struct ck_clock_conflict *bad)
{
    size_t outlier = ck_clockpiece_outlier(bad, band->constraints, work->lo,
                                           work->hi, &band->trend);
    struct ck_clock_constraint *c;

    if (outlier == SIZE_MAX) {
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

/* Cut between the two origins: left, each knot between, right. */
static void stretch_cut(struct ck_clockband *band,
                        const struct stretch *work,
                        const struct ck_clock_conflict *bad)
{
    bool is_up = bad->upper_of < bad->lower_of;
    size_t a = is_up ? bad->upper_of : bad->lower_of;
    size_t b = is_up ? bad->lower_of : bad->upper_of;
    ck_time_t span = band->constraints[b].at - band->constraints[a].at;
    ck_time_t excess = bad->excess;
    __int128 needed =
        span == 0 ? INT64_MAX : (__int128)excess * 1000000000 / span;
    size_t first = band->stretch_count;

    fault_add(band, (struct ck_clock_fault){
                        .kind = needed > RATE_STEP ? CK_CLOCK_FAULT_STEP
                                                   : CK_CLOCK_FAULT_RATE,
                        .from = band->constraints[a].at,
                        .to = band->constraints[b].at,
                        .step = is_up ? excess : -excess,
                        .rate_ppb = needed > RATE_STEP ? 0
                                                       : band->trend.rate_ppb +
                                                             (int64_t)needed,
                    });
    stretch_push(band, work->lo, a + 1);
    for (size_t at = a + 1; at < b;) {
        size_t end = ck_clock_cluster(band->constraints, at, b);

        stretch_push(band, at, end);
        at = end;
    }
    stretch_push(band, b, work->hi);
    /* The earliest belongs on top. */
    for (size_t low = first, high = band->stretch_count; low + 1 < high;) {
        struct stretch swapped = band->stretches[low];

        band->stretches[low++] = band->stretches[--high];
        band->stretches[high] = swapped;
    }
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

/* Solve one stretch: append its knots, or put its parts on the stack. */
static int stretch_solve(struct ck_clockband *band, struct stretch work)
{
    struct ck_clock_knot *knots = &band->knots[band->knot_count];

    while (band->fault_count < FAULTS_MAX) {
        struct ck_clock_conflict bad;
        size_t count;

        if (ck_clocktrend_fit(&band->trend, &band->constraints[work.lo],
                              work.hi - work.lo, band->options.rate_ppb,
                              band->options.rate_blind_ppb) != 0) {
            return -1;
        }
        count = ck_clockpiece_build(knots, band->constraints, work.lo, work.hi,
                                    &band->trend);
        bad = ck_clockpiece_jump(knots, count);
        if (bad.excess == 0) {
            ck_clockpiece_spread(knots, count);
            bad = ck_clockpiece_refuted(knots, count);
        }
        if (bad.excess == 0) {
            band->knot_count += count;
            return 0;
        }
        if (!stretch_repair(band, &work, &bad)) {
            stretch_cut(band, &work, &bad);
            return 0;
        }
    }
    stretch_shred(band, &work);
    return 0;
}

/* Index of the last bounded knot at or before `local`, else of the first
 * after it; knot_count = none. */
static size_t knot_near(const struct ck_clockband *band, ck_time_t local);

/* Size of each step from the knots on both sides of it. */
static void steps_measure(struct ck_clockband *band)
{
    for (size_t i = 0; i < band->fault_count; i++) {
        struct ck_clock_fault *fault = &band->faults[i];
        size_t x = knot_near(band, fault->from);
        size_t y = knot_near(band, fault->to);
        const struct ck_clock_knot *a = &band->knots[x];
        const struct ck_clock_knot *b = &band->knots[y];

        if (fault->kind == CK_CLOCK_FAULT_PROBE || x == band->knot_count ||
            y == band->knot_count || x == y) {
            continue;
        }
        fault->step = (b->lower + (b->upper - b->lower) / 2 + b->trend) -
                      (a->lower + (a->upper - a->lower) / 2 + a->trend);
        fault->bound =
            (a->upper - a->lower + b->upper - b->lower + 1) / 2 +
            ck_clock_drift(b->at - a->at, band->options.rate_blind_ppb);
    }
}

static int fault_order(const void *a, const void *b)
{
    const struct ck_clock_fault *x = a;
    const struct ck_clock_fault *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* Memory of a solve: at most one knot and one stretch a constraint. */
static int band_reset(struct ck_clockband *band)
{
    struct ck_clock_knot *knots =
        realloc(band->knots, band->count * sizeof(*knots));
    struct stretch *stretches;

    if (knots == NULL) {
        return -1;
    }
    band->knots = knots;
    stretches =
        realloc(band->stretches, (band->count + 1) * sizeof(*stretches));
    if (stretches == NULL) {
        return -1;
    }
    band->stretches = stretches;
    band->stretch_count = 0;
    band->knot_count = 0;
    band->fault_count = 0;
    band->dropped = 0;
    return 0;
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
    if (band_reset(band) != 0) {
        return -1;
    }
    stretch_push(band, 0, band->count);
    while (band->stretch_count > 0) {
        if (stretch_solve(band, band->stretches[--band->stretch_count]) != 0) {
            band->knot_count = 0;
            return -1;
        }
    }
    if (band->fault_count > 0) {
        qsort(band->faults, band->fault_count, sizeof(*band->faults),
              fault_order);
    }
    steps_measure(band);
    return 0;
}

/* Bounds on theta at `local` as one knot of the piece says. */
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

/* g at `local`, continued from the two knots of one piece around or next to
 * it; a piece of one knot is flat. */
static ck_time_t
knots_trend(const struct ck_clockband *band, size_t k, ck_time_t local)
{
    const struct ck_clock_knot *a = &band->knots[k];
    const struct ck_clock_knot *b;

    if (a->is_last && (k == 0 || a[-1].is_last)) {
        return a->trend;
    }
    a = a->is_last ? a - 1 : a;
    b = a + 1;
    return a->trend + (ck_time_t)((__int128)(b->trend - a->trend) *
                                  (local - a->at) / (b->at - a->at));
}

/* Number of knots at or before `local`. */
static size_t knots_before(const struct ck_clockband *band, ck_time_t local)
{
    size_t low = 0;
    size_t high = band->knot_count;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (band->knots[mid].at <= local) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static size_t knot_near(const struct ck_clockband *band, ck_time_t local)
{
    size_t at = knots_before(band, local);
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
 * lie on either side: the hull. */
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
    size_t after = knots_before(band, local);
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

static int bound_order(const void *a, const void *b)
{
    ck_time_t x = *(const ck_time_t *)a;
    ck_time_t y = *(const ck_time_t *)b;

    return (x > y) - (x < y);
}

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

const struct ck_clock_fault *ck_clockband_fault(const struct ck_clockband *band,
                                                size_t index)
{
    return index < band->fault_count ? &band->faults[index] : NULL;
}
