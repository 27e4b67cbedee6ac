/* lane.h - one row of a timeline: items that do not overlap, exact or folded
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * FOLD(w): an exact item of w/2 or longer is kept as it is. Any other joins the
 * run before it where the gap to that is shorter than w and the run itself is,
 * too; else it begins a run. A run knows how many items it has, their time, and
 * the longest one. So nothing vanishes, an item of length d is itself wherever
 * w <= 2d, and a lane of length T has at most 4T/w + 1 items: of those kept,
 * each is w/2 or longer; of two neighbours that are not, either a gap of w is
 * between them or the first is w long.
 *
 * (Joining runs of short items to one with a count is Tracy's way of drawing;
 * keeping the longest of what falls together is Perfetto's.)
 *
 * All but the last item, which alone changes, are kept as numbers of as few
 * bytes as they need (lanebytes.c): a fourth of their memory.
 */
#ifndef CK_MERGE_OUTPUT_LANES_LANE_H
#define CK_MERGE_OUTPUT_LANES_LANE_H

#include <stddef.h>
#include <stdint.h>

#include "merge/model/interval.h"
#include "merge/output/lanes/laneitem.h"
#include "schema/time.h"

struct lane_bytes;
struct lane {
    struct lane_item last; /* of count */
    size_t count;
    ck_time_t end; /* of the last item; of none it means nothing */
    struct {
        struct lane_bytes *first, *open;
        ck_time_t end;    /* of the last of them */
        const char *name; /* of that one */
    } before; /* the items before the last one, by start; the end of each is no
                 later than the start of the next */
};

/* Items that were read: freed by the owner; all 0 = none. */
struct lane_items {
    struct lane_item *all;
    size_t count;
    size_t room;
};

/* One exact item. */
static inline struct lane_item
lane_item(ck_time_t start, ck_time_t end, uint8_t class, const char *name)
{
    return (struct lane_item){start,       end,  end - start, end - start,
                              end - start, name, 1,           class};
}

void lane_fini(struct lane *lane);
/* Append an item that joins none: its place, which the caller fills. */
struct lane_item *lane_append(struct lane *lane, ck_time_t end);
/* Append an item that begins at the end of the last one or later, at level w (0
 * = all items are exact). */
void lane_add(struct lane *lane, const struct lane_item *item, ck_time_t w);
/* The same of an exact one. Here, for it is done for nearly each record. */
static inline void lane_put(struct lane *lane,
                            struct region part,
                            uint8_t class,
                            const char *name,
                            ck_time_t w)
{
    struct lane_item *run = lane->count == 0 ? NULL : &lane->last;
    ck_time_t length = part.end - part.start;
    ck_time_t half = (ck_time_t)((uint64_t)w / 2);

    if (run == NULL || length >= half || part.start - run->end >= w ||
        run->end - run->start >= (run->count == 1 ? half : w)) {
        *lane_append(lane, part.end) =
            lane_item(part.start, part.end, class, name);
        return;
    }
    lane->end = run->end = part.end;
    run->busy += length;
    run->count += run->count < UINT32_MAX;
    if (length > run->longest) {
        run->longest = length;
        run->name = name;
    }
    if (class == run->class) {
        run->class_busy += length;
    } else if (length > run->class_busy) {
        run->class = class;
        run->class_busy = length;
    }
}
/* Fold all items again at a coarser level. */
void lane_fold(struct lane *lane, ck_time_t w);
/* Room for so many items in place of those that were read. */
void lane_items_reserve(struct lane_items *items, size_t count);
/* Read all items, into the place of what was read there before. */
void lane_read(const struct lane *lane, struct lane_items *items);
/* Fold what was read. */
void lane_items_fold(struct lane_items *items, ck_time_t w);

#endif
