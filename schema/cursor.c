/* cursor.c - the records of a batch in their order, some at a time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each class is decoded as far as its records lie in the pieces that are asked
 * for. Rows are the caller's and may be gone at the next call: what the next
 * records are compared with is kept aside.
 */
#include "schema/columns.h"

#include <errno.h>
#include <stdlib.h>

#include "schema/group.h"
#include "schema/order.h"

#define RECORDS_MAX (CK_BATCH_PIECES_MAX * CK_BATCH_PIECE)

/* Rows that are kept aside, one a context. */
struct kept {
    uint8_t *rows;
    unsigned count, room;
    uint16_t slot[FIELD_CONTEXTS]; /* from 1 on; 0 = none, for `before` */
};

struct opened {
    struct group group;
    struct kept kept;
};

struct columns_cursor {
    struct reader order;
    struct opened *classes[CK_CLASS_LIMIT]; /* NULL = not wanted */
    uint32_t left[CK_CLASS_LIMIT];          /* that are not decoded yet */
    unsigned run_class; /* what is left of a run of the order */
    uint32_t run;
    uint32_t unknown;
};

struct columns_cursor *columns_cursor_create(void)
{
    return calloc(1, sizeof(struct columns_cursor));
}

void columns_cursor_destroy(struct columns_cursor *cursor)
{
    if (cursor == NULL) {
        return;
    }
    for (unsigned cls = 0; cls < CK_CLASS_LIMIT; cls++) {
        if (cursor->classes[cls] != NULL) {
            free(cursor->classes[cls]->kept.rows);
            free(cursor->classes[cls]);
        }
    }
    free(cursor);
}

static size_t row_bytes(const struct group *group)
{
    return (size_t)ck_field_units[group->cls] * CK_UNIT_BYTES;
}

/* ---- what is kept ------------------------------------------------------- */

/* Room for one more row; those that are there may move. 0 or -1. */
static int kept_grow(struct opened *opened)
{
    struct kept *kept = &opened->kept;
    struct group *group = &opened->group;
    size_t bytes = row_bytes(group);
    uint8_t *grown;

    if (kept->count < kept->room) {
        return 0;
    }
    kept->room = kept->room == 0 ? 8 : kept->room * 2;
    grown = realloc(kept->rows, kept->room * bytes);
    if (grown == NULL) {
        return -1;
    }
    kept->rows = grown;
    for (unsigned i = 0; i < FIELD_CONTEXTS; i++) {
        if (kept->slot[i] != 0 && !group->is_touched[i]) {
            group->last[i] = grown + kept->slot[i] * bytes;
        }
    }
    return 0;
}

static int context_keep(struct opened *opened, unsigned context)
{
    struct kept *kept = &opened->kept;
    struct group *group = &opened->group;
    size_t bytes = row_bytes(group);

    if (kept->slot[context] == 0) {
        if (kept_grow(opened) != 0) {
            return -1;
        }
        kept->slot[context] = (uint16_t)kept->count++;
    }
    memcpy(kept->rows + kept->slot[context] * bytes, group->last[context],
           bytes);
    group->last[context] = kept->rows + kept->slot[context] * bytes;
    group->is_touched[context] = 0;
    return 0;
}

/* Keep what the next rows are compared with. 0, or -1 with ENOMEM. */
static int opened_keep(struct opened *opened)
{
    struct group *group = &opened->group;

    for (unsigned i = 0; i < FIELD_CONTEXTS; i += 8) {
        uint64_t touched;

        memcpy(&touched, group->is_touched + i, sizeof(touched));
        for (unsigned j = i; touched != 0 && j < i + 8; j++) {
            if (group->is_touched[j] && context_keep(opened, j) != 0) {
                return -1;
            }
        }
    }
    memcpy(opened->kept.rows, group->before, row_bytes(group));
    group->before = opened->kept.rows;
    return 0;
}

/* ---- opening ------------------------------------------------------------ */

static int class_open(struct columns_cursor *cursor,
                      const struct columns_group *group,
                      unsigned cls)
{
    struct opened *opened = cursor->classes[cls];

    if (opened == NULL) {
        opened = calloc(1, sizeof(*opened));
        if (opened == NULL) {
            return -1;
        }
        cursor->classes[cls] = opened;
    }
    group_open(&opened->group, group, cls);
    memset(opened->kept.slot, 0, sizeof(opened->kept.slot));
    opened->kept.count = 0;
    if (kept_grow(opened) != 0) {
        return -1;
    }
    opened->kept.count = 1;
    return 0;
}

int columns_cursor_open(struct columns_cursor *cursor,
                        const struct columns_view *view,
                        uint32_t classes,
                        struct ck_err *err)
{
    uint32_t counts[CK_CLASS_LIMIT] = {0};
    uint32_t skipped = 0;

    classes &= ~((uint32_t)1 << CK_CLASS_TEXT | (uint32_t)1 << CK_CLASS_MODULE);
    if (order_count(view, counts, &skipped) != 0) {
        return ck_err_set(err, "damaged batch: its order and its groups "
                               "disagree");
    }
    cursor->order = reader_of(&view->order);
    cursor->run = 0;
    memset(cursor->left, 0, sizeof(cursor->left));
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if ((classes >> cls & 1) == 0 || counts[cls] == 0) {
            continue;
        }
        cursor->left[cls] = counts[cls];
        if (class_open(cursor, &view->groups[cls], cls) != 0) {
            return ck_err_set(err, "no memory to decode a batch");
        }
    }
    return 0;
}

/* ---- reading ------------------------------------------------------------ */

/* Where the records of some pieces go. */
struct places {
    uint8_t *row[RECORDS_MAX]; /* by class, then in order */
    uint32_t first[CK_CLASS_LIMIT];
    uint32_t count[CK_CLASS_LIMIT];
    size_t bytes;
};

/* The next run of the order, at most `most` of it. 0 or -1. */
static int run_next(struct columns_cursor *cursor,
                    uint32_t most,
                    unsigned *cls,
                    uint32_t *count)
{
    if (cursor->run == 0 &&
        order_next(&cursor->order, &cursor->run_class, &cursor->run) != 0) {
        return -1;
    }
    *cls = cursor->run_class < CK_CLASS_LIMIT ? cursor->run_class : 0;
    *count = cursor->run < most ? cursor->run : most;
    cursor->run -= *count;
    return 0;
}

static bool is_over(const struct columns_cursor *cursor)
{
    return cursor->run == 0 && cursor->order.at == cursor->order.end;
}

/* Count the wanted records of so many ones, or give them places: the second
 * time. 0 or -1. */
static int places_walk(struct columns_cursor *cursor,
                       uint32_t records,
                       struct places *places,
                       uint8_t *rows)
{
    uint8_t *place = rows;

    while (records > 0 && !is_over(cursor)) {
        unsigned cls;
        uint32_t count;
        uint8_t units;

        if (run_next(cursor, records, &cls, &count) != 0) {
            return -1;
        }
        records -= count;
        if (cursor->left[cls] == 0) {
            continue;
        }
        units = ck_field_units[cls];
        if (rows == NULL) {
            places->count[cls] += count;
            places->bytes += (size_t)count * units * CK_UNIT_BYTES;
            continue;
        }
        for (; count > 0; count--) {
            place[offsetof(struct ck_event, units)] = units;
            places->row[places->first[cls]++] = place;
            place += (size_t)units * CK_UNIT_BYTES;
        }
    }
    return 0;
}

/* Decode the records that have their places. 0, or -1: they do not decode. */
static int
class_take(struct columns_cursor *cursor, unsigned cls, struct places *places)
{
    struct opened *opened = cursor->classes[cls];
    uint32_t count = places->count[cls];
    uint8_t **row = places->row + places->first[cls] - count;

    if (count > cursor->left[cls] ||
        group_take(&opened->group, row, count) != 0) {
        return -1;
    }
    cursor->left[cls] -= count;
    if (cursor->left[cls] == 0 && !group_is_done(&opened->group)) {
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        unsigned of = ck_kind_class((unsigned)field_load(row[i], 2));

        if (of != cls && of != CK_CLASS_NONE) {
            return -1;
        }
        cursor->unknown += of == CK_CLASS_NONE;
    }
    return 0;
}

static int pieces_take(struct columns_cursor *cursor,
                       struct places *places,
                       struct ck_err *err)
{
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (places->count[cls] == 0) {
            continue;
        }
        if (class_take(cursor, cls, places) != 0) {
            return ck_err_set(err, "damaged batch: %s columns do not decode",
                              ck_class_name(cls));
        }
        if (opened_keep(cursor->classes[cls]) != 0) {
            return ck_err_set(err, "no memory to decode a batch");
        }
    }
    return 0;
}

int columns_cursor_next(struct columns_cursor *cursor,
                        unsigned pieces,
                        struct columns_rows *rows,
                        struct ck_err *err)
{
    struct places places;
    struct columns_cursor start = *cursor;
    uint32_t records = pieces * CK_BATCH_PIECE;
    uint32_t first = 0;

    rows->used = 0;
    if (is_over(cursor)) {
        return 0;
    }
    memset(places.count, 0, sizeof(places.count));
    places.bytes = 0;
    if (records > RECORDS_MAX ||
        places_walk(cursor, records, &places, NULL) != 0 ||
        places.bytes > rows->room) {
        return ck_err_set(err,
                          "batch has more than the %zu bytes of records "
                          "that there is room for",
                          rows->room);
    }
    for (unsigned cls = 0; cls < CK_CLASS_LIMIT; cls++) {
        places.first[cls] = first;
        first += places.count[cls];
    }
    cursor->order = start.order;
    cursor->run = start.run;
    cursor->run_class = start.run_class;
    cursor->unknown = 0;
    if (places_walk(cursor, records, &places, rows->rows) != 0 ||
        pieces_take(cursor, &places, err) != 0) {
        return -1;
    }
    rows->used = places.bytes;
    if (cursor->unknown > 0) {
        columns_drop_unknown(rows);
    }
    return 1;
}
