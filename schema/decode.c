/* decode.c - packed columns to records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The order of the batch says where each record goes; then each class is
 * decoded block by block, column by column, into its places. Text records
 * are decoded into a dense array first, because their places depend on their
 * lengths. Every byte is checked: numbers against their width, runs against
 * the records left, columns against their end.
 */
#include "schema/columns.h"

#include <errno.h>
#include <stdlib.h>

#include "schema/field.h"

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t run; /* zero differences still to come */
    bool is_absent;
};

struct decoder {
    const struct columns_view *view;
    uint32_t classes;
    uint32_t counts[CK_CLASS_LIMIT]; /* records by class, from the order */
    uint32_t skipped;                /* of classes unknown here */
    uint32_t unknown;                /* of unknown kinds in known classes */
    uint8_t **row[CK_CLASS_LIMIT];   /* where each record goes */
    uint8_t *dense[CK_CLASS_LIMIT];  /* text classes: their fixed units */
    void *memory;                    /* of both */
};

/* A reader of some bytes; of none when there are none. */
static struct reader reader_of(const struct columns_bytes *bytes)
{
    static const uint8_t nothing[1];
    const uint8_t *at = bytes->length == 0 ? nothing : bytes->bytes;

    return (struct reader){at, at + bytes->length, 0, bytes->length == 0};
}

/* LEB128 without needless zeros, at most 64 bits. 0 or -1. */
static inline int get_number(struct reader *reader, uint64_t *number)
{
    const uint8_t *at = reader->at;
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        if (at == reader->end || shift > 63) {
            return -1;
        }
        byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (shift == 63 && byte > 1) {
            return -1;
        }
        shift += 7;
    } while (byte & 0x80);
    if (byte == 0 && shift > 7) {
        return -1;
    }
    reader->at = at;
    *number = value;
    return 0;
}

static int get_run(struct reader *reader, uint64_t left)
{
    uint64_t more;

    reader->at++;
    if (get_number(reader, &more) != 0 || more >= left) {
        return -1;
    }
    reader->run = more + 1;
    return 0;
}

static inline int64_t unzigzag(uint64_t z)
{
    return (int64_t)(z >> 1 ^ (0 - (z & 1)));
}

/* The rows of a block and their predecessors. */
struct rows {
    uint8_t *const *row;
    const uint8_t *const *peer;
    unsigned count;
    uint64_t left; /* records from here to the end of the group */
};

static inline __attribute__((always_inline)) void
set_value(uint8_t *row,
          const uint8_t *peer,
          const struct field *f,
          int64_t d,
          unsigned bytes,
          bool is_back)
{
    const size_t start = offsetof(struct ck_event, start);
    uint64_t value = field_load(peer + f->offset, bytes);

    if (is_back) {
        value = field_back(field_load(peer + start, 8), value);
    }
    value += (uint64_t)d;
    if (is_back) {
        value = field_back_undo(field_load(row + start, 8), value);
    }
    field_store(row + f->offset, value, bytes);
}

static inline __attribute__((always_inline)) int
get_column(struct reader *reader,
           const struct rows *rows,
           const struct field *f,
           unsigned bytes,
           bool is_back)
{
    uint64_t limit = ~(uint64_t)0 >> (64 - 8 * bytes);
    unsigned i = 0;

    while (i < rows->count) {
        uint64_t z;

        if (reader->run != 0) {
            set_value(rows->row[i], rows->peer[i], f, 0, bytes, is_back);
            reader->run--;
            i++;
            continue;
        }
        if (reader->at == reader->end) {
            return -1;
        }
        if (*reader->at == 0) {
            if (get_run(reader, rows->left - i) != 0) {
                return -1;
            }
            continue;
        }
        if (get_number(reader, &z) != 0 || z > limit) {
            return -1;
        }
        set_value(rows->row[i], rows->peer[i], f, unzigzag(z), bytes, is_back);
        i++;
    }
    return 0;
}

static int
get_field(struct reader *reader, const struct rows *rows, const struct field *f)
{
    if (reader->is_absent) {
        return 0; /* zeros, as the rows are already */
    }
    if (f->code == FIELD_BACK) {
        return get_column(reader, rows, f, 8, true);
    }
    switch (f->bytes) {
    case 8:
        return get_column(reader, rows, f, 8, false);
    case 4:
        return get_column(reader, rows, f, 4, false);
    case 2:
        return get_column(reader, rows, f, 2, false);
    default:
        return get_column(reader, rows, f, 1, false);
    }
}

static const struct field head_fields[FIELD_FIRST] = {
    {2, FIELD_SAME, offsetof(struct ck_event, kind)},
    {1, FIELD_SAME, offsetof(struct ck_event, flags)},
    {4, FIELD_SAME, offsetof(struct ck_event, name)},
    {8, FIELD_SAME, offsetof(struct ck_event, start)},
};

/* Predecessors by context, once kind and name are known. */
static void
find_peers(const struct rows *rows, const uint8_t **peer, const uint8_t **last)
{
    for (unsigned i = 0; i < rows->count; i++) {
        struct ck_event head;
        unsigned context;

        memcpy(&head, rows->row[i], sizeof(head));
        context = field_context(head.kind, head.name);
        peer[i] = last[context];
        last[context] = rows->row[i];
    }
}

static int get_block(struct reader *readers,
                     unsigned cls,
                     struct rows *rows,
                     const uint8_t *before,
                     const uint8_t **last)
{
    const uint8_t *peer[FIELD_BLOCK];

    peer[0] = before;
    for (unsigned i = 1; i < rows->count; i++) {
        peer[i] = rows->row[i - 1];
    }
    rows->peer = peer;
    for (unsigned c = 0; c < FIELD_FIRST; c++) {
        if (get_field(&readers[c], rows, &head_fields[c]) != 0) {
            return -1;
        }
    }
    find_peers(rows, peer, last);
    for (unsigned c = FIELD_FIRST; ck_fields[cls][c].bytes != 0; c++) {
        if (get_field(&readers[c], rows, &ck_fields[cls][c]) != 0) {
            return -1;
        }
    }
    return 0;
}

static int
get_group(const struct columns_group *group, unsigned cls, uint8_t *const *row)
{
    const uint8_t *zeros = (const uint8_t *)ck_field_zeros;
    const uint8_t *last[FIELD_CONTEXTS];
    struct reader readers[COLUMNS_MAX];

    for (unsigned c = 0; c < COLUMNS_MAX; c++) {
        readers[c] = reader_of(&group->column[c]);
    }
    for (unsigned i = 0; i < FIELD_CONTEXTS; i++) {
        last[i] = zeros;
    }
    for (uint32_t i = 0; i < group->records; i += FIELD_BLOCK) {
        uint32_t left = group->records - i;
        struct rows rows = {row + i, NULL,
                            left < FIELD_BLOCK ? left : FIELD_BLOCK, left};

        if (get_block(readers, cls, &rows, i == 0 ? zeros : row[i - 1], last) !=
            0) {
            return -1;
        }
    }
    for (unsigned c = 0; c < FIELD_FIRST || ck_fields[cls][c].bytes != 0; c++) {
        if (readers[c].at != readers[c].end || readers[c].run != 0) {
            return -1;
        }
    }
    return 0;
}

/* Each record's kind must be of its class, or unknown to us. */
static int check_kinds(struct decoder *decoder, unsigned cls, uint32_t records)
{
    for (uint32_t i = 0; i < records; i++) {
        uint8_t *row = decoder->row[cls][i];
        unsigned of = field_class((unsigned)field_load(row, 2));

        if (of == CK_CLASS_NONE) {
            decoder->unknown++;
        } else if (of != cls) {
            return -1;
        }
    }
    return 0;
}

/* The next run of the order: its class and how many. */
static int next_run(struct reader *order, unsigned *cls, uint32_t *count)
{
    uint64_t number;

    if (get_number(order, &number) != 0 ||
        number >> 5 >= CK_FRAME_RECORDS_MAX) {
        return -1;
    }
    *cls = (unsigned)(number & 31);
    *count = (uint32_t)(number >> 5) + 1;
    return 0;
}

static int count_records(struct decoder *decoder)
{
    struct reader order = reader_of(&decoder->view->order);
    uint32_t total = 0;

    while (order.at != order.end) {
        unsigned cls;
        uint32_t count;

        if (next_run(&order, &cls, &count) != 0 ||
            (total += count) > CK_FRAME_RECORDS_MAX) {
            return -1;
        }
        if (ck_class_units(cls) == 0) {
            decoder->skipped += count;
        } else {
            decoder->counts[cls] += count;
        }
    }
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (decoder->counts[cls] != decoder->view->groups[cls].records) {
            return -1;
        }
    }
    return 0;
}

static bool is_wanted(const struct decoder *decoder, unsigned cls)
{
    return cls < CK_CLASS_LIMIT && (decoder->classes >> cls & 1) != 0 &&
           decoder->counts[cls] != 0;
}

/* One allocation: the places of all records, then dense rows of texts. */
static int decoder_allocate(struct decoder *decoder)
{
    size_t places = 0;
    size_t texts = 0;
    uint8_t **place;
    uint8_t *dense;

    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (is_wanted(decoder, cls)) {
            places += decoder->counts[cls];
            texts += field_is_text(cls) ? decoder->counts[cls] : 0;
        }
    }
    decoder->memory =
        malloc(places * sizeof(*place) + texts * CK_UNIT_BYTES + 1);
    if (decoder->memory == NULL) {
        return -1;
    }
    place = decoder->memory;
    dense = (uint8_t *)(place + places);
    memset(dense, 0, texts * CK_UNIT_BYTES);
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (!is_wanted(decoder, cls)) {
            continue;
        }
        decoder->row[cls] = place;
        place += decoder->counts[cls];
        if (field_is_text(cls)) {
            decoder->dense[cls] = dense;
            dense += (size_t)decoder->counts[cls] * CK_UNIT_BYTES;
        }
    }
    return 0;
}

static uint32_t text_length(const uint8_t *row)
{
    return (uint32_t)field_load(row + offsetof(struct ck_text, length), 4);
}

/* Decode the fixed units of a text class; lengths must sum to its bytes. */
static int get_texts(struct decoder *decoder, unsigned cls)
{
    const struct columns_group *group = &decoder->view->groups[cls];
    uint64_t total = 0;

    for (uint32_t i = 0; i < group->records; i++) {
        decoder->row[cls][i] = decoder->dense[cls] + (size_t)i * CK_UNIT_BYTES;
    }
    if (get_group(group, cls, decoder->row[cls]) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < group->records; i++) {
        uint32_t length = text_length(decoder->row[cls][i]);

        if (length > CK_TEXT_BYTES_MAX) {
            return -1;
        }
        total += length;
    }
    return total == group->text.length ? 0 : -1;
}

/* Where the walk over the order is in each class. */
struct cursor {
    uint32_t next[CK_CLASS_LIMIT];
    const uint8_t *text[CK_CLASS_LIMIT];
};

/* Give the next record of the class its place. 0, or -1: no room. */
static inline int place_record(struct decoder *decoder,
                               unsigned cls,
                               struct cursor *cursor,
                               struct columns_rows *rows)
{
    uint8_t **row = &decoder->row[cls][cursor->next[cls]++];
    uint8_t *place = rows->rows + rows->used;
    unsigned units = ck_field_units[cls];
    uint32_t length = 0;

    if (field_is_text(cls)) {
        length = text_length(*row);
        units = ck_text_units(length);
    }
    if ((size_t)units * CK_UNIT_BYTES > rows->room - rows->used) {
        return -1;
    }
    for (unsigned i = 0; i < units; i++) {
        memset(place + (size_t)i * CK_UNIT_BYTES, 0, CK_UNIT_BYTES);
    }
    if (field_is_text(cls)) {
        memcpy(place, *row, CK_UNIT_BYTES);
        if (length > 0) {
            memcpy(place + CK_UNIT_BYTES, cursor->text[cls], length);
            cursor->text[cls] += length;
        }
    }
    place[offsetof(struct ck_event, units)] = (uint8_t)units;
    *row = place;
    rows->used += (size_t)units * CK_UNIT_BYTES;
    return 0;
}

static int place_records(struct decoder *decoder, struct columns_rows *rows)
{
    struct reader order = reader_of(&decoder->view->order);
    struct cursor cursor = {{0}, {NULL}};

    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        cursor.text[cls] = decoder->view->groups[cls].text.bytes;
    }
    while (order.at != order.end) {
        unsigned cls;
        uint32_t count;

        if (next_run(&order, &cls, &count) != 0) {
            return -1;
        }
        if (!is_wanted(decoder, cls)) {
            continue;
        }
        while (count-- > 0) {
            if (place_record(decoder, cls, &cursor, rows) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* Close the gaps that records of unknown kinds leave. */
static void drop_unknown(struct columns_rows *rows)
{
    size_t kept = 0;
    size_t at = 0;

    while (at < rows->used) {
        uint8_t *row = rows->rows + at;
        size_t bytes =
            (size_t)row[offsetof(struct ck_event, units)] * CK_UNIT_BYTES;

        if (ck_kind_class((unsigned)field_load(row, 2)) != CK_CLASS_NONE) {
            memmove(rows->rows + kept, row, bytes);
            kept += bytes;
        }
        at += bytes;
    }
    rows->used = kept;
}

static int decode_all(struct decoder *decoder,
                      struct columns_rows *rows,
                      struct ck_err *err)
{
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (is_wanted(decoder, cls) && field_is_text(cls) &&
            get_texts(decoder, cls) != 0) {
            return ck_err_set(err, "damaged batch: %s columns do not decode",
                              ck_class_name(cls));
        }
    }
    if (place_records(decoder, rows) != 0) {
        return ck_err_set(err,
                          "batch has more than the %zu bytes of records "
                          "that its frame announced",
                          rows->room);
    }
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (!is_wanted(decoder, cls)) {
            continue;
        }
        if ((!field_is_text(cls) && get_group(&decoder->view->groups[cls], cls,
                                              decoder->row[cls]) != 0) ||
            check_kinds(decoder, cls, decoder->counts[cls]) != 0) {
            return ck_err_set(err, "damaged batch: %s columns do not decode",
                              ck_class_name(cls));
        }
    }
    if (decoder->unknown > 0) {
        drop_unknown(rows);
    }
    return 0;
}

int columns_decode(const struct columns_view *view,
                   uint32_t classes,
                   struct ck_batch_info *info,
                   struct columns_rows *rows,
                   struct ck_err *err)
{
    struct decoder decoder = {.view = view, .classes = classes};
    int rc;

    rows->used = 0;
    if (count_records(&decoder) != 0) {
        return ck_err_set(err, "damaged batch: its order and its groups "
                               "disagree");
    }
    if (decoder_allocate(&decoder) != 0) {
        return ck_err_set(err, "no memory to decode a batch");
    }
    rc = decode_all(&decoder, rows, err);
    free(decoder.memory);
    if (rc == 0) {
        info->skipped = decoder.skipped + decoder.unknown;
    }
    return rc;
}
