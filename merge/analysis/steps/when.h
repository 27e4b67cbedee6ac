/* when.h - how much time of several things fell into each step
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thing is a number of the caller's: a rank that others waited for, a cause
 * of idle time. Of each a series of times is kept, by step of the rank whose
 * time it was; in a run without steps by time, a piece counting where it ends.
 * All series together have WHEN_CELLS_MAX cells: beyond, each cell is for
 * twice as many steps.
 */
#ifndef CK_MERGE_ANALYSIS_STEPS_WHEN_H
#define CK_MERGE_ANALYSIS_STEPS_WHEN_H

#include "merge/analysis/steps/steps.h"
#include "merge/model/cause.h"
#include "merge/model/interval.h"
#include "merge/report/report.h"

#define WHEN_CELLS_MAX ((size_t)1 << 20)
/* Stretches of time in a run without steps, at most. */
#define WHEN_STRETCHES 1024

struct when;
/* Borrowed; limit 0 = WHEN_CELLS_MAX. */
struct when *
when_create(struct steps *steps, struct region region, size_t limit);
void when_destroy(struct when *when);
/* NULL for NULL. */
struct steps *when_steps(const struct when *when);
/* A part of the time of a rank (by its index in the definitions). */
void when_add(struct when *when,
              uint32_t thing,
              uint32_t rank,
              struct region part);
/* The windows of things taken together. */
void when_windows(const struct when *when,
                  const uint32_t *things,
                  size_t count,
                  struct report_windows *windows);
/* The steps with most of a thing's time: let m be such a step's time that
 * half of all is in steps of no less; then those of half of m or more. None in
 * a run without steps, or where a cell is for several. */
void when_slow(const struct when *when,
               uint32_t thing,
               struct report_slow *slow);

#endif
