/* laneitem.h - an item of a row of a timeline, or a run of short ones
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_LANES_LANEITEM_H
#define CK_MERGE_OUTPUT_LANES_LANEITEM_H

#include <stdint.h>

#include "schema/time.h"

struct lane_item {
    ck_time_t start;
    ck_time_t end;
    ck_time_t busy; /* of its items, added up */
    ck_time_t longest;
    ck_time_t class_busy; /* of busy, what is known to be of its class */
    const char *name;     /* of the longest one; borrowed, NULL = none */
    uint32_t count;       /* 1 = exact */
    uint8_t class;        /* that most of its time has */
};

#endif
