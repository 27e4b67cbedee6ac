/* causekeys.c - numbers for the causes that rows of the ledger belong to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/idle/causekeys.h"

#include <stdlib.h>

#include "merge/model/memory.h"
#include "merge/model/table.h"

struct causekeys {
    const struct defs *defs;   /* borrowed */
    struct lookback *lookback; /* borrowed */
    rows_shown_f is_shown;
    struct table *numbers;
};

struct causekeys *causekeys_create(const struct defs *defs,
                                   struct lookback *lookback,
                                   rows_shown_f is_shown)
{
    struct causekeys *keys = xcalloc(1, sizeof(*keys));

    keys->defs = defs;
    keys->lookback = lookback;
    keys->is_shown = is_shown;
    keys->numbers = table_create();
    return keys;
}

void causekeys_destroy(struct causekeys *keys)
{
    if (keys == NULL) {
        return;
    }
    table_destroy(keys->numbers);
    free(keys);
}

/* Whose it is: of waits the call that was waited in, of others the range. Kept
 * texts are one pointer where they are equal. */
static int64_t text_of(const struct causekeys *keys,
                       const struct ledger_row *row)
{
    if (row->did == DEFS_NONE || row->cause == CAUSE_STARTUP) {
        return 0;
    }
    return row->cause == CAUSE_MPI_WAIT
               ? lookback_activity_site(keys->lookback, row->did)
               : (int64_t)(uintptr_t)lookback_activity_range(keys->lookback,
                                                             row->did);
}

int64_t causekeys_find(struct causekeys *keys, const struct ledger_row *row)
{
    bool is_wait = row->cause == CAUSE_MPI_WAIT;
    bool is_of_device =
        row->cause == CAUSE_DEP_REMOTE || row->cause == CAUSE_DEP_EVENT;
    int64_t text = text_of(keys, row);
    uint64_t what = (uint64_t)row->wait << 8 | (uint64_t)row->cause << 2 |
                    (uint64_t)row->is_start << 1 |
                    (uint64_t)keys->is_shown(keys->defs, row->device);

    if (is_of_device) {
        what |= (uint64_t)row->device << 40 |
                (uint64_t)((uint32_t)row->last & 0xffffff) << 16;
    }
    return table_number_of(keys->numbers, what,
                           (uint64_t)(uint32_t)row->blamed << 32 |
                               (is_wait ? 0 : (uint32_t)row->rank),
                           (uint64_t)text);
}
