/* recordorder.c - the classes of the records of a batch, one after the
 * other
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/batch/recordorder.h"

#include "schema/batch/field.h"

int recordorder_count(const struct columns_view *view,
                      uint32_t counts[CK_CLASS_LIMIT],
                      uint32_t *skipped)
{
    struct reader order = reader_of(&view->order);
    uint32_t total = 0;

    while (order.at != order.end) {
        unsigned cls;
        uint32_t count;

        if (recordorder_next(&order, &cls, &count) != 0 ||
            (total += count) > CK_FRAME_RECORDS_MAX) {
            return -1;
        }
        if (cls >= CK_CLASS_LIMIT || ck_field_units[cls] == 0) {
            *skipped += count;
        } else {
            counts[cls] += count;
        }
    }
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (counts[cls] != view->groups[cls].records) {
            return -1;
        }
    }
    return 0;
}
