/* worksum.c - sums of a device's work by name, for the SQLite file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work comes in the order of its starts, so what a piece adds to the union of
 * its name is what is behind the latest end so far. Memory grows with the
 * names on each device, not with the pieces.
 */
#include "merge/output/sqlite/worksum.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

struct worksum {
    struct table *names; /* by device, kind and name */
    ck_time_t *ends;     /* by number of `names`: the latest end */
    size_t ends_room;
    struct table *ranks;      /* by number of `names` and rank */
    struct worksum_row *rows; /* by number of `ranks` */
    size_t rows_room;
};

struct worksum *worksum_create(void)
{
    struct worksum *sums = xcalloc(1, sizeof(*sums));

    sums->names = table_create();
    sums->ranks = table_create();
    return sums;
}

void worksum_destroy(struct worksum *sums)
{
    if (sums == NULL) {
        return;
    }
    table_destroy(sums->names);
    table_destroy(sums->ranks);
    free(sums->ends);
    free(sums->rows);
    free(sums);
}

/* What of a piece is behind all earlier ones of its name. */
static ck_time_t part_alone(struct worksum *sums,
                            size_t name,
                            bool is_new,
                            ck_time_t start,
                            ck_time_t end)
{
    ck_time_t begin = start;

    if (is_new) {
        array_grow(&sums->ends, &sums->ends_room, name, sizeof(*sums->ends));
    } else if (sums->ends[name] > start) {
        begin = sums->ends[name];
    }
    if (is_new || end > sums->ends[name]) {
        sums->ends[name] = end;
    }
    return end > begin ? end - begin : 0;
}

static struct worksum_row *
row_of(struct worksum *sums, size_t name, const struct worksum_key *key)
{
    size_t known = table_count(sums->ranks);
    size_t number =
        (size_t)table_number_of(sums->ranks, name, (uint64_t)key->rank, 0);

    if (number == known) {
        array_grow(&sums->rows, &sums->rows_room, number, sizeof(*sums->rows));
        sums->rows[number] = (struct worksum_row){.key = *key};
    }
    return &sums->rows[number];
}

void worksum_add(struct worksum *sums,
                 const struct worksum_key *key,
                 ck_time_t start,
                 ck_time_t end)
{
    size_t known = table_count(sums->names);
    size_t name =
        (size_t)table_number_of(sums->names, (uint64_t)key->device,
                                (uint64_t)key->kind, (uint64_t)key->name);
    struct worksum_row *row = row_of(sums, name, key);

    row->pieces++;
    row->total += end - start;
    row->alone += part_alone(sums, name, name == known, start, end);
    if (end - start > row->longest) {
        row->longest = end - start;
    }
}

const struct worksum_row *worksum_rows(const struct worksum *sums,
                                       size_t *count)
{
    *count = table_count(sums->ranks);
    return sums->rows;
}
