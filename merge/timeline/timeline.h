/* timeline.h - all records of a run, in order of time, as calls to consumers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Order: start, then rank, then stream, then order of storing. What the
 * consumers see is on one axis (axis.h).
 */
#ifndef CK_MERGE_TIMELINE_TIMELINE_H
#define CK_MERGE_TIMELINE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "merge/model/defs.h"
#include "merge/timeline/consumer.h"
#include "schema/err.h"

struct axis;
struct follower;
struct rundir;

/* ns. A wait without a CPU is no longer than thirteen days, and all of a run
 * not longer than 73 years: what programs overwrote adds up to less than an
 * int64_t holds. A sample, or a count of faults, fits into 32 bits. */
#define TIMELINE_WAIT_MOST ((ck_time_t)1 << 50)
#define TIMELINE_WAITS_MOST ((ck_time_t)1 << 61)

/* Called now and then with the share done, 0..1. */
typedef void (*timeline_progress_f)(void *state, double done);

struct timeline {
    struct rundir *store; /* all borrowed */
    const struct defs *defs;
    const struct axis *axis;
    const struct timeline_consumer *consumers;
    size_t consumers_count;
    size_t witnesses_count;       /* of them, the first: they take the events of
                                     ranks that are not wanted, too */
    struct follower *follower;    /* calls the consumers, which are made known
                                     to it here; NULL = the merge does */
    timeline_progress_f progress; /* NULL = none */
    void *progress_state;
};

/* Run it from the first record to the last, with the calls
 * that were never left (opencalls.h) in their places and without samples whose
 * weight is beyond the limits above. *events = how many stored
 * ones were handed out. 0, or -1 with err. */
int timeline_run(const struct timeline *timeline,
                 uint64_t *events,
                 struct ck_err *err);

#endif
