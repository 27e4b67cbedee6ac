/* encode.c - records to packed columns
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records are sorted by class into blocks of BLOCK_ROWS; a full block is
 * coded column by column (block.c).
 *
 * The records are in memory that the target can write to. Lengths are read
 * once; a value that changes while it is read makes a frame that is refused
 * later, never an access out of bounds.
 */
#include "schema/batch/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "schema/batch/block.h"
#include "schema/batch/numbers.h"

/* How far ahead of the record that is taken memory is asked for. */
#define PREFETCH_BYTES 8192

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

int column_grow(struct column *column, size_t bytes)
{
    size_t need = column->used + bytes;
    size_t room = column->room == 0 ? 8192 : column->room;
    uint8_t *wider;

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

/* Write the run of `order`; there is room. */
static inline void order_flush(struct columns_encoder *encoder)
{
    struct column *order = &encoder->order;
    uint64_t number;

    if (encoder->run_count == 0) {
        return;
    }
    number = (uint64_t)(encoder->run_count - 1) << 5 | encoder->run_class;
    order->used = (size_t)(numbers_one(order->bytes + order->used, number) -
                           order->bytes);
    encoder->run_count = 0;
}

/* Where the encoder is in its source. */
struct source {
    const uint8_t *at;
    const uint8_t *end;
    uint32_t left; /* records that the batch may still take */
};

/* A record of this class follows. */
static inline void order_put(struct columns_encoder *encoder, unsigned cls)
{
    if (encoder->run_class != cls) {
        order_flush(encoder);
        encoder->run_class = cls;
    }
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

/* Take the records of one class that follow each other, as many as the
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

/* Units of the records of a class, which no record has where they differ or
 * there is no class. */
static const uint16_t fixed_units[CK_CLASS_LIMIT] = {
    [CK_CLASS_NONE] = UINT16_MAX,
#define CK_CLASS(number, NAME, type, units, text)                              \
    [number] =                                                                 \
        CK_CLASS_##NAME == CK_CLASS_TEXT || CK_CLASS_##NAME == CK_CLASS_MODULE \
            ? UINT16_MAX                                                       \
            : (units),
#include "schema/kind.def"
};

/* Take a record that begins a run of `order`, which is often its end, too. */
static inline void take_row(struct columns_encoder *encoder,
                            unsigned cls,
                            const struct ck_event *head,
                            struct source *source)
{
    struct block *block = &encoder->block[cls];

    order_flush(encoder);
    encoder->run_class = cls;
    encoder->run_count = 1;
    __builtin_prefetch(source->at + PREFETCH_BYTES);
    __builtin_prefetch(source->at + PREFETCH_BYTES + 64);
    block_put(block, block->count++, head, source->at);
    source->at += (size_t)head->units * CK_UNIT_BYTES;
    source->left--;
}

/* Take records as long as they are of a fixed length, and have it. 0, or -1 no
 * memory. */
static int take_fixed(struct columns_encoder *encoder, struct source *from)
{
    struct source source = *from;

    while (source.left > 0 &&
           (size_t)(source.end - source.at) >= CK_UNIT_BYTES) {
        struct ck_event head;
        unsigned cls;

        memcpy(&head, source.at, sizeof(head));
        cls = ck_kind_class(head.kind);
        if (head.units != fixed_units[cls] ||
            head.units * (size_t)CK_UNIT_BYTES >
                (size_t)(source.end - source.at)) {
            break;
        }
        if (cls != encoder->run_class) {
            take_row(encoder, cls, &head, &source);
        } else {
            encoder->run_count += take_run(&encoder->block[cls], cls, &source);
        }
        if (encoder->block[cls].count == BLOCK_ROWS &&
            block_flush(&encoder->block[cls], cls, &encoder->sites) != 0) {
            return -1;
        }
    }
    *from = source;
    return 0;
}

/* Does another thread's part of the stream begin here? */
static bool is_turn(const struct ck_batch_info *info,
                    const struct ck_event *head,
                    const uint8_t *row)
{
    return head->kind == CK_KIND_THREAD && info->tid != 0 &&
           field_load(row + offsetof(struct ck_text, object), 8) != info->tid;
}

/* Take a text record: 1, 0 when its length is not the one in it, -1 no
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

/* Take the record at source->at, if it is a text: 1, 0 left out (of an unknown
 * kind, or not of its kind's length), -1 no memory.
 */
static int put_text(struct columns_encoder *encoder,
                    const struct ck_event *head,
                    struct source *source)
{
    unsigned cls = ck_kind_class(head->kind);
    struct block *block = &encoder->block[cls];
    int taken = field_is_text(cls) ? take_text(block, head, source->at) : 0;

    if (taken <= 0) {
        return taken;
    }
    order_put(encoder, cls);
    encoder->run_count++;
    source->at += (size_t)head->units * CK_UNIT_BYTES;
    source->left--;
    if (block->count == BLOCK_ROWS &&
        block_flush(block, cls, &encoder->sites) != 0) {
        return -1;
    }
    return 1;
}

static int encoder_finish(struct columns_encoder *encoder)
{
    order_flush(encoder);
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (block_flush(&encoder->block[cls], cls, &encoder->sites) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Write the last run of a column. One that is zero throughout is left out,
 * but not where it has how it is coded. 0, or -1 no memory. */
static int
column_finish(struct column *column, bool is_next, struct columns_bytes *bytes)
{
    if ((column->used != 0 || is_next) && column->run != 0) {
        if (column_reserve(column, NUMBERS_BYTES(0)) != 0) {
            return -1;
        }
        column->used =
            (size_t)(numbers_run(column->bytes + column->used, column->run) -
                     column->bytes);
        column->run = 0;
    }
    *bytes = (struct columns_bytes){column->used == 0 ? NULL : column->bytes,
                                    column->used};
    return 0;
}

static int encoder_view(struct columns_encoder *encoder,
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
            if (column_finish(&block->column[c], block->next >> c & 1,
                              &group->column[c]) != 0) {
                return -1;
            }
        }
        group->text.bytes = block->text.bytes;
        group->text.length = block->text.used;
    }
    return 0;
}

/* Take the records from source->at on, up to where the batch must end. Those
 * left out are counted in *skipped. 0, or -1 with err.
 */
static int take_records(struct columns_encoder *encoder,
                        const struct ck_batch_info *info,
                        const struct columns_bytes *records,
                        struct source *source,
                        uint32_t *skipped)
{
    const uint8_t *end = records->bytes + records->length;

    for (;;) {
        struct ck_event head;
        size_t length;
        int taken;

        if (take_fixed(encoder, source) != 0) {
            return -1;
        }
        if (source->at >= source->end || source->left == 0) {
            return 0;
        }
        memcpy(&head, source->at, sizeof(head));
        length = (size_t)head.units * CK_UNIT_BYTES;
        if (length == 0 || length > (size_t)(end - source->at)) {
            errno = EBADMSG;
            return -1;
        }
        if (length > (size_t)(source->end - source->at) ||
            (source->at != records->bytes &&
             is_turn(info, &head, source->at))) {
            return 0;
        }
        taken = put_text(encoder, &head, source);
        if (taken < 0) {
            return -1;
        }
        if (taken == 0) {
            ++*skipped;
            source->at += length;
        }
    }
}

/* Runs of `order` that one batch can have: up to 3 bytes each. */
#define ORDER_BYTES ((size_t)CK_FRAME_RECORDS_MAX * 3)

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
    if (column_reserve(&encoder->order, ORDER_BYTES) != 0 ||
        take_records(encoder, info, records, &source, &skipped) != 0 ||
        encoder_finish(encoder) != 0 || encoder_view(encoder, view) != 0) {
        return errno != EBADMSG
                   ? ck_err_set(err, "no memory to encode a batch")
                   : ck_err_set(err,
                                "record at byte %zu of %zu is not well "
                                "formed: %u units",
                                (size_t)(source.at - records->bytes),
                                records->length,
                                source.at[offsetof(struct ck_event, units)]);
    }
    info->skipped = skipped;
    info->classes = 0;
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        info->classes |= (uint32_t)(view->groups[cls].records > 0) << cls;
    }
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
