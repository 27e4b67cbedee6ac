/* batches.h - records as columns, for tests of what reads them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * setup() and teardown() are cmocka's; *state is a struct fixture.
 */
#ifndef CK_TESTS_SCHEMA_BATCHES_H
#define CK_TESTS_SCHEMA_BATCHES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schema/batch/columns.h"
#include "tests/schema/records.h"

#define ROOM ((size_t)CK_FRAME_UNITS_MAX * CK_UNIT_BYTES)

static struct records_random rng;

struct fixture {
    struct columns_encoder *encoder;
    struct columns_view view;
    struct ck_batch_info info;
    struct ck_err err;
    uint8_t *rows;
    uint8_t *back;
};

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->encoder = columns_encoder_create();
    f->rows = aligned_alloc(64, ROOM);
    f->back = aligned_alloc(64, ROOM);
    *state = f;
    return f->encoder == NULL || f->rows == NULL || f->back == NULL ? -1 : 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    columns_encoder_destroy(f->encoder);
    free(f->rows);
    free(f->back);
    free(f);
    return 0;
}

/* Random records in `rows`, as many as `limit` bytes and half a frame hold.
 * Returns their bytes. */
static inline size_t rows_fill(struct fixture *f, size_t limit)
{
    size_t used = 0, n;

    while ((n = records_any(&rng, f->rows + used, limit - used)) > 0) {
        used += n;
        if (used / 64 > CK_FRAME_RECORDS_MAX / 2) {
            break;
        }
    }
    return used;
}

/* Random records in `rows` until they are `least` bytes. Returns their bytes.
 */
static inline size_t rows_reach(struct fixture *f, size_t least)
{
    size_t used = 0, n;

    while (used < least && (n = records_any(&rng, f->rows + used, 4096)) > 0) {
        used += n;
    }
    return used;
}

/* So many records of one kind in `rows`, their texts shorter than `text`.
 * Returns their bytes. */
static inline size_t
rows_repeat(struct fixture *f, unsigned kind, int count, uint32_t text)
{
    size_t used = 0;

    for (int i = 0; i < count; i++) {
        used += records_make(&rng, f->rows + used, kind,
                             (uint32_t)records_below(&rng, text));
    }
    return used;
}

/* Records without texts in `rows`, many of one kind, flags and name after each
 * other. Returns their bytes. */
static inline size_t rows_runs(struct fixture *f, unsigned runs)
{
    size_t used = 0;

    for (unsigned run = 0; run < runs; run++) {
        unsigned kind = CK_KIND_KERNEL + (unsigned)records_below(&rng, 2) * 16;
        uint64_t count = 1 + records_below(&rng, 3 * FIELD_BLOCK);
        struct ck_event first, own;

        kind = records_below(&rng, 3) == 0 ? CK_KIND_COLLECTIVE : kind;
        for (uint64_t i = 0; i < count; i++) {
            size_t bytes = records_make(&rng, f->rows + used, kind, 0);

            memcpy(&own, f->rows + used, sizeof(own));
            first = i == 0 ? own : first;
            own.flags = first.flags;
            own.name = first.name % 2;
            memcpy(f->rows + used, &own, sizeof(own));
            used += bytes;
        }
    }
    return used;
}

/* The records in `rows` as columns. */
static inline int encode(struct fixture *f, size_t bytes)
{
    struct columns_bytes source = {f->rows, bytes};

    return columns_encode(f->encoder, &f->info, &source, &f->view, &f->err);
}

/* One byte of one column of some class becomes another one. */
static inline void column_damage(struct fixture *f, uint8_t *copy)
{
    for (int tries = 0; tries < 1000; tries++) {
        unsigned cls = 1 + (unsigned)records_below(&rng, CK_CLASS_LIMIT - 1);
        struct columns_bytes *column =
            &f->view.groups[cls].column[records_below(&rng, COLUMNS_MAX)];

        if (column->length == 0) {
            continue;
        }
        memcpy(copy, column->bytes, column->length);
        copy[records_below(&rng, column->length)] =
            (uint8_t)(records_below(&rng, 3) == 0 ? 0 : records_next(&rng));
        column->bytes = copy;
        column->length -= records_below(&rng, 8) == 0;
        return;
    }
}

#endif
