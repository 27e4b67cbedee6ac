/* cursor.c - the records of a batch in their order, some at a time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each class is decoded as far as its records are in the pieces that are asked
 * for. Rows are the caller's and may be gone at the next call: what the next
 * records are compared with is kept aside.
 */
#include "schema/batch/columns.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "schema/batch/group.h"
#include "schema/batch/recordorder.h"

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
    uint32_t wanted;                        /* classes: 1 << class */
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
    classes &= ~((uint32_t)1 << CK_CLASS_TEXT | (uint32_t)1 << CK_CLASS_MODULE);
    cursor->order = reader_of(&view->order);
    cursor->run = 0;
    cursor->wanted = classes;
    memset(cursor->left, 0, sizeof(cursor->left));
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if ((classes >> cls & 1) == 0 || view->groups[cls].records == 0) {
            continue;
        }
        cursor->left[cls] = view->groups[cls].records;
        if (class_open(cursor, &view->groups[cls], cls) != 0) {
            return ck_err_set(err, "no memory to decode a batch");
        }
    }
    return 0;
}

/* ---- reading ------------------------------------------------------------ */

/* Where the records of some pieces go. */
struct places {
    uint8_t **next[CK_CLASS_LIMIT]; /* free place of each class that is wanted;
                                       NULL = it is not */
    uint8_t *row[CK_CLASS_LIMIT][RECORDS_MAX];
    uint8_t *end; /* of the rows so far */
    uint8_t *limit;
};

static void places_begin(struct places *places,
                         const struct columns_cursor *cursor,
                         const struct columns_rows *rows)
{
    for (unsigned cls = 0; cls < CK_CLASS_LIMIT; cls++) {
        places->next[cls] =
            (cursor->wanted >> cls & 1) != 0 ? places->row[cls] : NULL;
    }
    places->end = rows->rows;
    places->limit = rows->rows + rows->room;
}

static uint32_t places_count(const struct places *places, unsigned cls)
{
    return places->next[cls] == NULL
               ? 0
               : (uint32_t)(places->next[cls] - places->row[cls]);
}

static bool is_over(const struct columns_cursor *cursor)
{
    return cursor->run == 0 && cursor->order.at == cursor->order.end;
}

/* Give so many records of a class, from where the order is, their places.
 * 0, or -1: there is no room. */
static inline int
places_run(struct places *places, unsigned cls, uint32_t count)
{
    const uint8_t units = ck_field_units[cls];
    const size_t bytes = (size_t)units * CK_UNIT_BYTES;
    uint8_t **row = places->next[cls];
    uint8_t *place = places->end;

    if (row == NULL) {
        return 0;
    }
    if (bytes * count > (size_t)(places->limit - place)) {
        return -1;
    }
    for (; count > 0; count--) {
        place[offsetof(struct ck_event, units)] = units;
        *row++ = place;
        place += bytes;
    }
    places->next[cls] = row;
    places->end = place;
    return 0;
}

/* The same of the next `records` of all classes; or -1: the order does not
 * decode, or has more of a class than there is. */
static int places_walk(struct columns_cursor *cursor,
                       uint32_t records,
                       struct places *places)
{
    struct reader order = cursor->order;
    unsigned cls = cursor->run_class;
    uint32_t run = cursor->run;

    while (records > 0 && (run > 0 || order.at != order.end)) {
        uint32_t count;

        if (run == 0 && recordorder_next(&order, &cls, &run) != 0) {
            return -1;
        }
        count = run < records ? run : records;
        run -= count;
        records -= count;
        if (cls < CK_CLASS_LIMIT && places_run(places, cls, count) != 0) {
            return -1;
        }
    }
    for (cursor->run_class = cls, cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (places_count(places, cls) > cursor->left[cls]) {
            return -1;
        }
    }
    cursor->order = order;
    cursor->run = run;
    return 0;
}

/* True when a class has records that the order did not have. */
static bool has_left(const struct columns_cursor *cursor)
{
    uint32_t left = 0;

    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        left |= cursor->left[cls];
    }
    return left != 0;
}

/* Decode the records that have their places. 0, or -1: they do not decode. */
static int
class_take(struct columns_cursor *cursor, unsigned cls, struct places *places)
{
    struct opened *opened = cursor->classes[cls];
    uint32_t count = places_count(places, cls);
    uint8_t **row = places->row[cls];
    unsigned known = UINT_MAX; /* the class's own, looked at last */

    if (group_take(&opened->group, row, count) != 0) {
        return -1;
    }
    cursor->left[cls] -= count;
    if (cursor->left[cls] == 0 && !group_is_done(&opened->group)) {
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        unsigned kind = (unsigned)field_load(row[i], 2);
        unsigned of;

        if (kind == known) {
            continue;
        }
        of = ck_kind_class(kind);
        if (of != cls && of != CK_CLASS_NONE) {
            return -1;
        }
        cursor->unknown += of == CK_CLASS_NONE;
        known = of == cls ? kind : known;
    }
    return 0;
}

static int pieces_take(struct columns_cursor *cursor,
                       struct places *places,
                       struct ck_err *err)
{
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (places_count(places, cls) == 0) {
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
    uint32_t records = pieces * CK_BATCH_PIECE;

    rows->used = 0;
    if (is_over(cursor)) {
        return 0;
    }
    places_begin(&places, cursor, rows);
    cursor->unknown = 0;
    if (records > RECORDS_MAX || places_walk(cursor, records, &places) != 0) {
        return ck_err_set(err,
                          "damaged batch: its order and its groups disagree, "
                          "or it has more than the %zu bytes of records that "
                          "there is room for",
                          rows->room);
    }
    if (pieces_take(cursor, &places, err) != 0) {
        return -1;
    }
    if (is_over(cursor) && has_left(cursor)) {
        return ck_err_set(err, "damaged batch: its order and its groups "
                               "disagree");
    }
    rows->used = (size_t)(places.end - rows->rows);
    if (cursor->unknown > 0) {
        columns_drop_unknown(rows);
    }
    return 1;
}
