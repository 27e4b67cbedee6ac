/* clockpeers.c - what other tracers' methods make of the same probes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/bench/clockpeers.h"

#include <math.h>
#include <stdlib.h>

#define ROUND_TRIPS 10

/* offset(c) = base + value + slope (c - at); times relative to the first. */
struct peer_line {
    ck_time_t at;
    ck_time_t base;
    double value;
    double slope;
    bool is_infeasible;
};

static struct peer_line lines[CLOCKPEERS];

const char *clockpeers_name(int peer)
{
    static const char *const names[CLOCKPEERS] = {
        "10 round trips at both ends, linear", "mean of all, one constant",
        "one line between the hulls"};

    return names[peer];
}

static ck_time_t estimate(const struct ck_clock_probe *probe)
{
    return ((probe->r2 - probe->a1) + (probe->r3 - probe->a4)) / 2;
}

static ck_time_t round_trip(const struct ck_clock_probe *probe)
{
    return (probe->a4 - probe->a1) - (probe->r3 - probe->r2);
}

static const struct ck_clock_probe *
shortest(const struct ck_clock_probe *probes, size_t count)
{
    const struct ck_clock_probe *best = probes;

    for (size_t i = 1; i < count; i++) {
        if (round_trip(&probes[i]) < round_trip(best)) {
            best = &probes[i];
        }
    }
    return best;
}

static void ends_fit(const struct ck_clock_probe *probes,
                     size_t count,
                     struct peer_line *line)
{
    const struct ck_clock_probe *a = shortest(probes, ROUND_TRIPS);
    const struct ck_clock_probe *b =
        shortest(probes + count - ROUND_TRIPS, ROUND_TRIPS);

    line->at = a->a1;
    line->base = estimate(a);
    line->slope = (double)(estimate(b) - estimate(a)) / (double)(b->a1 - a->a1);
}

static void mean_fit(const struct ck_clock_probe *probes,
                     size_t count,
                     struct peer_line *line)
{
    double sum = 0;

    line->at = probes[0].a1;
    line->base = estimate(&probes[0]);
    for (size_t i = 0; i < count; i++) {
        sum += (double)(estimate(&probes[i]) - line->base);
    }
    line->value = sum / (double)count;
}

/* The gap between the hulls for a slope, and its middle. */
static double gap(const struct ck_clock_probe *probes,
                  size_t count,
                  double slope,
                  double *middle)
{
    double upper = INFINITY, lower = -INFINITY;

    for (size_t i = 0; i < count; i++) {
        const struct ck_clock_probe *p = &probes[i];
        ck_time_t base = estimate(&probes[0]);

        upper = fmin(upper, (double)(p->r2 - p->a1 - base) -
                                slope * (double)(p->a1 - probes[0].a1));
        lower = fmax(lower, (double)(p->r3 - p->a4 - base) -
                                slope * (double)(p->a4 - probes[0].a1));
    }
    *middle = (upper + lower) / 2;
    return upper - lower;
}

static void hull_fit(const struct ck_clock_probe *probes,
                     size_t count,
                     struct peer_line *line)
{
    double low = -1e-3, high = 1e-3;
    double widest;

    for (int i = 0; i < 100; i++) {
        double left = low + (high - low) / 3;
        double right = high - (high - low) / 3;
        double unused;

        if (gap(probes, count, left, &unused) <
            gap(probes, count, right, &unused)) {
            low = left;
        } else {
            high = right;
        }
    }
    line->at = probes[0].a1;
    line->base = estimate(&probes[0]);
    line->slope = (low + high) / 2;
    widest = gap(probes, count, line->slope, &line->value);
    line->is_infeasible = widest < 0;
}

void clockpeers_fit(const struct ck_clock_probe *probes, size_t count)
{
    for (int i = 0; i < CLOCKPEERS; i++) {
        lines[i] = (struct peer_line){0};
    }
    ends_fit(probes, count, &lines[0]);
    mean_fit(probes, count, &lines[1]);
    hull_fit(probes, count, &lines[2]);
}

void clockpeers_check(ck_time_t local,
                      ck_time_t truth,
                      struct clockpeer_error errors[CLOCKPEERS])
{
    for (int i = 0; i < CLOCKPEERS; i++) {
        const struct peer_line *line = &lines[i];
        double off = line->value + line->slope * (double)(local - line->at);
        ck_time_t error = llabs(line->base + llround(off) - truth);

        errors[i].worst = error > errors[i].worst ? error : errors[i].worst;
        errors[i].is_infeasible = line->is_infeasible;
    }
}
