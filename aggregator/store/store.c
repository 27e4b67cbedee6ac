/* store.c - what is stored of one agent: its segments, its positions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/store/framerows.h"
#include "aggregator/store/pins.h"
#include "aggregator/store/segments.h"
#include "schema/event.h"

struct store {
    uint8_t agent[16];
    struct segments *segments;
    struct pins *pins; /* NULL = not all is kept, or there is no memory */
    struct positions *positions;
    uint64_t old;
    uint64_t failed;
    bool has_facts; /* some of the frames found were thin */
    bool has_exit;
    char identity[STORE_IDENTITY_BYTES];
};

/* Read the collector's texts out of one stored frame, for identity and exit;
 * what does not decode is merge's to report. */
static void frame_scan(struct store *store,
                       const struct ck_frame_header *header,
                       const void *payload)
{
    const struct ck_event *row;
    struct framerows rows;

    if (header->stream.slot != CK_SLOT_COLLECTOR) {
        return;
    }
    if (framerows_read(&rows, header, payload, 1u << CK_CLASS_TEXT) == 0) {
        while ((row = framerows_next(&rows))) {
            const struct ck_text *text = (const void *)row;

            if (row->kind == CK_KIND_EXIT) {
                store->has_exit = true;
            }
            if (row->kind == CK_KIND_IDENTITY && text->object == 0 &&
                !store->identity[0] && text->length < sizeof(store->identity)) {
                memcpy(store->identity, ck_text_bytes(text), text->length);
                store->identity[text->length] = '\0';
            }
        }
    }
    framerows_free(&rows);
}

/* A frame that is there already. Nothing is missing below where the facts begin
 * for a stream: it was discarded. */
static int frame_found(void *state,
                       const struct ck_frame_header *header,
                       const void *payload,
                       uint64_t offset,
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
    if (store->pins && !is_thin) {
        pins_take(store->pins, header, payload, offset);
    }
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
    memcpy(store->agent, agent, sizeof(store->agent));
    store->pins = pins_create();
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
        pins_destroy(store->pins);
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
    if (keep->bytes > 0 || keep->time > 0) {
        pins_destroy(store->pins);
        store->pins = NULL;
    }
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
    if (store->pins) {
        pins_take(store->pins, header, (const uint8_t *)frame + sizeof(*header),
                  segments_end(store->segments) - ck_frame_bytes(header));
    }
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

bool store_index(struct store *store, uint64_t most, FILE *file)
{
    return store->pins && segments_is_single(store->segments) &&
           pins_write(store->pins, store->agent, segments_end(store->segments),
                      most, file);
}

int store_sync(struct store *store)
{
    return segments_sync(store->segments);
}
