/* window.h - parts of a series in which its values are high, and nowhere else
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The values are what a rank made others wait, by step or by stretch of time.
 * What is no window: noise, single outliers, a trend, the first steps, what
 * comes again and again (docs/analysis.md has the definition).
 */
#ifndef CK_MERGE_ANALYSIS_STEPS_WINDOW_H
#define CK_MERGE_ANALYSIS_STEPS_WINDOW_H

#include <stddef.h>

#include "schema/time.h"

/* Of fewer values none is claimed. */
#define WINDOW_VALUES_MIN 24
/* Windows that a series may have. */
#define WINDOWS_MAX 3

struct window {
    size_t first;
    size_t last;  /* it is in the window */
    double share; /* of the sum of all values */
};

/* The windows in order that together have most of the values above their usual
 * level; *count = 0 where there is none. `chance`: that of claiming one of
 * values in random order. */
void window_find(const ck_time_t *values,
                 size_t values_count,
                 double chance,
                 struct window windows[WINDOWS_MAX],
                 size_t *count);

#endif
