/* clockback.c - clocks that were set back, by the order of their own probes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/clockback.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/clock/clocktrend.h"

/* Probes that run side by side overlap by less. */
#define BACK_MIN CK_TIME_MS
/* As much may have been drifted by meanwhile: 100 ppm. */
#define RATE_BLIND 100000
/* Stamps beyond it are damage: sums of them might wrap. */
#define STAMP_MAX (CK_CLOCK_NONE / 32)

static bool is_whole(const struct ck_clock_probe *probe)
{
    const ck_time_t stamps[] = {probe->a1, probe->r2, probe->r3, probe->a4};
    const ck_time_t errors[] = {probe->error_forward, probe->error_backward};

    for (size_t i = 0; i < 4; i++) {
        if (stamps[i] == 0 || stamps[i] < -STAMP_MAX || stamps[i] > STAMP_MAX) {
            return false;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (errors[i] < 0 || errors[i] > STAMP_MAX) {
            return false;
        }
    }
    return probe->a4 >= probe->a1 && probe->r3 >= probe->r2;
}

/* What the clock did between two probes. */
static struct clockback back_of(uint32_t domain,
                                const struct ck_clock_probe *before,
                                const struct ck_clock_probe *after)
{
    ck_time_t gap = after->r2 > before->r3 ? after->r2 - before->r3 : 0;
    ck_time_t step = (after->r2 - after->a1) - (before->r3 - before->a4);
    ck_time_t room = (before->a4 - before->a1) + (after->a4 - after->a1) +
                     before->error_backward + after->error_forward;

    return (struct clockback){
        .domain = domain,
        .from = after->a1 - gap,
        .to = before->a4 + gap,
        .fault = {.kind = CK_CLOCK_FAULT_STEP,
                  .from = before->a4,
                  .to = after->a1,
                  .step = step,
                  .bound =
                      room + ck_clock_drift(ck_clock_distance(step, 0) + gap,
                                            RATE_BLIND)}};
}

static bool is_sure(const struct clockback *back)
{
    return ck_clock_distance(back->fault.step, 0) > back->fault.bound;
}

void clockback_find(const struct calibration_probe *probes,
                    size_t count,
                    const uint32_t *domain_of,
                    struct clockback **backs,
                    size_t *found)
{
    uint32_t agents = 0;
    const struct ck_clock_probe **last;
    size_t room = 0;

    *backs = NULL;
    *found = 0;
    for (size_t i = 0; i < count; i++) {
        agents = probes[i].agent >= agents ? probes[i].agent + 1 : agents;
    }
    last = xcalloc((size_t)agents + 1, sizeof(const struct ck_clock_probe *));
    for (size_t i = 0; i < count; i++) {
        const struct ck_clock_probe *probe = &probes[i].stamps;
        const struct ck_clock_probe **before = &last[probes[i].agent];

        if (!is_whole(probe)) {
            continue;
        }
        if (*before != NULL && probe->a1 < (*before)->a1 - BACK_MIN) {
            struct clockback back =
                back_of(domain_of[probes[i].agent], *before, probe);

            /* Else its answer came late, and it was stored then. */
            if (!is_sure(&back)) {
                continue;
            }
            array_grow(backs, &room, *found, sizeof(**backs));
            (*backs)[(*found)++] = back;
        }
        *before = probe;
    }
    free((void *)last);
}

static uint32_t widened(uint32_t error, ck_time_t more)
{
    ck_time_t sum = error + more;

    return sum < CLOCKMAP_ERROR_UNKNOWN ? (uint32_t)sum
                                        : CLOCKMAP_ERROR_UNKNOWN;
}

/* Readings in front of the first piece and behind the last have their error. */
static bool
is_shown(const struct clockmap *map, size_t at, const struct clockback *back)
{
    const struct clockmap_piece *piece = &map->pieces[at];

    return (at == 0 || back->to >= piece->c0) &&
           (at + 1 == map->count || back->from <= piece->c0 + piece->length);
}

void clockback_mark(const struct clockback *backs,
                    size_t count,
                    uint32_t domain,
                    struct clockmap *map)
{
    for (size_t i = 0; i < count; i++) {
        ck_time_t more =
            ck_clock_distance(backs[i].fault.step, 0) + backs[i].fault.bound;

        for (size_t k = 0; backs[i].domain == domain && k < map->count; k++) {
            struct clockmap_piece *piece = &map->pieces[k];

            if (is_shown(map, k, &backs[i])) {
                piece->error0 = widened(piece->error0, more);
                piece->error1 = widened(piece->error1, more);
                piece->flags |= CLOCKMAP_FAULT;
            }
        }
    }
}
