/* scan.c - kinds, names and times of a batch, without its records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pass that asks when things were needs a handful of columns. Those are read
 * into arrays, a piece of the batch's order at a time; of the others it is
 * only checked, many numbers at once, that they would decode. So what was
 * scanned does decode.
 */
#include "schema/batch/columns.h"

#include <stdlib.h>

#include "schema/batch/field.h"
#include "schema/batch/recordorder.h"
#include "schema/batch/reader.h"

/* Columns that are read. */
enum part {
    PART_KIND,
    PART_FLAGS,
    PART_NAME,
    PART_START,
    PART_DUR,
    PART_DEVICE,
    PARTS,
};

/* One class of the batch on its way through the scan. */
struct scanned {
    unsigned cls;
    uint32_t left;
    struct reader part[PARTS];
    uint64_t last[PARTS]; /* of the record before */
    bool has[PARTS];
    bool is_next[PARTS]; /* against one more than the record before */
    int64_t durs[FIELD_CONTEXTS];
    uint32_t devices[FIELD_CONTEXTS];
};

/* A piece's records of one class. */
struct piece {
    uint16_t kind[CK_BATCH_PIECE];
    uint8_t flags[CK_BATCH_PIECE];
    uint8_t context[CK_BATCH_PIECE];
    uint32_t name[CK_BATCH_PIECE];
    int64_t start[CK_BATCH_PIECE];
    int64_t dur[CK_BATCH_PIECE];
    uint32_t device[CK_BATCH_PIECE];
};

struct scan {
    const struct columns_view *view;
    struct scanned *classes;
    size_t count; /* of them */
    struct piece piece;
    uint32_t number;                 /* of the piece */
    uint32_t totals[CK_CLASS_LIMIT]; /* of the order, so far */
    uint32_t unknown;                /* records of unknown kinds */
    ck_batch_take_f take;
    void *state;
};

/* ---- columns without a reader ------------------------------------------- */

#define HIGH_BITS 0x8080808080808080u

/* Numbers that end in eight bytes; 0 = they want a closer look: a run begins
 * there, or a number may be too large for its width. */
static inline unsigned numbers_in(uint64_t x, unsigned bytes, unsigned *used)
{
    uint64_t ends = ~x & HIGH_BITS;
    uint64_t more = x & HIGH_BITS;
    uint64_t zeros = (x - 0x0101010101010101u) & ~x & HIGH_BITS;

    /* So many bytes that go on in a row are still below the limit. */
    if (bytes >= 2) {
        more &= more >> 8;
    }
    if (bytes >= 4) {
        more &= more >> 16;
    }
    if (bytes == 8) {
        more = 0;
    }
    if (zeros != 0 || more != 0 || ends == 0) {
        return 0;
    }
    *used = 8 - (unsigned)__builtin_clzll(ends) / 8;
    return (unsigned)((ends >> 7) * 0x0101010101010101u >> 56);
}

/* Whether a column of so many numbers decodes. */
static bool column_check(const struct columns_bytes *column,
                         uint32_t records,
                         unsigned bytes)
{
    struct reader reader = reader_of_column(column, records);
    uint64_t left = records - reader.run;
    int64_t unused;

    while (reader.at != reader.end && left > 0) {
        unsigned used = 0;
        unsigned count = 0;

        if (reader.end - reader.at >= 8) {
            uint64_t x;

            memcpy(&x, reader.at, sizeof(x));
            count = numbers_in(x, bytes, &used);
        }
        if (count > left) {
            return false;
        }
        if (count == 0) {
            if (reader_difference(&reader, left, bytes, &unused) != 0) {
                return false;
            }
            count = 1 + (unsigned)reader.run;
            reader.run = 0;
        }
        reader.at += used;
        left -= count;
    }
    return left == 0 && reader.at == reader.end;
}

/* ---- columns that are read ---------------------------------------------- */

/* As a column of rows is read, into an array of numbers of so many bytes. */
static inline __attribute__((always_inline)) int
part_running(struct scanned *scanned,
             enum part part,
             unsigned count,
             unsigned bytes,
             void *out)
{
    struct reader reader = scanned->part[part];
    const uint64_t step = scanned->is_next[part] ? 1 : 0;
    uint64_t value = scanned->last[part];
    int64_t d[CK_BATCH_PIECE];
    uint8_t *at = out;
    int rc = 0;

    if (reader_is_still(&reader, scanned->left, count, &rc)) {
        for (unsigned i = 0; i < count; i++) {
            value += step;
            field_store(at + (size_t)i * bytes, value, bytes);
        }
    } else {
        if (reader_differences(&reader, scanned->left, bytes, d, count) != 0) {
            return -1;
        }
        for (unsigned i = 0; i < count; i++) {
            value += (uint64_t)d[i] + step;
            field_store(at + (size_t)i * bytes, value, bytes);
        }
    }
    scanned->part[part] = reader;
    scanned->last[part] = value;
    return rc;
}

/* Against the record of the same context before; `last` has those. */
static inline __attribute__((always_inline)) int
part_same(struct scanned *scanned,
          enum part part,
          const struct piece *piece,
          unsigned count,
          unsigned bytes,
          void *last,
          void *out)
{
    struct reader reader = scanned->part[part];
    uint8_t *at = out;
    uint8_t *before = last;
    int64_t d[CK_BATCH_PIECE];
    int rc = 0;

    if (reader_is_still(&reader, scanned->left, count, &rc)) {
        for (unsigned i = 0; i < count; i++) {
            field_store(
                at + (size_t)i * bytes,
                field_load(before + (size_t)piece->context[i] * bytes, bytes),
                bytes);
        }
        scanned->part[part] = reader;
        return rc;
    }
    if (reader_differences(&reader, scanned->left, bytes, d, count) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < count; i++) {
        uint8_t *peer = before + (size_t)piece->context[i] * bytes;
        uint64_t value = field_load(peer, bytes) + (uint64_t)d[i];

        field_store(peer, value, bytes);
        field_store(at + (size_t)i * bytes, value, bytes);
    }
    scanned->part[part] = reader;
    return rc;
}

static int
part_dur(struct scanned *scanned, struct piece *piece, unsigned count)
{
    if (!scanned->has[PART_DUR]) {
        memset(piece->dur, 0, count * sizeof(piece->dur[0]));
        return 0;
    }
    if (!scanned->is_next[PART_DUR]) {
        return part_same(scanned, PART_DUR, piece, count, 8, scanned->durs,
                         piece->dur);
    }
    return part_running(scanned, PART_DUR, count, 8, piece->dur);
}

static int
part_device(struct scanned *scanned, struct piece *piece, unsigned count)
{
    if (!scanned->has[PART_DEVICE]) {
        return 0;
    }
    if (!scanned->is_next[PART_DEVICE]) {
        return part_same(scanned, PART_DEVICE, piece, count, 4,
                         scanned->devices, piece->device);
    }
    return part_running(scanned, PART_DEVICE, count, 4, piece->device);
}

static int
piece_read(struct scanned *scanned, struct piece *piece, unsigned count)
{
    if ((part_running(scanned, PART_KIND, count, 2, piece->kind) |
         part_running(scanned, PART_FLAGS, count, 1, piece->flags) |
         part_running(scanned, PART_NAME, count, 4, piece->name) |
         part_running(scanned, PART_START, count, 8, piece->start)) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < count; i++) {
        piece->context[i] =
            (uint8_t)field_context(piece->kind[i], piece->name[i]);
    }
    if ((part_dur(scanned, piece, count) |
         part_device(scanned, piece, count)) != 0) {
        return -1;
    }
    scanned->left -= count;
    return 0;
}

_Static_assert(FIELD_CONTEXTS == 256, "a context fits in a byte");

/* ---- the classes of a batch --------------------------------------------- */

/* The column of a member; 0 = the class has none. */
static unsigned column_at(unsigned cls, size_t offset, unsigned bytes)
{
    for (unsigned c = FIELD_FIRST; ck_fields[cls][c].bytes != 0; c++) {
        if (ck_fields[cls][c].offset == offset &&
            ck_fields[cls][c].bytes == bytes) {
            return c;
        }
    }
    return 0;
}

static unsigned dur_column(unsigned cls)
{
    return ck_class_has_length(cls)
               ? column_at(cls, offsetof(struct ck_mark, dur), 8)
               : 0;
}

static unsigned device_column(unsigned cls)
{
    if (cls == CK_CLASS_KERNEL) {
        return column_at(cls, offsetof(struct ck_kernel, device), 4);
    }
    return cls == CK_CLASS_COPY
               ? column_at(cls, offsetof(struct ck_copy, device), 4)
               : 0;
}

static void part_open(struct scanned *scanned,
                      const struct columns_group *group,
                      enum part part,
                      unsigned column)
{
    scanned->part[part] =
        reader_of_column(&group->column[column], group->records);
    scanned->has[part] = true;
    scanned->is_next[part] =
        column >= FIELD_FIRST && (group->next >> column & 1) != 0;
}

/* Begin a class: check what is not read. 0, or -1: it does not decode. */
static int scanned_open(struct scanned *scanned,
                        const struct columns_group *group,
                        unsigned cls)
{
    const unsigned dur = dur_column(cls);
    const unsigned device = device_column(cls);

    memset(scanned, 0, sizeof(*scanned));
    scanned->cls = cls;
    scanned->left = group->records;
    for (unsigned c = 0; c < FIELD_FIRST; c++) {
        part_open(scanned, group, (enum part)c, c);
    }
    for (unsigned c = FIELD_FIRST; ck_fields[cls][c].bytes != 0; c++) {
        const struct field *field = &ck_fields[cls][c];
        bool is_next = (group->next >> c & 1) != 0;

        if (is_next && (field->code == FIELD_BACK || field->bytes < 4)) {
            return -1;
        }
        if (c == dur) {
            part_open(scanned, group, PART_DUR, c);
        } else if (c == device) {
            part_open(scanned, group, PART_DEVICE, c);
        } else if (!column_check(&group->column[c], group->records,
                                 field->bytes)) {
            return -1;
        }
    }
    return 0;
}

static bool scanned_is_done(const struct scanned *scanned)
{
    for (unsigned part = 0; part < PARTS; part++) {
        if (scanned->has[part] && !reader_is_done(&scanned->part[part])) {
            return false;
        }
    }
    return scanned->left == 0;
}

/* Whether all kinds of the piece are of the class. */
static bool
piece_is_plain(const struct piece *piece, unsigned cls, unsigned count)
{
    unsigned others = 0;

    for (unsigned i = 0; i < count; i++) {
        others |= ck_kind_class(piece->kind[i]) ^ cls;
    }
    return others == 0;
}

/* Leave out records of unknown kinds. How many are left, or -1: one has a kind
 * of another class. */
static int piece_cut(struct piece *piece, unsigned cls, unsigned count)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned of = ck_kind_class(piece->kind[i]);

        if (of == CK_CLASS_NONE) {
            continue;
        }
        if (of != cls) {
            return -1;
        }
        piece->kind[kept] = piece->kind[i];
        piece->flags[kept] = piece->flags[i];
        piece->name[kept] = piece->name[i];
        piece->start[kept] = piece->start[i];
        piece->dur[kept] = piece->dur[i];
        piece->device[kept++] = piece->device[i];
    }
    return (int)kept;
}

/* Read and hand out a piece's records of a class. 0, or -1: they do not
 * decode. */
static int
class_take(struct scan *scan, struct scanned *scanned, unsigned count)
{
    struct piece *piece = &scan->piece;
    int kept = (int)count;
    struct ck_batch_columns columns = {
        .cls = (enum ck_class)scanned->cls,
        .piece = scan->number,
        .kind = piece->kind,
        .flags = piece->flags,
        .name = piece->name,
        .start = piece->start,
        .dur = piece->dur,
        .device = scanned->has[PART_DEVICE] ? piece->device : NULL};

    if (count > scanned->left || piece_read(scanned, piece, count) != 0) {
        return -1;
    }
    if (!piece_is_plain(piece, scanned->cls, count)) {
        kept = piece_cut(piece, scanned->cls, count);
    }
    if (kept < 0) {
        return -1;
    }
    scan->unknown += count - (unsigned)kept;
    columns.count = (unsigned)kept;
    if (kept > 0) {
        scan->take(scan->state, &columns);
    }
    return 0;
}

static int piece_take(struct scan *scan, uint32_t counts[CK_CLASS_LIMIT])
{
    if (scan->number > CK_FRAME_RECORDS_MAX / CK_BATCH_PIECE) {
        return -1;
    }
    for (size_t i = 0; i < scan->count; i++) {
        unsigned cls = scan->classes[i].cls;

        if (counts[cls] > 0 &&
            class_take(scan, &scan->classes[i], counts[cls]) != 0) {
            return -1;
        }
    }
    for (unsigned cls = 0; cls < CK_CLASS_LIMIT; cls++) {
        scan->totals[cls] += counts[cls];
        counts[cls] = 0;
    }
    scan->number++;
    return 0;
}

/* Walk over the order, piece by piece. */
static int scan_walk(struct scan *scan)
{
    struct reader order = reader_of(&scan->view->order);
    uint32_t counts[CK_CLASS_LIMIT] = {0};
    uint32_t room = CK_BATCH_PIECE;

    while (order.at != order.end) {
        unsigned cls;
        uint32_t count;

        if (recordorder_next(&order, &cls, &count) != 0) {
            return -1;
        }
        cls = cls < CK_CLASS_LIMIT ? cls : CK_CLASS_NONE;
        while (count >= room) {
            counts[cls] += room;
            count -= room;
            room = CK_BATCH_PIECE;
            if (piece_take(scan, counts) != 0) {
                return -1;
            }
        }
        counts[cls] += count;
        room -= count;
    }
    return piece_take(scan, counts);
}

/* Whether the order has as many records as the groups, and not too many. */
static int totals_check(const struct scan *scan)
{
    uint32_t all = scan->totals[CK_CLASS_NONE];

    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        all += scan->totals[cls];
        if (scan->totals[cls] != scan->view->groups[cls].records) {
            return -1;
        }
    }
    return all > CK_FRAME_RECORDS_MAX ? -1 : 0;
}

static int scan_run(struct scan *scan, uint32_t classes)
{
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        const struct columns_group *group = &scan->view->groups[cls];

        if ((classes >> cls & 1) != 0 && group->records > 0 &&
            scanned_open(&scan->classes[scan->count++], group, cls) != 0) {
            return -1;
        }
    }
    if (scan_walk(scan) != 0) {
        return -1;
    }
    for (size_t i = 0; i < scan->count; i++) {
        if (!scanned_is_done(&scan->classes[i])) {
            return -1;
        }
    }
    return totals_check(scan);
}

/* Are there records of these classes? */
static bool has_any(const struct columns_view *view, uint32_t classes)
{
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if ((classes >> cls & 1) != 0 && view->groups[cls].records > 0) {
            return true;
        }
    }
    return false;
}

int columns_scan(const struct columns_view *view,
                 uint32_t classes,
                 struct ck_batch_info *info,
                 ck_batch_take_f take,
                 void *state,
                 struct ck_err *err)
{
    struct scan scan;
    int rc = 0;

    classes &= ~((uint32_t)1 << CK_CLASS_TEXT | (uint32_t)1 << CK_CLASS_MODULE);
    info->skipped = 0;
    if (!has_any(view, classes)) {
        return 0;
    }
    /* Frames are small, and rooms for a whole piece are not: neither is zeroed
     * as a whole. */
    scan.view = view;
    scan.take = take;
    scan.state = state;
    scan.number = scan.unknown = 0;
    scan.count = 0;
    memset(scan.totals, 0, sizeof(scan.totals));
    scan.classes = malloc(CK_CLASS_LIMIT * sizeof(*scan.classes));
    if (scan.classes == NULL) {
        return ck_err_set(err, "no memory to read a batch");
    }
    if (scan_run(&scan, classes) != 0) {
        rc = ck_err_set(err, "damaged batch: its columns do not decode, or "
                             "disagree with its order");
    }
    free(scan.classes);
    info->skipped = scan.unknown;
    return rc;
}
