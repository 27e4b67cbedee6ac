/* store.c - what is stored of one agent: its segment, its positions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/event.h"
#include "schema/pack.h"
#include "schema/run.h"
#include "schema/segment.h"

struct store {
    struct ck_segment *segment;
    struct positions *positions;
    struct store_facts facts;
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

static int
store_rebuild(struct store *store, const char *path, struct ck_err *err)
{
    struct ck_segment_reader *reader = ck_segment_reader_create(path, err);
    struct ck_frame_header header;
    const void *payload;
    int result = 0;

    if (!reader) {
        return -1;
    }
    while (ck_segment_next(reader, &header, &payload) > 0) {
        struct position *position =
            positions_get(store->positions, header.stream);

        if (!position) {
            result = ck_err_set(err, "cannot go on with %s: %s", path,
                                strerror(errno));
            break;
        }
        position_take(position, header.first, header.units);
        store->facts.frames++;
        store->facts.records += header.records;
        frame_scan(store, &header, payload);
    }
    ck_segment_reader_destroy(reader);
    return result;
}

struct store *
store_create(const char *dir, const uint8_t agent[16], struct ck_err *err)
{
    char path[PATH_MAX];
    struct store *store = calloc(1, sizeof(*store));

    if (!store || !(store->positions = positions_create())) {
        (void)ck_err_set(err, "out of memory");
        goto error;
    }
    if (ck_run_segment_path(path, dir, agent, false) != 0) {
        (void)ck_err_set(err, "path of the run directory is too long: %s", dir);
        errno = ENAMETOOLONG;
        goto error;
    }
    /* First the cut of a torn tail, then the walk over what is left. */
    store->segment = ck_segment_create(path, err);
    if (!store->segment) {
        goto error;
    }
    if (ck_segment_bytes(store->segment) > 0 &&
        store_rebuild(store, path, err) != 0) {
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
        ck_segment_destroy(store->segment);
        positions_destroy(store->positions);
        free(store);
    }
    errno = saved;
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
        store->facts.old++;
        return STORE_OLD;
    }
    if (ck_segment_append(store->segment, frame, ck_frame_bytes(header)) != 0) {
        store->facts.failed++;
        return STORE_FAILED;
    }
    position_take(position, header->first, header->units);
    position->is_due = true;
    store->facts.frames++;
    store->facts.records += header->records;
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
    struct store_facts facts = store->facts;

    facts.bytes = ck_segment_bytes(store->segment);
    facts.missing = positions_missing(store->positions);
    return facts;
}

struct positions *store_positions(struct store *store)
{
    return store->positions;
}

int store_sync(struct store *store)
{
    return ck_segment_sync(store->segment);
}
