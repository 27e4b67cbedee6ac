/* laneblock.h - lanes as two blocks of bytes: what there is, and its items
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The index is JSON:
 *   {"version", "start_ns", "length_ns", "level_ns", "items_taken",
 *    "items_hidden", "names": [text], "places": [of each name where its calls
 *               were called from: {"file", "line"} or {"function"}; null = not
 *               known], "classes": [text],
 *    "lanes": [{"kind": "idle|queue|steps|ranges|calls|offcpu",
 *               "rank", "title", "main" (its process's first thread), "depth",
 *               "items", "tick_ns", "offset", "bytes"}],
 *    "waits": {"left_out", "start": [ns], "length": [ns], "rank": [],
 *              "whom": [-1 = the clocks cannot show it], "kind": [text],
 *              "error": [ns]} or null}
 *
 * Times count from `zero`, and end at length_ns; what there is of them begins
 * at start_ns.
 *
 * Of close looks (closeups.h) it also has "closeups": [{"start_ns", "end_ns"}],
 * each lane "closeup", the number of the one that it is of, and no "waits".
 *
 * The items of a lane are columns, one behind the other, each of as many
 * unsigned LEB128 numbers as there are items: gap to the end of the item
 * before, length, class, name (its number and 1; 0 = none); where level_ns > 0
 * also how many items it is, their time, and the length of the longest one.
 * Times are in ticks of tick_ns; starts are rounded down and ends up.
 */
#ifndef CK_MERGE_OUTPUT_LANES_LANEBLOCK_H
#define CK_MERGE_OUTPUT_LANES_LANEBLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "merge/output/lanes/lanes.h"

struct laneblock {
    char *index; /* a text */
    size_t index_length;
    size_t count; /* of items */
    unsigned char *items;
    size_t items_length;
};

/* What is to be in it. */
struct laneblock_wish {
    ck_time_t zero;
    ck_time_t level; /* of items where that of the lanes is finer */
    bool has_waits;
};

/* 0; freed by laneblock_fini() in both cases. */
int laneblock_make(struct laneblock *block,
                   struct lanes *lanes,
                   const struct defs *defs,
                   const struct laneblock_wish *wish);
/* Close looks in place of whole lanes; all items are exact. */
int laneblock_closeups(struct laneblock *block,
                       struct lanes *lanes,
                       const struct defs *defs,
                       ck_time_t zero,
                       const struct closeup *const *closeups,
                       size_t count);
void laneblock_fini(struct laneblock *block);

#endif
