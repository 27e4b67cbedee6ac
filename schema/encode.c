/* encode.c - records to packed columns
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records are sorted by class into blocks of FIELD_BLOCK; a full block is
 * coded column by column. Before that one pass finds the columns in which no
 * record of the block differs from its predecessor: they cost nothing more.
 * Most columns of most blocks are of that kind.
 *
 * The records lie in memory that the target can write to. Lengths are read
 * once; a value that changes while it is read makes a frame that is refused
 * later, never an access out of bounds.
 */
#include "schema/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "schema/field.h"

/* Bytes that a block can add to a column: 10 a number, and 4 a run, of which
 * there is at most one for each number and one at the end; 8 are written
 * beyond the end. */
#define BLOCK_BYTES ((size_t)FIELD_BLOCK * 14 + 64)

struct column {
    uint8_t *bytes;
    size_t used;
    size_t room;
    uint64_t run; /* zero differences not written yet */
};

struct block {
    /* row[0] is the last record of the block before. */
    const uint8_t *row[FIELD_BLOCK + 1];
    const uint8_t *peer[FIELD_BLOCK]; /* predecessors in the same context */
    unsigned count;
    uint32_t records; /* of earlier blocks too */
    const uint8_t *last[FIELD_CONTEXTS];
    struct column column[COLUMNS_MAX];
    struct column text;
};

struct columns_encoder {
    struct block block[CK_CLASS_LIMIT];
    struct column order;
    uint32_t run_class; /* the run of `order` not written yet */
    uint32_t run_count;
};

struct columns_encoder *columns_encoder_create(void)
{
    return calloc(1, sizeof(struct columns_encoder));
}

void columns_encoder_destroy(struct columns_encoder *encoder)
{
    int saved = errno;

    if (encoder == NULL) {
        return;
    }
    for (unsigned cls = 0; cls < CK_CLASS_LIMIT; cls++) {
        for (unsigned c = 0; c < COLUMNS_MAX; c++) {
            free(encoder->block[cls].column[c].bytes);
        }
        free(encoder->block[cls].text.bytes);
    }
    free(encoder->order.bytes);
    free(encoder);
    errno = saved;
}

static int column_reserve(struct column *column, size_t bytes)
{
    size_t need = column->used + bytes;
    size_t room = column->room == 0 ? 8192 : column->room;
    uint8_t *wider;

    if (need <= column->room) {
        return 0;
    }
    while (room < need) {
        room *= 2;
    }
    wider = realloc(column->bytes, room);
    if (wider == NULL) {
        return -1;
    }
    column->bytes = wider;
    column->room = room;
    return 0;
}

/* LEB128. Lengths up to three, which most numbers have, go their own way; up
 * to 56 bits there is no branch on the length: the groups of seven are spread
 * over eight bytes. Writes up to 8 bytes whatever the length.
 */
static inline uint8_t *put_number(uint8_t *out, uint64_t z)
{
    uint64_t x;
    unsigned length;

    if (z < 0x80) {
        *out = (uint8_t)z;
        return out + 1;
    }
    if (z < 0x200000) {
        unsigned is_three = z >= 0x4000;
        uint32_t spread =
            (uint32_t)((z & 0x7f) | (z & 0x3f80) << 1 | (z & 0x1fc000) << 2);

        spread |= 0x80u | is_three << 15;
        memcpy(out, &spread, sizeof(spread));
        return out + 2 + is_three;
    }
    if (__builtin_expect(z >> 56 != 0, 0)) {
        while (z >= 0x80) {
            *out++ = (uint8_t)(z | 0x80);
            z >>= 7;
        }
        *out = (uint8_t)z;
        return out + 1;
    }
    length = (70u - (unsigned)__builtin_clzll(z)) / 7;
    x = (z & 0x0fffffffu) | (z & 0x00fffffff0000000u) << 4;
    x = (x & 0x00003fff00003fffu) | (x & 0x0fffc0000fffc000u) << 2;
    x = (x & 0x007f007f007f007fu) | (x & 0x3f803f803f803f80u) << 1;
    x |= 0x8080808080808080u >> (64 - 8 * (length - 1)) & 0x8080808080808080u;
    memcpy(out, &x, 8);
    return out + length;
}

static inline uint8_t *put_run(uint8_t *out, uint64_t run)
{
    *out = 0;
    return put_number(out + 1, run - 1);
}

static inline uint64_t zigzag(int64_t d)
{
    return (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
}

/* The difference of two values of so many bytes, as a signed number. */
static inline int64_t difference(uint64_t a, uint64_t b, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;

    return (int64_t)((a - b) << shift) >> shift;
}

static inline uint64_t value_of(const uint8_t *row,
                                const struct field *f,
                                unsigned bytes,
                                bool is_back)
{
    uint64_t value = field_load(row + f->offset, bytes);

    return is_back ? field_back(
                         field_load(row + offsetof(struct ck_event, start), 8),
                         value)
                   : value;
}

/* One column of a block; bytes and is_back are constants at each call, so
 * each is a loop of its own.
 */
static inline __attribute__((always_inline)) void
put_column(struct column *column,
           const struct block *block,
           const struct field *f,
           const uint8_t *const *peer,
           unsigned bytes,
           bool is_back)
{
    uint8_t *out = column->bytes + column->used;
    uint64_t run = column->run;

    for (unsigned i = 0; i < block->count; i++) {
        int64_t d = difference(value_of(block->row[i + 1], f, bytes, is_back),
                               value_of(peer[i], f, bytes, is_back), bytes);

        if (d == 0) {
            run++;
            continue;
        }
        if (run != 0) {
            out = put_run(out, run);
            run = 0;
        }
        out = put_number(out, zigzag(d));
    }
    column->used = (size_t)(out - column->bytes);
    column->run = run;
}

static void put_field(struct column *column,
                      const struct block *block,
                      const struct field *f,
                      const uint8_t *const *peer)
{
    if (f->code == FIELD_BACK) {
        put_column(column, block, f, peer, 8, true);
    } else if (f->bytes == 8) {
        put_column(column, block, f, peer, 8, false);
    } else if (f->bytes == 4) {
        put_column(column, block, f, peer, 4, false);
    } else if (f->bytes == 2) {
        put_column(column, block, f, peer, 2, false);
    } else {
        put_column(column, block, f, peer, 1, false);
    }
}

/* Bits in which any record of the block differs from its predecessor: word 0
 * (kind, flags, name) from the record before, the others from the one of the
 * same context.
 */
static inline __attribute__((always_inline)) void
find_changes(const struct block *block, uint64_t *changed, unsigned words)
{
    uint64_t head = 0;

    for (unsigned w = 2; w < words; w++) {
        changed[w] = 0;
    }
    for (unsigned i = 0; i < block->count; i++) {
        const uint8_t *row = block->row[i + 1];
        const uint8_t *peer = block->peer[i];

        head |= field_load(row, 8) ^ field_load(block->row[i], 8);
        for (unsigned w = 2; w < words; w++) {
            changed[w] |=
                field_load(row + 8 * w, 8) ^ field_load(peer + 8 * w, 8);
        }
    }
    changed[0] = head;
    changed[1] = 1; /* start: always */
}

static void put_or_count(struct column *column,
                         const struct block *block,
                         const struct field *f,
                         const uint64_t *changed)
{
    const uint8_t *const *peer = block->peer;

    if (field_load((const uint8_t *)changed + f->offset, f->bytes) == 0 &&
        f->code == FIELD_SAME) {
        column->run += block->count;
        return;
    }
    if (f->offset < sizeof(struct ck_event)) {
        peer = block->row;
    }
    put_field(column, block, f, peer);
}

static const struct field head_fields[FIELD_FIRST] = {
    {2, FIELD_SAME, offsetof(struct ck_event, kind)},
    {1, FIELD_SAME, offsetof(struct ck_event, flags)},
    {4, FIELD_SAME, offsetof(struct ck_event, name)},
    {8, FIELD_SAME, offsetof(struct ck_event, start)},
};

static int block_flush(struct block *block, unsigned cls)
{
    uint64_t changed[12];

    if (block->count == 0) {
        return 0;
    }
    for (unsigned c = 0; c < FIELD_FIRST || ck_fields[cls][c].bytes != 0; c++) {
        if (column_reserve(&block->column[c], BLOCK_BYTES) != 0) {
            return -1;
        }
    }
    switch (ck_class_units(cls)) {
    case 1:
        find_changes(block, changed, 4);
        break;
    case 2:
        find_changes(block, changed, 8);
        break;
    default:
        find_changes(block, changed, 12);
    }
    for (unsigned c = 0; c < FIELD_FIRST; c++) {
        put_or_count(&block->column[c], block, &head_fields[c], changed);
    }
    for (unsigned c = FIELD_FIRST; ck_fields[cls][c].bytes != 0; c++) {
        put_or_count(&block->column[c], block, &ck_fields[cls][c], changed);
    }
    block->row[0] = block->row[block->count];
    block->records += block->count;
    block->count = 0;
    return 0;
}

static void encoder_reset(struct columns_encoder *encoder)
{
    const uint8_t *zeros = (const uint8_t *)ck_field_zeros;

    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        struct block *block = &encoder->block[cls];

        block->row[0] = zeros;
        block->count = 0;
        block->records = 0;
        block->text.used = 0;
        for (unsigned i = 0; i < FIELD_CONTEXTS; i++) {
            block->last[i] = zeros;
        }
        for (unsigned c = 0; c < COLUMNS_MAX; c++) {
            block->column[c].used = 0;
            block->column[c].run = 0;
        }
    }
    encoder->order.used = 0;
    encoder->run_class = 0;
    encoder->run_count = 0;
}

static int order_flush(struct columns_encoder *encoder)
{
    struct column *order = &encoder->order;
    uint64_t number;

    if (encoder->run_count == 0) {
        return 0;
    }
    if (column_reserve(order, 32) != 0) {
        return -1;
    }
    number = (uint64_t)(encoder->run_count - 1) << 5 | encoder->run_class;
    order->used =
        (size_t)(put_number(order->bytes + order->used, number) - order->bytes);
    encoder->run_count = 0;
    return 0;
}

static int put_text(struct column *text, const uint8_t *row, unsigned length)
{
    if (length == 0) {
        return 0;
    }
    if (column_reserve(text, length) != 0) {
        return -1;
    }
    memcpy(text->bytes + text->used, row + sizeof(struct ck_text), length);
    text->used += length;
    return 0;
}

static inline int put_row(struct columns_encoder *encoder,
                          const uint8_t *row,
                          unsigned cls,
                          unsigned context)
{
    struct block *block = &encoder->block[cls];

    if (encoder->run_class != cls) {
        if (order_flush(encoder) != 0) {
            return -1;
        }
        encoder->run_class = cls;
    }
    encoder->run_count++;
    block->peer[block->count] = block->last[context];
    block->last[context] = row;
    block->row[++block->count] = row;
    return block->count == FIELD_BLOCK ? block_flush(block, cls) : 0;
}

/* Take one record; 1 taken, 0 left out (of an unknown kind, or not of its
 * kind's length), -1 no memory.
 */
static inline int put_record(struct columns_encoder *encoder,
                             const uint8_t *row,
                             const struct ck_event *head)
{
    unsigned cls = field_class(head->kind);
    unsigned units = ck_field_units[cls];
    uint32_t length;

    if (cls == CK_CLASS_NONE) {
        return 0;
    }
    if (__builtin_expect(field_is_text(cls), 0)) {
        length =
            (uint32_t)field_load(row + offsetof(struct ck_text, length), 4);
        if (length > CK_TEXT_BYTES_MAX) {
            return 0;
        }
        units = ck_text_units(length);
        if (head->units == units &&
            put_text(&encoder->block[cls].text, row, length) != 0) {
            return -1;
        }
    }
    if (head->units != units) {
        return 0;
    }
    return put_row(encoder, row, cls, field_context(head->kind, head->name)) ==
                   0
               ? 1
               : -1;
}

static int encoder_finish(struct columns_encoder *encoder)
{
    if (order_flush(encoder) != 0) {
        return -1;
    }
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (block_flush(&encoder->block[cls], cls) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Write the last run of a column that is not zero throughout. */
static struct columns_bytes column_finish(struct column *column)
{
    if (column->used != 0 && column->run != 0) {
        column->used =
            (size_t)(put_run(column->bytes + column->used, column->run) -
                     column->bytes);
        column->run = 0;
    }
    return (struct columns_bytes){column->used == 0 ? NULL : column->bytes,
                                  column->used};
}

static void encoder_view(struct columns_encoder *encoder,
                         struct columns_view *view)
{
    memset(view, 0, sizeof(*view));
    view->order.bytes = encoder->order.bytes;
    view->order.length = encoder->order.used;
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        struct block *block = &encoder->block[cls];
        struct columns_group *group = &view->groups[cls];

        group->records = block->records;
        if (block->records == 0) {
            continue;
        }
        for (unsigned c = 0; c < COLUMNS_MAX; c++) {
            group->column[c] = column_finish(&block->column[c]);
        }
        group->text.bytes = block->text.bytes;
        group->text.length = block->text.used;
    }
}

int columns_encode(struct columns_encoder *encoder,
                   struct ck_batch_info *info,
                   const struct columns_bytes *records,
                   struct columns_view *view,
                   struct ck_err *err)
{
    size_t limit = (size_t)CK_FRAME_UNITS_MAX * CK_UNIT_BYTES;
    size_t bytes = records->length < limit ? records->length : limit;
    uint32_t counts[2] = {0, 0}; /* left out, taken */
    size_t at = 0;

    encoder_reset(encoder);
    while (at < bytes && counts[1] < CK_FRAME_RECORDS_MAX) {
        const uint8_t *row = records->bytes + at;
        struct ck_event head;
        size_t length;
        int taken;

        memcpy(&head, row, sizeof(head));
        length = (size_t)head.units * CK_UNIT_BYTES;
        if (length == 0 || length > records->length - at) {
            return ck_err_set(err,
                              "record at byte %zu of %zu is not well formed: "
                              "%u units",
                              at, records->length, head.units);
        }
        if (length > bytes - at) {
            break;
        }
        taken = put_record(encoder, row, &head);
        if (taken < 0) {
            return ck_err_set(err, "no memory to encode a batch");
        }
        counts[taken]++;
        at += length;
    }
    if (encoder_finish(encoder) != 0) {
        return ck_err_set(err, "no memory to encode a batch");
    }
    encoder_view(encoder, view);
    info->skipped = counts[0];
    info->records = counts[1];
    info->units = (uint32_t)(at / CK_UNIT_BYTES);
    return 0;
}
