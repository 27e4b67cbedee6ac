/* shownwait.h - a wait for another rank, as outputs over time show it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_SHOWNWAIT_H
#define CK_MERGE_OUTPUT_SHOWNWAIT_H

#include <stdint.h>

#include "merge/model/interval.h"

struct shown_wait {
    uint32_t thread;    /* in the definitions */
    int32_t rank;       /* its rank; DEFS_RANK_UNKNOWN = none */
    struct region part; /* until what it waited for was there */
    const char *kind;   /* static text, NULL = none */
    int32_t whom;       /* DEFS_RANK_UNKNOWN = the clocks cannot show it */
    ck_time_t error;    /* of comparing the clocks of the two, in ns */
};

#endif
