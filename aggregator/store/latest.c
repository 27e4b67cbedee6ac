/* latest.c - which of the facts are replaced by later ones
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/latest.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/store/keytable.h"

struct latest {
    struct keytable *last; /* number of the last row of each key */
    uint64_t seen;         /* replaceable rows */
    uint64_t clocks;
    uint64_t asked;
    uint64_t clocks_asked;
};

struct latest *latest_create(void)
{
    struct latest *latest = calloc(1, sizeof(*latest));

    if (latest && !(latest->last = keytable_create())) {
        free(latest);
        return NULL;
    }
    return latest;
}

void latest_destroy(struct latest *latest)
{
    int saved = errno;

    if (latest) {
        keytable_destroy(latest->last);
        free(latest);
    }
    errno = saved;
}

/* What the row is of, 0 = it replaces nothing. */
static uint64_t row_key(uint32_t incarnation, const struct ck_event *row)
{
    if (row->kind == CK_KIND_COUNTER || row->kind == CK_KIND_CALLS) {
        const struct ck_counter *counter = (const void *)row;

        return keytable_key(row->kind, incarnation, row->name, counter->tid);
    }
    if (row->kind == CK_KIND_OPEN) {
        const struct ck_open *open = (const void *)row;

        return keytable_key(row->kind, open->incarnation, open->depth,
                            open->tid);
    }
    return 0;
}

int latest_see(struct latest *latest,
               uint32_t incarnation,
               const struct ck_event *row)
{
    uint64_t key = row_key(incarnation, row);
    struct keytable_entry *entry;

    latest->clocks += ck_kind_class(row->kind) == CK_CLASS_CLOCK;
    if (key == 0) {
        return 0;
    }
    entry = keytable_make(latest->last, key);
    if (!entry) {
        return -1;
    }
    entry->value = latest->seen++;
    return 0;
}

bool latest_stays(struct latest *latest,
                  uint32_t incarnation,
                  const struct ck_event *row)
{
    uint64_t key = row_key(incarnation, row);

    if (ck_kind_class(row->kind) == CK_CLASS_CLOCK) {
        return 2 * latest->clocks_asked++ + 1 >= latest->clocks;
    }
    return key == 0 ||
           keytable_find(latest->last, key)->value == latest->asked++;
}
