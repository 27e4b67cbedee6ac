/* lanes.h - the run as rows of a timeline, in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of each rank: why its devices were idle, its device queues, its threads'
 * calls (rows below each other where they nest), times off the CPU, ranges and
 * steps; and the longest waits for other ranks. Items are exact as long as
 * there are no more than asked for; then all lanes are folded (lane.h), coarser
 * as the run goes on. Of a run that has far more records they are folded from
 * the start.
 */
#ifndef CK_MERGE_OUTPUT_LANES_LANES_H
#define CK_MERGE_OUTPUT_LANES_LANES_H

#include "merge/model/cause.h"
#include "merge/model/interval.h"
#include "merge/output/lanes/closeups.h"
#include "merge/output/lanes/lane.h"
#include "merge/output/lanes/raster.h"
#include "merge/output/shownwait.h"
#include "merge/timeline/timeline.h"

/* What an item is: a cause of idle time, or one of these. */
enum lanes_class {
    LANES_COMPUTE = CAUSE_KINDS,
    LANES_COMM,
    LANES_COPY,
    LANES_RANGE,
    LANES_STEP,
    LANES_CLASSES
};

enum lanes_kind {
    LANES_IDLE,  /* of a device */
    LANES_QUEUE, /* of a device */
    LANES_STEPS, /* of a thread, as the rest */
    LANES_RANGES,
    LANES_CALLS,
    LANES_OFFCPU, /* ready to run without a CPU, or blocked in the kernel */
    LANES_KINDS
};

/* Whose lane it is. */
struct lanes_row {
    enum lanes_kind kind;
    int32_t rank;     /* DEFS_RANK_UNKNOWN = none */
    uint32_t process; /* in the definitions */
    uint32_t number;  /* physical device; device of the process; thread */
    uint32_t queue;
    uint32_t depth; /* of rows that nest or overlap, from 0 */
    struct lane lane;
};

struct lanes;
/* Lanes of `part`, of about so many items at most; `defs` is borrowed. */
struct lanes *
lanes_create(const struct defs *defs, struct region part, size_t items);
void lanes_destroy(struct lanes *lanes);
/* A timeline_take_f. */
int lanes_take(void *lanes, const struct timeline_event *event);
/* A device of a rank was idle because of that. Pieces of a device come in order
 * of time. */
struct lanes_gap {
    uint32_t physical;
    int32_t rank;
    struct region part;
    struct closeup_of why;
    int32_t last; /* rank that was waited for; DEFS_RANK_UNKNOWN = none */
};
void lanes_idle(struct lanes *lanes, const struct lanes_gap *gap);
void lanes_wait(struct lanes *lanes, const struct shown_wait *wait);
/* Nothing comes any more. */
void lanes_finish(struct lanes *lanes);

/* What was kept. Rows in order of first sight; waits by start. */
const struct lanes_row *lanes_rows(const struct lanes *lanes, size_t *count);
const struct shown_wait *lanes_waits(struct lanes *lanes, size_t *count);
/* Level of all lanes, 0 = all items are exact. */
ck_time_t lanes_level(const struct lanes *lanes);
struct region lanes_part(const struct lanes *lanes);
uint64_t lanes_taken(const struct lanes *lanes);      /* items */
size_t lanes_count(const struct lanes *lanes);        /* kept, or folded */
uint64_t lanes_hidden(const struct lanes *lanes);     /* not in any lane */
uint64_t lanes_waits_left(const struct lanes *lanes); /* shorter ones */
/* Where calls with that name of an item were called from; NULL = it is of no
 * call, or the place is not known. */
const struct place *lanes_place(const struct lanes *lanes, const char *name);
const struct closeups *lanes_closeups(const struct lanes *lanes);
/* NULL = the job has few ranks. */
const struct raster *lanes_raster(const struct lanes *lanes);
/* Is it of the first thread of its process? */
bool lanes_is_main(const struct defs *defs, const struct lanes_row *row);
/* "mpi_wait", "compute" */
const char *lanes_class_name(unsigned class);
/* Fold further, until there are no more than so many items. */
void lanes_shrink(struct lanes *lanes, size_t items);

#endif
