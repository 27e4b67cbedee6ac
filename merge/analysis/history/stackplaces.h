/* stackplaces.h - stacks of threads, and the places in the program that they
 * lead to
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each stack of a thread has a number; who counts something by stacks keeps it
 * by that number, and sums it over places at the end.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_STACKPLACES_H
#define CK_MERGE_ANALYSIS_HISTORY_STACKPLACES_H

#include "merge/analysis/history/lookback.h"
#include "merge/report/report.h"

/* A stack with its place. */
struct stackplace {
    size_t number;
    uint32_t process;
    uint32_t tid;
    int32_t rank;
    struct place place;
    uint32_t path;   /* CALLPATHS_NONE = no function of the program's own */
    uint64_t weight; /* what its owner compares lines and callers by */
};

struct stackplaces;
/* Borrowed; the lookback takes each event before. */
struct stackplaces *stackplaces_create(const struct defs *defs,
                                       const struct lookback *lookback);
void stackplaces_destroy(struct stackplaces *stacks);
/* Whose a sample, fault or wait is; DEFS_NONE = not known, or of no rank that
 * was asked for. */
uint32_t stackplaces_process(const struct stackplaces *stacks,
                             const struct timeline_event *event);
/* The number of a record's thread and stack (0, 1, 2 ...), given at first
 * sight. */
size_t stackplaces_number(struct stackplaces *stacks,
                          uint32_t process,
                          const struct ck_sample *record);
int32_t stackplaces_rank(const struct stackplaces *stacks, size_t number);
/* Without a weight. */
struct stackplace stackplaces_at(const struct stackplaces *stacks,
                                 size_t number);
/* Another place of its stack: its callers are outside of that. */
void stackplaces_move(const struct stackplaces *stacks,
                      struct stackplace *row,
                      struct place place);
/* Whether it ends in ck's own code. */
bool stackplaces_is_own(const struct stackplaces *stacks, size_t number);

/* By function and file, then rank, process, thread and line. */
void stackplaces_sort(struct stackplace *rows, size_t count);
bool stackplaces_is_function(const struct stackplace *a,
                             const struct stackplace *b);
/* Of one function: the line with the most weight, the first of equal ones. */
struct place stackplaces_line(const struct stackplace *rows, size_t count);
/* By which of its callers the function is explained. */
struct report_callers stackplaces_callers(const struct stackplaces *stacks,
                                          const struct stackplace *rows,
                                          size_t count);

#endif
