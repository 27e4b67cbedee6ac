/* lanebytes.h - items of a lane as numbers of as few bytes as they need
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * For lane.c alone. Blocks of bytes, one behind another; an item is wholly in
 * one of them, and is read from what the one before it was.
 */
#ifndef CK_MERGE_OUTPUT_LANES_LANEBYTES_H
#define CK_MERGE_OUTPUT_LANES_LANEBYTES_H

#include <stdbool.h>

#include "merge/output/lanes/laneitem.h"

/* One more behind that one, NULL = the first. */
struct lane_bytes *lanebytes_create(struct lane_bytes *behind);
/* All from that one on. */
void lanebytes_free(struct lane_bytes *bytes);
/* That one alone: the one behind it. */
struct lane_bytes *lanebytes_drop(struct lane_bytes *bytes);
const struct lane_bytes *lanebytes_behind(const struct lane_bytes *bytes);
/* For any item? */
bool lanebytes_has_room(const struct lane_bytes *bytes);
/* `end` and `name`: of the item before. */
void lanebytes_put(struct lane_bytes *bytes,
                   const struct lane_item *item,
                   ck_time_t end,
                   const char *name);
/* The item at *at, NULL = the first one, which moves behind it; *item is the
 * one before, at first all 0. False = there is none. */
bool lanebytes_next(const struct lane_bytes *bytes,
                    const unsigned char **at,
                    struct lane_item *item);

#endif
