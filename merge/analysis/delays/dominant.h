/* dominant.h - what a rank did for the largest part of some time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kind of thing comes first, then of that kind what took longest: many
 * short calls from one place outweigh a long one of another kind. A call that
 * waits for the device is one thing, whatever kernels ran meanwhile; where they
 * ran for more than half of it, or were queued and did not begin, they are what
 * it was.
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_DOMINANT_H
#define CK_MERGE_ANALYSIS_DELAYS_DOMINANT_H

#include "merge/analysis/history/lookback.h"

/* A part of the time, in one activity. */
struct dominant_part {
    uint32_t did;
    uint32_t call;   /* the same without its kernel; dominant_part() sets it, */
    enum cause kind; /* and this: what the call counts as */
    ck_time_t ns;
};
struct dominant_part
dominant_part(const struct lookback *lookback, uint32_t did, ck_time_t ns);

struct dominant {
    enum cause kind; /* CAUSES = nothing is known */
    ck_time_t kind_ns;
    ck_time_t ns; /* of those, in: */
    uint32_t did;
    enum cause part_kind; /* of the parts that these are */
};
/* Puts the parts in another order. */
struct dominant dominant_find(const struct lookback *lookback,
                              struct dominant_part *parts,
                              size_t count);

#endif
