/* decode.c - packed columns to records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The order of the batch has the place of each record; then each class is
 * decoded into its places (group.c). Text records are decoded into a dense
 * array first, because their places depend on their lengths.
 */
#include "schema/batch/columns.h"

#include <errno.h>
#include <stdlib.h>

#include "schema/batch/group.h"
#include "schema/batch/recordorder.h"

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

/* Each record's kind must be of its class, or unknown to us. */
static int check_kinds(struct decoder *decoder, unsigned cls, uint32_t records)
{
    for (uint32_t i = 0; i < records; i++) {
        uint8_t *row = decoder->row[cls][i];
        unsigned of = ck_kind_class((unsigned)field_load(row, 2));

        if (of == CK_CLASS_NONE) {
            decoder->unknown++;
        } else if (of != cls) {
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

static bool has_wanted(const struct decoder *decoder)
{
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (is_wanted(decoder, cls)) {
            return true;
        }
    }
    return false;
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
    if (group_decode(&decoder->view->groups[cls], cls, decoder->row[cls]) !=
        0) {
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

/* Give the next records of a class without texts their places. 0, or -1: no
 * room. */
static inline int place_run(struct decoder *decoder,
                            unsigned cls,
                            uint32_t count,
                            struct cursor *cursor,
                            struct columns_rows *rows)
{
    const uint8_t units = (uint8_t)ck_field_units[cls];
    const size_t bytes = (size_t)units * CK_UNIT_BYTES;
    uint8_t **row = decoder->row[cls] + cursor->next[cls];
    uint8_t *place = rows->rows + rows->used;

    if (bytes * count > rows->room - rows->used) {
        return -1;
    }
    cursor->next[cls] += count;
    rows->used += bytes * count;
    for (; count > 0; count--, place += bytes) {
        place[offsetof(struct ck_event, units)] = units;
        *row++ = place;
    }
    return 0;
}

/* Give the next text its place. 0, or -1: no room. */
static inline int place_text(struct decoder *decoder,
                             unsigned cls,
                             struct cursor *cursor,
                             struct columns_rows *rows)
{
    uint8_t **row = &decoder->row[cls][cursor->next[cls]++];
    uint8_t *place = rows->rows + rows->used;
    uint32_t length = text_length(*row);
    unsigned units = ck_text_units(length);

    if ((size_t)units * CK_UNIT_BYTES > rows->room - rows->used) {
        return -1;
    }
    memset(place, 0, (size_t)units * CK_UNIT_BYTES);
    memcpy(place, *row, CK_UNIT_BYTES);
    if (length > 0) {
        memcpy(place + CK_UNIT_BYTES, cursor->text[cls], length);
        cursor->text[cls] += length;
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

        if (recordorder_next(&order, &cls, &count) != 0) {
            return -1;
        }
        if (!is_wanted(decoder, cls)) {
            continue;
        }
        if (!field_is_text(cls)) {
            if (place_run(decoder, cls, count, &cursor, rows) != 0) {
                return -1;
            }
            continue;
        }
        while (count-- > 0) {
            if (place_text(decoder, cls, &cursor, rows) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

void columns_drop_unknown(struct columns_rows *rows)
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
        if ((!field_is_text(cls) &&
             group_decode(&decoder->view->groups[cls], cls,
                          decoder->row[cls]) != 0) ||
            check_kinds(decoder, cls, decoder->counts[cls]) != 0) {
            return ck_err_set(err, "damaged batch: %s columns do not decode",
                              ck_class_name(cls));
        }
    }
    if (decoder->unknown > 0) {
        columns_drop_unknown(rows);
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
    if (recordorder_count(view, decoder.counts, &decoder.skipped) != 0) {
        return ck_err_set(err, "damaged batch: its order and its groups "
                               "disagree");
    }
    info->skipped = decoder.skipped;
    info->counted = decoder.skipped;
    info->held = 0;
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        info->counted += view->groups[cls].records;
        info->held += view->groups[cls].records * ck_class_units(cls);
    }
    if (!has_wanted(&decoder)) {
        return 0;
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
