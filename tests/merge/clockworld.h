/* clockworld.h - clocks and networks made by hand, with a known truth
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A world is a number of clocks, each a function of the true time: an offset,
 * a drift, a slow sine and steps. What happens in it becomes the facts that a
 * run would hold. Deterministic for a seed.
 */
#ifndef CK_TESTS_MERGE_CLOCKWORLD_H
#define CK_TESTS_MERGE_CLOCKWORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/clocks/solve/clockgraph.h"
#include "merge/clocks/solve/clocksolve.h"
#include "schema/clock/clockband.h"
#include "schema/time.h"

struct worldclock {
    ck_time_t offset;
    double drift_ppm;
    double wander_ppm; /* amplitude of the sine in rate */
    double wander_period_s;
    double phase;
    ck_time_t step_at; /* true time; 0 = none */
    ck_time_t step;
    ck_time_t again_at; /* another step, later */
    ck_time_t again;
};

/* One direction of a path. */
struct worldpath {
    ck_time_t least;
    double tail;   /* mean of the exponential part, ns */
    double pareto; /* scale of a Pareto tail (alpha 1.5), ns */
};

/* Random numbers; CK_SEED repeats a run. */
struct worldrandom {
    uint64_t state;
};
void worldrandom_init(struct worldrandom *random, uint64_t otherwise);
double world_unit(struct worldrandom *random);
double world_between(struct worldrandom *random, double low, double high);

/* Reading of a clock at a true time, and the true time of a reading. */
ck_time_t worldclock_at(const struct worldclock *clock, ck_time_t time);
ck_time_t worldclock_true(const struct worldclock *clock, ck_time_t reading);

/* A clock as a machine has it: far off, some ppm fast or slow, wandering. */
struct worldclock world_clock(struct worldrandom *random);

ck_time_t world_delay(struct worldrandom *random, const struct worldpath *path);

/* An exchange that begins at a true time: an agent's clock asks, the
 * reference answers 2 us later. */
struct ck_clock_probe world_probe(struct worldrandom *random,
                                  const struct worldclock *agent,
                                  const struct worldclock *reference,
                                  const struct worldpath *there,
                                  const struct worldpath *back,
                                  ck_time_t time,
                                  ck_time_t error);
/* Its edges. */
int world_probe_edges(struct clockgraph *graph,
                      uint32_t agent,
                      uint32_t reference,
                      const struct ck_clock_probe *probe);

/* A message from a clock to another, by their numbers, that long under way. */
struct clock_edge world_message(const struct worldclock *clocks,
                                uint32_t from,
                                uint32_t to,
                                ck_time_t at,
                                ck_time_t delay);

/* The graph closed and solved; NULL when that failed. */
struct clocksolve *world_solution(struct clockgraph *graph);
/* offset and bound of a domain at a local time, from its knots; false: not
 * bounded there. */
bool world_solved(const struct clocksolve_knot *knots,
                  size_t count,
                  ck_time_t local,
                  struct ck_clock_offset *offset);
/* Facts of a graph that the solution contradicts, dropped ones apart. */
size_t world_violations(const struct clockgraph *graph,
                        const struct clocksolve *solve);

#endif
