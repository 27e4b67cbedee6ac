/* group.c - the columns of one class back to records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Block by block, column by column. A record begins as a copy of the one
 * that it is compared with, so a column that does not change in a block costs
 * nothing more. Every byte is checked: numbers against their width, runs
 * against the records left, columns against their end.
 */
#include "schema/batch/group.h"

/* The rows of a block. */
struct rows {
    uint8_t *const *row;
    const uint8_t *before; /* the row before the first */
    const uint8_t **peer;  /* of each row: that it is a difference to */
    unsigned count;
    uint64_t left; /* records from here to the end of the group */
};

/* A column whose numbers are differences to the row before, less `step`. */
static inline __attribute__((always_inline)) int
get_running(struct reader *from,
            const struct rows *rows,
            const struct field *f,
            unsigned bytes,
            uint64_t step)
{
    struct reader reader = *from;
    const size_t offset = f->offset;
    const unsigned count = rows->count;
    uint64_t value = field_load(rows->before + offset, bytes);
    int64_t d[FIELD_BLOCK];
    int rc = 0;

    if (reader_is_still(&reader, rows->left, rows->count, &rc)) {
        for (unsigned i = 0; i < count; i++) {
            value += step;
            field_store(rows->row[i] + offset, value, bytes);
        }
        *from = reader;
        return rc;
    }
    if (reader_differences(&reader, rows->left, bytes, d, count) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < count; i++) {
        value += (uint64_t)d[i] + step;
        field_store(rows->row[i] + offset, value, bytes);
    }
    *from = reader;
    return rc;
}

/* A column whose numbers are differences to the row of the same context; rows
 * hold the values of those already. */
static inline __attribute__((always_inline)) int
get_same(struct reader *from,
         const struct rows *rows,
         const struct field *f,
         unsigned bytes)
{
    struct reader reader = *from;
    const size_t offset = f->offset;
    const unsigned count = rows->count;
    int64_t d[FIELD_BLOCK];
    int rc = 0;

    if (reader_is_still(&reader, rows->left, rows->count, &rc)) {
        *from = reader;
        return rc;
    }
    if (reader_differences(&reader, rows->left, bytes, d, count) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < count; i++) {
        field_store(rows->row[i] + offset,
                    field_load(rows->peer[i] + offset, bytes) + (uint64_t)d[i],
                    bytes);
    }
    *from = reader;
    return rc;
}

static int
get_back(struct reader *from, const struct rows *rows, const struct field *f)
{
    const size_t start = offsetof(struct ck_event, start);
    struct reader reader = *from;
    const size_t offset = f->offset;
    int64_t d[FIELD_BLOCK];

    if (reader_differences(&reader, rows->left, 8, d, rows->count) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < rows->count; i++) {
        const uint8_t *peer = rows->peer[i];
        uint8_t *row = rows->row[i];
        uint64_t value = field_back(field_load(peer + start, 8),
                                    field_load(peer + offset, 8));

        value =
            field_back_undo(field_load(row + start, 8), value + (uint64_t)d[i]);
        field_store(row + offset, value, 8);
    }
    *from = reader;
    return 0;
}

static int get_field(struct reader *reader,
                     const struct rows *rows,
                     const struct field *f,
                     bool is_next)
{
    if (is_next) {
        if (f->code == FIELD_BACK || f->bytes < 4) {
            return -1;
        }
        return f->bytes == 8 ? get_running(reader, rows, f, 8, 1)
                             : get_running(reader, rows, f, 4, 1);
    }
    if (f->code == FIELD_BACK) {
        return get_back(reader, rows, f);
    }
    switch (f->bytes) {
    case 8:
        return get_same(reader, rows, f, 8);
    case 4:
        return get_same(reader, rows, f, 4);
    case 2:
        return get_same(reader, rows, f, 2);
    default:
        return get_same(reader, rows, f, 1);
    }
}

/* Whether kind, flags and name stay what they were, as in most blocks; then all
 * are written at once. */
static bool head_is_still(struct reader *readers, const struct rows *rows)
{
    struct ck_event event;
    uint64_t head;

    for (unsigned c = 0; c < 3; c++) {
        if (readers[c].run < rows->count) {
            return false;
        }
    }
    for (unsigned c = 0; c < 3; c++) {
        readers[c].run -= rows->count;
    }
    /* All have as many units as the first: texts are given theirs later. */
    memcpy(&event, rows->before, sizeof(event));
    event.units = rows->row[0][offsetof(struct ck_event, units)];
    memcpy(&head, &event, sizeof(head));
    for (unsigned i = 0; i < rows->count; i++) {
        memcpy(rows->row[i], &head, sizeof(head));
    }
    return true;
}

_Static_assert(offsetof(struct ck_event, start) == 8, "the head is a word");

/* kind, flags, name, start. *is_still: all but the last stay what they were. */
static int
get_head(struct reader *readers, const struct rows *rows, bool *is_still)
{
    static const struct field kind = {2, FIELD_SAME,
                                      offsetof(struct ck_event, kind)};
    static const struct field flags = {1, FIELD_SAME,
                                       offsetof(struct ck_event, flags)};
    static const struct field name = {4, FIELD_SAME,
                                      offsetof(struct ck_event, name)};
    static const struct field start = {8, FIELD_SAME,
                                       offsetof(struct ck_event, start)};

    *is_still = head_is_still(readers, rows);
    if (*is_still) {
        return get_running(&readers[3], rows, &start, 8, 0);
    }
    return get_running(&readers[0], rows, &kind, 2, 0) |
           get_running(&readers[1], rows, &flags, 1, 0) |
           get_running(&readers[2], rows, &name, 4, 0) |
           get_running(&readers[3], rows, &start, 8, 0);
}

/* Find the predecessors by context, now that kind and name are known. A row
 * begins as the copy of its own: then only what differs is left to do.
 */
static inline __attribute__((always_inline)) void
copy_peers(struct group *group, const struct rows *rows, unsigned units)
{
    const size_t head = sizeof(struct ck_event);

    for (unsigned i = 0; i < rows->count; i++) {
        uint8_t *row = rows->row[i];
        struct ck_event event;
        unsigned context;

        memcpy(&event, row, sizeof(event));
        context = field_context(event.kind, event.name);
        rows->peer[i] = group->last[context];
        memcpy(row + head, rows->peer[i] + head, units * CK_UNIT_BYTES - head);
        group->last[context] = row;
        group->is_touched[context] = 1;
    }
}

/* ---- blocks of one kind and name ---------------------------------------- */

/* A column whose rows hold the value of the row before the first. */
static int
get_alone(struct reader *reader, const struct rows *rows, const struct field *f)
{
    int rc = 0;

    if (reader_is_still(reader, rows->left, rows->count, &rc) || rc != 0) {
        return rc;
    }
    switch (f->bytes) {
    case 8:
        return get_running(reader, rows, f, 8, 0);
    case 4:
        return get_running(reader, rows, f, 4, 0);
    case 2:
        return get_running(reader, rows, f, 2, 0);
    default:
        return get_running(reader, rows, f, 1, 0);
    }
}

/* A time as a distance: undone and made again it is the same. */
static int get_back_alone(struct reader *reader,
                          const struct rows *rows,
                          const struct field *f)
{
    const size_t start = offsetof(struct ck_event, start);
    uint64_t distance = field_back(field_load(rows->before + start, 8),
                                   field_load(rows->before + f->offset, 8));
    int64_t d[FIELD_BLOCK];

    if (reader_differences(reader, rows->left, 8, d, rows->count) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < rows->count; i++) {
        uint8_t *row = rows->row[i];

        distance += (uint64_t)d[i];
        field_store(row + f->offset,
                    field_back_undo(field_load(row + start, 8), distance), 8);
    }
    return 0;
}

/* Begin all rows as copies of one. */
static inline __attribute__((always_inline)) void
copy_peer(const struct rows *rows, const uint8_t *peer, unsigned units)
{
    const size_t head = sizeof(struct ck_event);
    uint8_t tail[3 * CK_UNIT_BYTES];

    memcpy(tail, peer + head, units * CK_UNIT_BYTES - head);
    for (unsigned i = 0; i < rows->count; i++) {
        memcpy(rows->row[i] + head, tail, units * CK_UNIT_BYTES - head);
    }
}

/* The rest of a block in which kind and name stay what they were: the peer of
 * each row is the row before it. */
static int get_block_alone(struct group *group, const struct rows *rows)
{
    const struct field *fields = ck_fields[group->cls];
    struct ck_event event;
    unsigned context;

    switch (ck_field_units[group->cls]) {
    case 1:
        copy_peer(rows, rows->before, 1);
        break;
    case 2:
        copy_peer(rows, rows->before, 2);
        break;
    default:
        copy_peer(rows, rows->before, 3);
    }
    for (unsigned c = FIELD_FIRST; fields[c].bytes != 0; c++) {
        struct reader *reader = &group->readers[c];
        int rc;

        if ((group->next >> c & 1) != 0) {
            rc = get_field(reader, rows, &fields[c], true);
        } else if (fields[c].code == FIELD_BACK) {
            rc = get_back_alone(reader, rows, &fields[c]);
        } else {
            rc = get_alone(reader, rows, &fields[c]);
        }
        if (rc != 0) {
            return -1;
        }
    }
    memcpy(&event, rows->before, sizeof(event));
    context = field_context(event.kind, event.name);
    group->last[context] = rows->row[rows->count - 1];
    group->is_touched[context] = 1;
    return 0;
}

/* ---- blocks ------------------------------------------------------------- */

static int get_block(struct group *group, const struct rows *rows)
{
    const struct field *fields = ck_fields[group->cls];
    bool is_still;

    if (get_head(group->readers, rows, &is_still) != 0) {
        return -1;
    }
    if (is_still) {
        return get_block_alone(group, rows);
    }
    switch (ck_field_units[group->cls]) {
    case 1:
        copy_peers(group, rows, 1);
        break;
    case 2:
        copy_peers(group, rows, 2);
        break;
    default:
        copy_peers(group, rows, 3);
    }
    for (unsigned c = FIELD_FIRST; fields[c].bytes != 0; c++) {
        if (get_field(&group->readers[c], rows, &fields[c],
                      group->next >> c & 1) != 0) {
            return -1;
        }
    }
    return 0;
}

void group_open(struct group *group,
                const struct columns_group *columns,
                unsigned cls)
{
    const uint8_t *zeros = (const uint8_t *)ck_field_zeros;

    group->cls = cls;
    group->next = columns->next;
    group->left = columns->records;
    group->before = zeros;
    for (unsigned c = 0; c < COLUMNS_MAX; c++) {
        group->readers[c] =
            reader_of_column(&columns->column[c], columns->records);
    }
    for (unsigned i = 0; i < FIELD_CONTEXTS; i++) {
        group->last[i] = zeros;
    }
    memset(group->is_touched, 0, sizeof(group->is_touched));
}

int group_take(struct group *group, uint8_t *const *row, uint32_t count)
{
    const uint8_t *peer[FIELD_BLOCK];

    for (uint32_t i = 0; i < count; i += FIELD_BLOCK) {
        struct rows rows = {row + i, group->before, peer,
                            count - i < FIELD_BLOCK ? count - i : FIELD_BLOCK,
                            group->left};

        if (rows.count > rows.left || get_block(group, &rows) != 0) {
            return -1;
        }
        group->before = row[i + rows.count - 1];
        group->left -= rows.count;
    }
    return 0;
}

bool group_is_done(const struct group *group)
{
    const struct field *fields = ck_fields[group->cls];

    for (unsigned c = 0; c < FIELD_FIRST || fields[c].bytes != 0; c++) {
        if (!reader_is_done(&group->readers[c])) {
            return false;
        }
    }
    return group->left == 0;
}

int group_decode(const struct columns_group *columns,
                 unsigned cls,
                 uint8_t *const *row)
{
    struct group group;

    group_open(&group, columns, cls);
    return group_take(&group, row, columns->records) == 0 &&
                   group_is_done(&group)
               ? 0
               : -1;
}
