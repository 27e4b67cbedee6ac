/* callsum.c - sums of calls by thread, name and place, for the SQLite file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory grows with the places that call, not with the calls.
 */
#include "merge/output/sqlite/callsum.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

struct callsum {
    struct table *keys;
    struct callsum_row *rows; /* by number of `keys` */
    size_t rows_room;
};

struct callsum *callsum_create(void)
{
    struct callsum *sums = xcalloc(1, sizeof(*sums));

    sums->keys = table_create();
    return sums;
}

void callsum_destroy(struct callsum *sums)
{
    if (sums == NULL) {
        return;
    }
    table_destroy(sums->keys);
    free(sums->rows);
    free(sums);
}

void callsum_add(struct callsum *sums,
                 const struct callsum_key *key,
                 ck_time_t length,
                 bool is_outermost,
                 int64_t bytes)
{
    size_t known = table_count(sums->keys);
    size_t number = (size_t)table_number_of(
        sums->keys, (uint64_t)key->thread << 32 | key->kind,
        (uint64_t)key->name, (uint64_t)key->site);
    struct callsum_row *row;

    if (number == known) {
        array_grow(&sums->rows, &sums->rows_room, number, sizeof(*sums->rows));
        sums->rows[number] = (struct callsum_row){.key = *key};
    }
    row = &sums->rows[number];
    row->calls++;
    row->total += length;
    row->outermost += is_outermost ? length : 0;
    row->longest = length > row->longest ? length : row->longest;
    row->bytes += bytes;
}

const struct callsum_row *callsum_rows(const struct callsum *sums,
                                       size_t *count)
{
    *count = table_count(sums->keys);
    return sums->rows;
}
