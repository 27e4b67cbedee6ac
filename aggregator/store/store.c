/* store.c - what is stored of one agent: its segments, its positions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/store/segments.h"
#include "schema/batch/pack.h"
#include "schema/event.h"

struct store {
    struct segments *segments;
    struct positions *positions;
    uint64_t old;
    uint64_t failed;
    bool has_facts; /* some of the frames found were thin */
    bool has_exit;
    char identity[STORE_IDENTITY_BYTES];
};

/* Identity and exit among the decoded texts of the collector's stream. */
static void
texts_scan(struct store *store, const uint8_t *rows, size_t rows_bytes)
{
    size_t at = 0;

    while (at + CK_UNIT_BYTES <= rows_bytes) {
        const struct ck_text *text = (const void *)(rows + at);
        size_t bytes = (size_t)text->e.units * CK_UNIT_BYTES;

        if (bytes == 0 || bytes > rows_bytes - at ||
            text->length > bytes - sizeof(*text)) {
            return;
        }
        if (text->e.kind == CK_KIND_EXIT) {
            store->has_exit = true;
        }
        if (text->e.kind == CK_KIND_IDENTITY && text->object == 0 &&
            !store->identity[0] && text->length < sizeof(store->identity)) {
            memcpy(store->identity, ck_text_bytes(text), text->length);
            store->identity[text->length] = '\0';
        }
        at += bytes;
    }
}

/* Bytes that a frame's records need, decoded. */
static size_t frame_rows_bytes(const struct ck_frame_header *header)
{
    return (size_t)header->units * CK_UNIT_BYTES;
}

/* Read the collector's texts out of one stored frame; what does not decode
 * is merge's to report. */
static void frame_scan(struct store *store,
                       const struct ck_frame_header *header,
                       const void *payload)
{
    struct ck_batch_info info = {0};
    size_t used = 0;
    uint8_t *rows = NULL;
    void *raw = NULL;

    if (header->stream.slot != CK_SLOT_COLLECTOR || header->units == 0 ||
        header->units > CK_FRAME_UNITS_MAX || header->raw > CK_FRAME_RAW_MAX) {
        return;
    }
    rows = malloc(frame_rows_bytes(header));
    raw = malloc(header->raw + (size_t)8);
    if (rows && raw &&
        ck_unpack(header->pack, payload, header->length, raw, header->raw,
                  NULL) == 0 &&
        ck_batch_decode_classes(raw, header->raw, 1u << CK_CLASS_TEXT, &info,
                                rows, frame_rows_bytes(header), &used,
                                NULL) == 0) {
        texts_scan(store, rows, used);
    }
    free(raw);
    free(rows);
}

/* A frame that is there already. Nothing is missing below where the facts begin
 * for a stream: it was discarded. */
static int frame_found(void *state,
                       const struct ck_frame_header *header,
                       const void *payload,
                       bool is_thin)
{
    struct store *store = state;
    struct position *position = positions_get(store->positions, header->stream);

    if (!position) {
        return -1;
    }
    if (is_thin ||
        (store->has_facts && (position->is_thin || !position->is_begun))) {
        position_forget(position, header->first);
    }
    position->is_thin = is_thin;
    store->has_facts |= is_thin;
    position_take(position, header->first, header->units);
    frame_scan(store, header, payload);
    return 0;
}

struct store *
store_create(const char *dir, const uint8_t agent[16], struct ck_err *err)
{
    struct store *store = calloc(1, sizeof(*store));

    if (!store || !(store->positions = positions_create())) {
        (void)ck_err_set(err, "out of memory");
        goto error;
    }
    store->segments = segments_create(dir, agent, frame_found, store, err);
    if (!store->segments) {
        goto error;
    }
    return store;
error:
    store_destroy(store);
    return NULL;
}

void store_destroy(struct store *store)
{
    int saved = errno;

    if (store) {
        segments_destroy(store->segments);
        positions_destroy(store->positions);
        free(store);
    }
    errno = saved;
}

/* Nothing of its stream came after it. */
static bool is_last(void *state, const struct ck_frame_header *header)
{
    struct store *store = state;
    const struct position *position =
        positions_get(store->positions, header->stream);

    return !position || header->first + header->units >= position->next;
}

void store_keep(struct store *store, const struct ck_keep *keep)
{
    segments_keep(store->segments, keep);
    segments_trim(store->segments, is_last, store);
}

enum store_result store_append(struct store *store,
                               const struct ck_frame_header *header,
                               const void *frame)
{
    struct position *position = positions_get(store->positions, header->stream);

    if (!position) {
        return STORE_FAILED;
    }
    if (position_has(position, header->first, header->units)) {
        position->is_due = true;
        store->old++;
        return STORE_OLD;
    }
    if (segments_append(store->segments, header, frame, is_last, store) != 0) {
        store->failed++;
        return STORE_FAILED;
    }
    position_take(position, header->first, header->units);
    position->is_due = true;
    return STORE_DONE;
}

const char *store_identity(const struct store *store)
{
    return store->identity;
}

bool store_has_exit(const struct store *store)
{
    return store->has_exit;
}

struct store_facts store_facts(const struct store *store)
{
    struct segments_facts segments = segments_facts(store->segments);

    return (struct store_facts){
        .frames = segments.frames,
        .records = segments.records,
        .bytes = segments.bytes,
        .segments = segments.count,
        .old = store->old,
        .failed = store->failed,
        .undiscarded = segments.failed,
        .missing = positions_missing(store->positions),
        .discarded = segments.discarded,
    };
}

struct positions *store_positions(struct store *store)
{
    return store->positions;
}

int store_sync(struct store *store)
{
    return segments_sync(store->segments);
}
