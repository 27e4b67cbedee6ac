/* clockbreak.h - where one clock's line is of two times
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Within clockfit.c alone: the points of windows, before rates are given to
 * what is between them.
 */
#ifndef CK_MERGE_CLOCKS_SOLVE_CLOCKBREAK_H
#define CK_MERGE_CLOCKS_SOLVE_CLOCKBREAK_H

#include <stddef.h>

#include "merge/clocks/solve/clockline.h"

/* No clock's rate changes by more: 20 ppm. */
#define CLOCKBREAK_RATE 20e-6
/* Nothing smaller is a jump, ns. */
#define CLOCKBREAK_MIN 1000.0

/* How well the slope of a point is known. */
double clockbreak_doubt(const struct clockline_point *point);
/* Of the points from `first` on, that whose slope is known best; borrowed. */
const struct clockline_point *clockbreak_best(const struct clockline *line,
                                              size_t first);
/* Mark the jumps from `first` on; `facts`: all that they were fitted to, in
 * order of time. Points without anything sure are taken out. */
void clockbreak_find(struct clockline *line,
                     size_t first,
                     const struct ck_clock_constraint *facts,
                     size_t count);

#endif
