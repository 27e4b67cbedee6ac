/* steps.h - each step: how long it took which rank, and what was done in it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A step of the run is the steps of its ranks that have one number; where a
 * rank counts anew, its second one is another step. Steps belong to ranks, so
 * what is shared out to them goes by a rank and a time.
 */
#ifndef CK_MERGE_ANALYSIS_STEPS_STEPS_H
#define CK_MERGE_ANALYSIS_STEPS_STEPS_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Steps kept; of more only the first ones. */
#define STEPS_MAX ((size_t)1 << 16)
/* Steps times ranks for which each rank's part is kept. */
#define STEPS_CELLS_MAX ((size_t)1 << 20)

struct steps;
/* Definitions borrowed. */
struct steps *steps_create(const struct defs *defs, struct region region);
void steps_destroy(struct steps *steps);
/* Add a step of a rank (by its index in the definitions). */
void steps_add(struct steps *steps,
               uint32_t rank,
               struct region part,
               int64_t number);
/* A timeline_take_f. */
void steps_take(void *steps, const struct timeline_event *event);
/* A device of the rank was idle in `part`, for that cause. */
void steps_idle(struct steps *steps,
                uint32_t rank,
                struct region part,
                enum cause cause);
/* Has the rank not ended its first step by then? *until is cut to that end.
 * False for a rank without steps. */
bool steps_is_start(const struct steps *steps,
                    uint32_t rank,
                    ck_time_t time,
                    ck_time_t *until);
/* How many steps there are so far. */
size_t steps_count(const struct steps *steps);
/* One of them, in order of their begin. */
const struct report_step *steps_item(const struct steps *steps, size_t step);
/* Are there any, or marks of any? */
bool steps_are_known(const struct steps *steps);
/* Of the definitions. */
size_t steps_ranks(const struct steps *steps);
/* The rank waited because of another one (DEFS_NONE = not known). */
void steps_wait(struct steps *steps,
                uint32_t rank,
                struct region part,
                uint32_t blamed);
/* What the rank waited in that part may be off by `error`. */
void steps_unsure(struct steps *steps,
                  uint32_t rank,
                  struct region part,
                  ck_time_t error);
/* Shares a part of a rank's time out to its steps. */
typedef void (*steps_take_f)(void *state, uint32_t step, struct region inside);
/* Each step (by its number among all, in order of their begin) that the part
 * touches. 0, or what `f` returned that was not 0. */
void steps_walk(struct steps *steps,
                uint32_t rank,
                struct region part,
                steps_take_f f,
                void *state);
/* Of the steps of a rank the number, the median and the longest. */
struct steps_lengths {
    size_t count;
    ck_time_t median;
    ck_time_t longest;
};
void steps_lengths(const struct steps *steps,
                   uint32_t rank,
                   struct steps_lengths *lengths);
/* Write report->table, which borrows from steps. */
void steps_report(const struct steps *steps, struct report *report);

/* In how many steps the rank caused the most waiting, of how many with any; the
 * middle of what it caused in those. */
struct steps_blame {
    uint32_t worst;
    uint32_t of;
    ck_time_t median;
};
int steps_blame(const struct steps *steps,
                uint32_t rank,
                struct steps_blame *blame);

#endif
