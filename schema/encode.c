/* encode.c - records to packed columns
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records are sorted by class into blocks of BLOCK_ROWS; a full block is
 * coded column by column (block.c).
 *
 * The records lie in memory that the target can write to. Lengths are read
 * once; a value that changes while it is read makes a frame that is refused
 * later, never an access out of bounds.
 */
#include "schema/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "schema/block.h"
#include "schema/numbers.h"

/* How far ahead of the record that is taken memory is asked for. */
#define PREFETCH_BYTES 1536

struct columns_encoder {
    struct block block[CK_CLASS_LIMIT];
    struct column order;
    struct column sites; /* call sites, 8 bytes each */
    uint32_t run_class;  /* the run of `order` not written yet */
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
    free(encoder->sites.bytes);
    free(encoder);
    errno = saved;
}

int column_reserve(struct column *column, size_t bytes)
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

static void block_reset(struct block *block)
{
    const uint8_t *zeros = (const uint8_t *)ck_field_zeros;

    block->row[0] = zeros;
    block->count = 0;
    block->records = 0;
    block->next = 0;
    block->text.used = 0;
    for (unsigned i = 0; i < FIELD_CONTEXTS; i++) {
        block->last[i] = zeros;
    }
    for (unsigned c = 0; c < COLUMNS_MAX; c++) {
        block->column[c].used = 0;
        block->column[c].run = 0;
    }
}

/* Forget the batch before; most classes had nothing in it. */
static void encoder_reset(struct columns_encoder *encoder)
{
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        struct block *block = &encoder->block[cls];

        if (block->row[0] == NULL || block->count + block->records != 0) {
            block_reset(block);
        }
    }
    encoder->order.used = 0;
    encoder->sites.used = 0;
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
    order->used = (size_t)(numbers_one(order->bytes + order->used, number) -
                           order->bytes);
    encoder->run_count = 0;
    return 0;
}

/* Where the encoder is in its source. */
struct source {
    const uint8_t *at;
    const uint8_t *end;
    uint32_t left; /* records that the batch may still take */
};

/* A record of this class follows. */
static inline int order_put(struct columns_encoder *encoder, unsigned cls)
{
    if (encoder->run_class != cls) {
        if (order_flush(encoder) != 0) {
            return -1;
        }
        encoder->run_class = cls;
    }
    return 0;
}

static inline __attribute__((always_inline)) void
block_put(struct block *block,
          unsigned n,
          const struct ck_event *head,
          const uint8_t *row)
{
    unsigned context = field_context(head->kind, head->name);

    block->peer[n] = block->last[context];
    block->last[context] = row;
    block->row[n + 1] = row;
}

/* Take the records of one class that lie one after the other, as many as the
 * block has room for. Their number.
 */
static inline __attribute__((always_inline)) uint32_t take_rows(
    struct block *block, unsigned cls, unsigned units, struct source *source)
{
    const size_t bytes = (size_t)units * CK_UNIT_BYTES;
    const uint8_t *at = source->at;
    size_t most = (size_t)(source->end - at) / bytes;
    unsigned first = block->count;
    unsigned n;

    most = most < source->left ? most : source->left;
    most = most < BLOCK_ROWS - first ? most : BLOCK_ROWS - first;
    for (n = 0; n < most; n++) {
        struct ck_event head;

        memcpy(&head, at, sizeof(head));
        if (head.units != units || ck_kind_class(head.kind) != cls) {
            break;
        }
        /* Written by another core: on its way while other records are taken. */
        for (size_t line = 0; line < bytes; line += 64) {
            __builtin_prefetch(at + PREFETCH_BYTES + line);
        }
        block_put(block, first + n, &head, at);
        at += bytes;
    }
    block->count = first + n;
    source->at = at;
    source->left -= n;
    return n;
}

static uint32_t
take_run(struct block *block, unsigned cls, struct source *source)
{
    switch (ck_field_units[cls]) {
    case 1:
        return take_rows(block, cls, 1, source);
    case 2:
        return take_rows(block, cls, 2, source);
    default:
        return take_rows(block, cls, 3, source);
    }
}

/* Does another thread's part of the stream begin here? */
static bool is_turn(const struct ck_batch_info *info,
                    const struct ck_event *head,
                    const uint8_t *row)
{
    return head->kind == CK_KIND_THREAD && info->tid != 0 &&
           field_load(row + offsetof(struct ck_text, object), 8) != info->tid;
}

/* Take a text record: 1, 0 when it has not the length that it says, -1 no
 * memory. */
static int
take_text(struct block *block, const struct ck_event *head, const uint8_t *row)
{
    uint32_t length =
        (uint32_t)field_load(row + offsetof(struct ck_text, length), 4);

    if (length > CK_TEXT_BYTES_MAX || head->units != ck_text_units(length)) {
        return 0;
    }
    if (length > 0) {
        if (column_reserve(&block->text, length) != 0) {
            return -1;
        }
        memcpy(block->text.bytes + block->text.used,
               row + sizeof(struct ck_text), length);
        block->text.used += length;
    }
    block_put(block, block->count++, head, row);
    return 1;
}

/* Take what lies at source->at: how many records, 0 left out (of an unknown
 * kind, or not of its kind's length), -1 no memory.
 */
static int put_records(struct columns_encoder *encoder,
                       const struct ck_event *head,
                       struct source *source)
{
    unsigned cls = ck_kind_class(head->kind);
    struct block *block = &encoder->block[cls];
    int taken;

    if (cls == CK_CLASS_NONE) {
        return 0;
    }
    if (order_put(encoder, cls) != 0) {
        return -1;
    }
    if (field_is_text(cls)) {
        taken = take_text(block, head, source->at);
        if (taken > 0) {
            source->at += (size_t)head->units * CK_UNIT_BYTES;
            source->left--;
        }
    } else {
        taken = (int)take_run(block, cls, source);
    }
    if (taken < 0) {
        return -1;
    }
    encoder->run_count += (uint32_t)taken;
    if (block->count == BLOCK_ROWS &&
        block_flush(block, cls, &encoder->sites) != 0) {
        return -1;
    }
    return taken;
}

static int encoder_finish(struct columns_encoder *encoder)
{
    if (order_flush(encoder) != 0) {
        return -1;
    }
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (block_flush(&encoder->block[cls], cls, &encoder->sites) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Write the last run of a column. One that is zero throughout is left out,
 * but not where it says how it is coded. */
static struct columns_bytes column_finish(struct column *column, bool is_next)
{
    if ((column->used != 0 || is_next) && column->run != 0) {
        column->used =
            (size_t)(numbers_run(column->bytes + column->used, column->run) -
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
        group->next = block->next;
        if (block->records == 0) {
            continue;
        }
        for (unsigned c = 0; c < COLUMNS_MAX; c++) {
            group->column[c] =
                column_finish(&block->column[c], block->next >> c & 1);
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
    const size_t limit = (size_t)CK_FRAME_UNITS_MAX * CK_UNIT_BYTES;
    const uint8_t *end = records->bytes + records->length;
    struct source source = {
        .at = records->bytes,
        .end = records->length < limit ? end : records->bytes + limit,
        .left = CK_FRAME_RECORDS_MAX,
    };
    uint32_t skipped = 0;

    encoder_reset(encoder);
    while (source.at < source.end && source.left > 0) {
        struct ck_event head;
        size_t length;
        int taken;

        memcpy(&head, source.at, sizeof(head));
        length = (size_t)head.units * CK_UNIT_BYTES;
        if (length == 0 || length > (size_t)(end - source.at)) {
            return ck_err_set(err,
                              "record at byte %zu of %zu is not well formed: "
                              "%u units",
                              (size_t)(source.at - records->bytes),
                              records->length, head.units);
        }
        if (length > (size_t)(source.end - source.at) ||
            (source.at != records->bytes && is_turn(info, &head, source.at))) {
            break;
        }
        taken = put_records(encoder, &head, &source);
        if (taken < 0) {
            return ck_err_set(err, "no memory to encode a batch");
        }
        if (taken == 0) {
            skipped++;
            source.at += length;
        }
    }
    if (encoder_finish(encoder) != 0) {
        return ck_err_set(err, "no memory to encode a batch");
    }
    encoder_view(encoder, view);
    info->skipped = skipped;
    info->records = CK_FRAME_RECORDS_MAX - source.left;
    info->units =
        (uint32_t)((size_t)(source.at - records->bytes) / CK_UNIT_BYTES);
    return 0;
}

size_t columns_sites(const struct columns_encoder *encoder,
                     const uint64_t **sites)
{
    *sites = (const uint64_t *)(const void *)encoder->sites.bytes;
    return encoder->sites.used / sizeof(**sites);
}
