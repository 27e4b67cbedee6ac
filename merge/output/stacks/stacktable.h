/* stacktable.h - the stacks that CPU samples met, added up by thread
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Takes the samples of a merge; afterwards, each different stack of a thread is
 * a row. Frames are numbers in a table of places.
 */
#ifndef CK_MERGE_OUTPUT_STACKS_STACKTABLE_H
#define CK_MERGE_OUTPUT_STACKS_STACKTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/defs.h"
#include "merge/model/interval.h"
#include "merge/output/cxxname.h"
#include "merge/timeline/timeline.h"

/* Bytes of a frame's name. */
#define STACKTABLE_NAME CXXNAME_MAX
/* How frames of other kinds are marked behind their names, as flamegraph.pl
 * knows them. */
#define STACKTABLE_INLINED "_[i]"
#define STACKTABLE_JIT "_[j]"
#define STACKTABLE_KERNEL "_[k]"
/* Samples whose times are kept at most. */
#define STACKTABLE_MOMENTS ((size_t)4 << 20)

struct stacktable_row {
    uint32_t thread; /* in the definitions; DEFS_NONE = not known */
    uint32_t process;
    uint32_t tid;
    uint32_t number; /* in order of first sight */
    int32_t rank;    /* DEFS_RANK_UNKNOWN = none */
    uint64_t samples;
    ck_time_t ns;     /* or another weight */
    uint32_t *frames; /* the outermost first */
    size_t count, room;
};

/* One sample. */
struct stacktable_moment {
    ck_time_t at;
    uint32_t row; /* its number in order of first sight */
    uint32_t cpu;
};

struct stacktable;
/* Samples within `part`; `defs` is borrowed, and complete. */
struct stacktable *stacktable_create(const struct defs *defs,
                                     struct region part);
void stacktable_destroy(struct stacktable *table);
/* Take waits without a CPU in place of CPU samples; their weights are the times
 * within the part. */
void stacktable_of_waits(struct stacktable *table);
/* Keep when each sample was, from now on. */
void stacktable_keep(struct stacktable *table);
/* A timeline_take_f. */
int stacktable_take(void *table, const struct timeline_event *event);
/* The same for records of the class STACKED: weights are the bytes that a
 * block which was asked for represents. */
int stacktable_take_memory(void *table, const struct timeline_event *event);
/* The same for a record of the class SAMPLE; returns the number of its row.
 * STACKTABLE_NONE = it is not counted. */
#define STACKTABLE_NONE (-1)
int64_t stacktable_sample(struct stacktable *table,
                          const struct timeline_event *event);
/* Number in the definitions of a thread of an image that a record names, which
 * some process of that agent recorded; -1 = it is not there, or its rank is not
 * wanted. */
int64_t stacktable_thread_number(const struct stacktable *table,
                                 uint32_t recorder,
                                 uint32_t incarnation,
                                 uint32_t tid);
/* Find the frames, once all samples were taken. */
void stacktable_resolve(struct stacktable *table);

/* By rank, thread and frames; borrowed. */
const struct stacktable_row *stacktable_rows(const struct stacktable *table,
                                             size_t *count);
/* The row that has a number. */
const struct stacktable_row *stacktable_row(const struct stacktable *table,
                                            uint32_t number);
/* Samples in order of time; borrowed. */
const struct stacktable_moment *
stacktable_moments(const struct stacktable *table, size_t *count);
/* Samples behind STACKTABLE_MOMENTS. */
uint64_t stacktable_moments_left(const struct stacktable *table);
/* The process of a row, as the system numbers it. */
uint32_t stacktable_pid(const struct stacktable *table,
                        const struct stacktable_row *row);
/* Where the frames are; borrowed. Places without a function have the name of
 * their file there, in brackets. */
const struct place *stacktable_places(const struct stacktable *table,
                                      size_t *count);
/* The function as a person reads it; behind it `_[i]` for one that was inlined,
 * `_[j]` for one compiled at run time, `_[k]` for one of the kernel. */
void stacktable_name(const struct place *place, char name[STACKTABLE_NAME]);
/* "main", "io", "tid 71". */
void stacktable_thread(const struct stacktable *table,
                       const struct stacktable_row *row,
                       char name[STACKTABLE_NAME]);

#endif
