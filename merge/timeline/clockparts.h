/* clockparts.h - the largest error of a clock in each part of a stretch of time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * No instant is left out: the error of a part holds at all of its instants,
 * and is reached at one of them.
 */
#ifndef CK_MERGE_TIMELINE_CLOCKPARTS_H
#define CK_MERGE_TIMELINE_CLOCKPARTS_H

#include <stddef.h>

#include "merge/timeline/clockmap.h"
#include "schema/time.h"

/* Equal parts of the stretch from start to end, on the axis. */
#define CLOCKPARTS 1024

/* `map` leads to the axis. CLOCKMAP_ERROR_UNKNOWN: nothing is known there. */
void clockparts_fill(struct clockmap *map,
                     ck_time_t start,
                     ck_time_t end,
                     ck_time_t parts[CLOCKPARTS]);

#endif
