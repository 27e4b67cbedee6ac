/* reportlaunch.h - device work by the stack that launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_REPORT_REPORTLAUNCH_H
#define CK_MERGE_REPORT_REPORTLAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/names.h"
#include "schema/time.h"

/* Frames of a launching stack that are kept: the innermost ones. */
#define REPORT_LAUNCH_FRAMES 24

/* Device work of a rank by launching call and kernel (or kind of a copy). */
struct report_launch_row {
    int32_t rank;
    const char *work;
    struct place place;                        /* of the launching call */
    struct place frames[REPORT_LAUNCH_FRAMES]; /* who called it, outermost
                                                  first; `place` is the last */
    size_t frames_count;                       /* 0 = no sample met that call */
    bool is_by_function; /* the samples were elsewhere in the function that
                            makes the call */
    double share;        /* of the samples there that have these frames */
    ck_time_t ns;        /* lengths added up */
    uint64_t launches;
};

/* The same, and how much of it was joined. */
struct report_launch_stacks {
    struct report_launch_row *rows; /* longest first */
    size_t count;
    size_t listed;        /* of these, in a report */
    uint64_t matched;     /* launches whose call was sampled by then, */
    uint64_t deferred;    /* later, */
    uint64_t by_function; /* whose function was sampled elsewhere, */
    uint64_t unmatched;   /* never; */
    uint64_t unknown;     /* whose call is not known */
    ck_time_t matched_ns, deferred_ns, by_function_ns, unmatched_ns, unknown_ns;
    uint64_t left_out; /* launches in no row */
    ck_time_t left_out_ns;
};

#endif
