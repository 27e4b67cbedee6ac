/* lane.h - one stream's records in order of time, on the axis
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record is stored when it is complete, and it is ordered by its start; a
 * device's records may come in any order. So each frame is a sorted run of its
 * own: it joins when the merge reaches its earliest start (the store knows
 * it), and a lane is the merge of the frames that are open. At most
 * LANE_FRAMES_MAX frames are kept open, each decoded as far as it is needed
 * (feed.h); one more puts the one that is needed last aside, to be decoded
 * again. Order is exact for any disorder; memory is bounded; time is linear
 * unless frames overlap more deeply.
 */
#ifndef CK_MERGE_TIMELINE_LANE_H
#define CK_MERGE_TIMELINE_LANE_H

#include <stdint.h>

#include "merge/timeline/feed.h"
#include "schema/err.h"
#include "schema/event.h"

#define LANE_FRAMES_MAX 8
#define LANE_END INT64_MAX

struct lane;
/* The source's records; all in it is borrowed. */
struct lane *lane_create(const struct feed_source *source);
void lane_destroy(struct lane *lane);
/* Some records in a row, in order; borrowed until the lane's next call. */
struct lane_run {
    const struct feed_entry *next, *end;
    const uint8_t *rows;
    uint32_t thread; /* in the definitions */
};

static inline const struct ck_event *lane_record(const struct lane_run *run)
{
    return (const struct ck_event *)(run->rows +
                                     (size_t)run->next->offset * CK_UNIT_BYTES);
}

/* Have the record after the next one loaded: those of other lanes come
 * between, and all together are more than the first cache holds. (Inlined
 * always: gcc drops calls of a function that does nothing but this.) */
static inline __attribute__((always_inline)) void
lane_fetch(const struct lane_run *run)
{
    if (run->end - run->next > 1) {
        const uint8_t *record =
            run->rows + (size_t)run->next[1].offset * CK_UNIT_BYTES;

        __builtin_prefetch(record);
        __builtin_prefetch(record + 64);
        __builtin_prefetch(run->next + 5);
    }
}

/* Start of the next record behind the runs so far, LANE_END at the end. Decodes
 * nothing: where classes are left out the next record may turn out to be
 * later. */
ck_time_t lane_time(const struct lane *lane);
/* The next records, times on the axis. 1; 0 = none, and lane_time() has moved
 * on or is at the end; or -1 with err. */
int lane_next(struct lane *lane, struct lane_run *run, struct ck_err *err);

#endif
