/* ompteam.h - what a thread is in of its team, and the records of that
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The same for every runtime. A region is begun by one thread, and its team
 * has parts in it. What is between begin and end is on the stack of the
 * caller, or in a table of the thread's (ompt.c): no memory is asked for.
 */
#ifndef CK_AGENT_INJECT_OMP_OMPTEAM_H
#define CK_AGENT_INJECT_OMP_OMPTEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/inject/inject.h"

/* Waits for locks of fewer units of the ring's clock (a microsecond, or less)
 * are counted. */
#define OMP_WAIT_LEAST 1000

struct omp_runtime;

/* A thread's part of a region. */
struct omp_part {
    const struct omp_part *outer; /* that it is nested in; NULL = none */
    int64_t start;
    uint32_t region; /* 0 = not recorded */
    uint16_t thread, size;
    uint32_t barriers;
    uint32_t shorts; /* waits for locks that were not recorded */
    uint32_t level;
    bool is_alone; /* in a team of one thread: its record is the region's */
    /* What runs it; NULL = not by our wrappers. */
    const struct omp_runtime *runtime;
};

/* A region as the thread that begins it sees it. */
struct omp_region {
    int64_t start;
    uint64_t site;
    uint64_t code;
    uint32_t number; /* 0 = not recorded */
    uint32_t alone;  /* its record's `number` where that has the part, too */
    uint16_t size;   /* of the team, as its first thread saw it */
};

/* The part that this thread is in. */
extern __thread struct omp_part *omp_here;
/* An outermost part that ended: the thread runs tasks of its region, until that
 * is over. region 0 = none. */
extern __thread struct omp_part omp_past;

/* A name of a thing that is waited for, or of a runtime. */
enum omp_name {
    OMP_NAME_GOMP,
    OMP_NAME_LLVM,
    OMP_NAME_BARRIER,
    OMP_NAME_LOOP,
    OMP_NAME_SECTIONS,
    OMP_NAME_SINGLE,
    OMP_NAME_REDUCTION,
    OMP_NAME_WORKSHARE, /* the end of a loop, of sections or of a single */
    OMP_NAME_CRITICAL,
    OMP_NAME_ATOMIC,
    OMP_NAME_ORDERED,
    OMP_NAME_LOCK,
    OMP_NAME_NEST_LOCK,
    OMP_NAME_TASKWAIT,
    OMP_NAME_TASKGROUP,
    OMP_NAME_TASK,
    OMP_NAMES
};

/* Before the team is made: false = it is not recorded. */
bool omp_region_begin(struct omp_region *region,
                      const void *site,
                      uint64_t code);
/* When it is done. */
void omp_region_end(const struct omp_region *region, enum omp_name runtime);

/* Where a thread of the team begins, and where it comes to the end. */
void omp_part_begin(struct omp_part *part,
                    uint32_t region,
                    unsigned thread,
                    unsigned size);
/* A team of one thread waits for no other: the region's record has its part in
 * it, with the same times. */
void omp_part_begin_alone(struct omp_part *part,
                          const struct omp_region *region);
/* `region` is that of a team of one thread; others leave it alone. */
void omp_part_end(const struct omp_part *part, struct omp_region *region);

/* A wait, or a task, from `start` until now. */
struct omp_wait {
    enum ck_kind kind;
    enum omp_name name;
    int64_t start;
    const void *site;
    uint64_t object;
};
/* Now, 0 = this thread does not record. */
static inline int64_t omp_wait_begin(void)
{
    return inject_writer() == NULL ? 0 : inject_now();
}
/* Nothing where it did not begin. */
void omp_wait_end(const struct omp_wait *wait);

#endif
