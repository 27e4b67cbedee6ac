/* clockpeers.h - what other tracers' methods make of the same probes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Written from their documents and papers:
 *
 *   first and last   of 10 round trips at the start and 10 at the end the
 *                    shortest each; a straight line between (Score-P, TAU)
 *   mean             the mean of all estimates, one constant (Perfetto's
 *                    relay of several machines)
 *   hull             one straight line for the run between the convex hulls
 *                    of both directions (Trace Compass)
 */
#ifndef CK_TESTS_BENCH_CLOCKPEERS_H
#define CK_TESTS_BENCH_CLOCKPEERS_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/clock/clockband.h"

#define CLOCKPEERS 3

struct clockpeer_error {
    ck_time_t worst;
    bool is_infeasible; /* the method has no answer */
};

const char *clockpeers_name(int peer);
/* Fit all methods to probes in order of time. */
void clockpeers_fit(const struct ck_clock_probe *probes, size_t count);
/* Compare with the true offset at a local time. */
void clockpeers_check(ck_time_t local,
                      ck_time_t truth,
                      struct clockpeer_error errors[CLOCKPEERS]);

#endif
