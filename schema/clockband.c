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
#include <string.h>

#include "schema/bandstate.h"

#define RATE_DEFAULT 1000
#define RATE_BLIND 100000
/* Above it a contradiction is called a step, below it a rate: 20 ppm. */
#define RATE_STEP 20000
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

static int constraint_order(const void *a, const void *b)
{
    const struct ck_clock_constraint *x = a;
    const struct ck_clock_constraint *y = b;

    if (x->at != y->at) {
        return x->at < y->at ? -1 : 1;
    }
    return (int)x->is_upper - (int)y->is_upper;
}

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
        ck_time_t rtt = (probe->a4 - probe->a1) - (probe->r3 - probe->r2);

        if (band->rtt_min < 0 || rtt < band->rtt_min) {
            band->rtt_min = rtt > 0 ? rtt : 0;
        }
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

/* No burst is torn by a cut between two. */
static void cut_widen(const struct ck_clockband *band,
                      const struct stretch *work,
                      size_t *left,
                      size_t *right)
{
    size_t end = *left, begin = *right;
    bool is_both;

    for (size_t at = work->lo, next; at <= *right; at = next) {
        next = ck_clock_burst(band->constraints, at, work->hi, &is_both);
        end = at < *left ? next : end;
        begin = at;
    }
    if (end <= begin) {
        *left = end;
        *right = begin;
    }
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
    size_t left = a + 1, right = b;

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
    cut_widen(band, work, &left, &right);
    stretch_push(band, (struct stretch){work->lo, left, work->from,
                                        band->constraints[a].at});
    for (size_t at = left; at < right;) {
        size_t end = ck_clock_cluster(band->constraints, at, right);

        stretch_push(band,
                     (struct stretch){at, end, band->constraints[end - 1].at,
                                      INT64_MAX});
        at = end;
    }
    stretch_push(band, (struct stretch){right, work->hi,
                                        band->constraints[b].at, work->until});
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

/* How far theta may wander about a trend. Of two bursts beside a fault the
 * slope is no evidence: the jump itself may lie between them. */
static int64_t stretch_wander(const struct ck_clockband *band,
                              const struct stretch *work)
{
    size_t bursts = 0;

    for (size_t at = work->lo; at < work->hi && bursts < 3;) {
        bool is_both;

        at = ck_clock_burst(band->constraints, at, work->hi, &is_both);
        bursts += is_both;
    }
    return band->fault_count > 0 && bursts < 3 ? band->options.rate_blind_ppb
                                               : band->options.rate_ppb;
}

/* Keep what holds within the stretch's instants. Returns how many knots. */
static size_t knots_sift(const struct ck_clockband *band,
                         const struct stretch *work,
                         struct ck_clock_knot *knots,
                         size_t count)
{
    size_t first = 0;
    ck_time_t moved;

    while (count > 0 && knots[count - 1].at > work->until) {
        count--;
    }
    /* One right behind it serves as well, and gives a slope no rounding. */
    while (first + 1 < count && work->from != INT64_MIN &&
           knots[first + 1].at <= work->from + TORN) {
        first++;
    }
    if (count == 0 || work->from > work->until) {
        return 0;
    }
    if (knots[first].at < work->from) {
        struct ck_clock_knot *knot = &knots[first];

        moved = ck_clock_drift(work->from - knot->at, knot->rate_ppb);
        knot->upper += knot->upper == CK_CLOCK_NONE ? 0 : moved;
        knot->lower -= knot->lower == -CK_CLOCK_NONE ? 0 : moved;
        knot->trend = ck_clocktrend_at(&band->trend, work->from);
        knot->at = work->from;
    }
    memmove(knots, &knots[first], (count - first) * sizeof(*knots));
    knots[count - first - 1].is_last = true;
    return count - first;
}

/* Solve one stretch: append its knots, or put its parts on the stack. */
static int stretch_solve(struct ck_clockband *band, struct stretch work)
{
    struct ck_clock_knot *knots = &band->knots[band->knot_count];

    while (band->fault_count < FAULTS_MAX) {
        struct ck_clock_conflict bad;
        size_t count;

        if (ck_clocktrend_fit(&band->trend, &band->constraints[work.lo],
                              work.hi - work.lo, stretch_wander(band, &work),
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
            band->knot_count += knots_sift(band, &work, knots, count);
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

static int fault_order(const void *a, const void *b)
{
    const struct ck_clock_fault *x = a;
    const struct ck_clock_fault *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

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
    stretch_push(band, (struct stretch){0, band->count, INT64_MIN, INT64_MAX});
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
    faults_join(band);
    steps_measure(band);
    faults_sift(band);
    return 0;
}

char ck_clock_grade(ck_time_t bound)
{
    return bound < CK_TIME_US         ? 'A'
           : bound < 10 * CK_TIME_US  ? 'B'
           : bound < 100 * CK_TIME_US ? 'C'
                                      : 'D';
}
