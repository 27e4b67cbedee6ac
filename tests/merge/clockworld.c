/* clockworld.c - clocks and networks made by hand, with a known truth
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/merge/clockworld.h"

#include <math.h>
#include <stdlib.h>

#include "schema/clock/clocktrend.h"

void worldrandom_init(struct worldrandom *random, uint64_t otherwise)
{
    const char *given = getenv("CK_SEED");

    random->state = given != NULL ? strtoull(given, NULL, 0) : otherwise;
}

double world_unit(struct worldrandom *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return ((double)(random->state >> 11) + 0.5) / 9007199254740992.0;
}

double world_between(struct worldrandom *random, double low, double high)
{
    return low + (high - low) * world_unit(random);
}

ck_time_t worldclock_at(const struct worldclock *clock, ck_time_t time)
{
    double value = clock->drift_ppm * 1e-6 * (double)time;

    if (clock->wander_period_s > 0) {
        double turn = 2 * M_PI / (clock->wander_period_s * 1e9);

        value += clock->wander_ppm * 1e-6 / turn *
                 sin(turn * (double)time + clock->phase);
    }
    if (clock->step_at > 0 && time >= clock->step_at) {
        value += (double)clock->step;
    }
    if (clock->again_at > 0 && time >= clock->again_at) {
        value += (double)clock->again;
    }
    return time + clock->offset + llround(value);
}

ck_time_t worldclock_true(const struct worldclock *clock, ck_time_t reading)
{
    ck_time_t time = reading - clock->offset;

    for (int i = 0; i < 6; i++) {
        time += reading - worldclock_at(clock, time);
    }
    return time;
}

struct worldclock world_clock(struct worldrandom *random)
{
    return (struct worldclock){
        .offset = (ck_time_t)world_between(random, -1e12, 1e12),
        .drift_ppm = world_between(random, -30, 30),
        .wander_ppm = world_between(random, 0, 0.4),
        .wander_period_s = world_between(random, 300, 1200),
        .phase = world_between(random, 0, 6.28),
    };
}

ck_time_t world_delay(struct worldrandom *random, const struct worldpath *path)
{
    double tail = path->tail > 0 ? -log(world_unit(random)) * path->tail : 0;

    if (path->pareto > 0) {
        tail += path->pareto * (pow(world_unit(random), -1 / 1.5) - 1);
    }
    return path->least + (ck_time_t)fmin(tail, 1e9);
}

struct ck_clock_probe world_probe(struct worldrandom *random,
                                  const struct worldclock *agent,
                                  const struct worldclock *reference,
                                  const struct worldpath *there,
                                  const struct worldpath *back,
                                  ck_time_t time,
                                  ck_time_t error)
{
    struct ck_clock_probe probe = {.error_forward = error,
                                   .error_backward = error};

    probe.a1 = worldclock_at(agent, time);
    time += world_delay(random, there);
    probe.r2 = worldclock_at(reference, time);
    time += 2000;
    probe.r3 = worldclock_at(reference, time);
    time += world_delay(random, back);
    probe.a4 = worldclock_at(agent, time);
    return probe;
}

int world_probe_edges(struct clockgraph *graph,
                      uint32_t agent,
                      uint32_t reference,
                      const struct ck_clock_probe *probe)
{
    struct clock_edge there = {
        .sent = probe->a1,
        .received = probe->r2 + probe->error_forward,
        .from = agent,
        .to = reference,
        .source = CLOCK_SOURCE_PROBE,
    };
    struct clock_edge back = {
        .sent = probe->r3,
        .received = probe->a4 + probe->error_backward,
        .from = reference,
        .to = agent,
        .source = CLOCK_SOURCE_PROBE,
    };

    return clockgraph_edge(graph, &there) == 0 ? clockgraph_edge(graph, &back)
                                               : -1;
}

struct clock_edge world_message(const struct worldclock *clocks,
                                uint32_t from,
                                uint32_t to,
                                ck_time_t at,
                                ck_time_t delay)
{
    return (struct clock_edge){
        .sent = worldclock_at(&clocks[from], at),
        .received = worldclock_at(&clocks[to], at + delay) - CLOCKSOLVE_GRAIN,
        .from = from,
        .to = to,
        .source = CLOCK_SOURCE_MESSAGE,
    };
}

struct clocksolve *world_solution(struct clockgraph *graph)
{
    struct clocksolve *solve;

    clockgraph_close(graph);
    solve = clocksolve_create(graph, NULL);
    clocksolve_run(solve, 0);
    return solve;
}

bool world_solved(const struct clocksolve_knot *knots,
                  size_t count,
                  ck_time_t local,
                  struct ck_clock_offset *offset)
{
    size_t low = 0, high = count;
    const struct clocksolve_knot *a, *b;
    ck_time_t span, from;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (knots[middle].at <= local) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 || low == count || knots[low - 1].is_last ||
        knots[low - 1].bound == CK_CLOCK_NONE ||
        knots[low].bound == CK_CLOCK_NONE) {
        return false;
    }
    a = &knots[low - 1];
    b = &knots[low];
    span = b->at - a->at;
    from = local - a->at;
    offset->offset = a->offset + (ck_time_t)((__int128)(b->offset - a->offset) *
                                             from / span);
    offset->bound = a->bound +
                    (ck_time_t)((__int128)(b->bound - a->bound) * from / span) +
                    (ck_time_t)(2 * (__int128)a->rate_ppb * from *
                                (span - from) / span / 1000000000) +
                    2;
    return true;
}

/* Where the solution puts an end; false: nowhere. A meeting is looked at by
 * the caller. */
static bool end_time(const struct clocksolve *solve,
                     uint32_t domain,
                     ck_time_t local,
                     ck_time_t *time)
{
    size_t count;
    const struct clocksolve_knot *knots =
        clocksolve_knots(solve, domain, &count);
    struct ck_clock_offset offset;

    /* The last knot belongs to what is before it. */
    if (count > 0 && knots[count - 1].at == local) {
        *time = local + knots[count - 1].offset;
        return knots[count - 1].bound != CK_CLOCK_NONE;
    }
    if (!world_solved(knots, count, local, &offset)) {
        return false;
    }
    *time = local + offset.offset;
    return true;
}

size_t world_violations(const struct clockgraph *graph,
                        const struct clocksolve *solve)
{
    ck_time_t *enter = malloc(((size_t)graph->meetings + 1) * sizeof(*enter));
    size_t found = 0;

    for (uint32_t i = 0; i < graph->meetings; i++) {
        enter[i] = INT64_MIN;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < graph->count; i++) {
            const struct clock_edge *edge = &graph->edges[i];
            bool is_in = (edge->to & CLOCK_MEETING) != 0;
            bool is_out = (edge->from & CLOCK_MEETING) != 0;
            ck_time_t sent, received;

            if (edge->is_dropped) {
                continue;
            }
            if (pass == 0 && is_in) {
                uint32_t meeting = edge->to & ~CLOCK_MEETING;

                if (end_time(solve, edge->from, edge->sent, &sent) &&
                    sent > enter[meeting]) {
                    enter[meeting] = sent;
                }
            } else if (pass == 1 && is_out) {
                found += end_time(solve, edge->to, edge->received, &received) &&
                         received + CLOCKSOLVE_GRAIN <
                             enter[edge->from & ~CLOCK_MEETING];
            } else if (pass == 1 && !is_in) {
                found += end_time(solve, edge->from, edge->sent, &sent) &&
                         end_time(solve, edge->to, edge->received, &received) &&
                         received + CLOCKSOLVE_GRAIN < sent;
            }
        }
    }
    free(enter);
    return found;
}
