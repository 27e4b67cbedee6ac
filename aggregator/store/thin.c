/* thin.c - what stays of frames that are discarded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/thin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/batch/pack.h"
#include "schema/batch/wire.h"
#include "schema/event.h"
#include "schema/store/run.h"

#define OF(class) ((uint32_t)1 << CK_CLASS_##class)
#define FACTS (OF(TEXT) | OF(MODULE) | OF(CLOCK) | OF(COUNTER) | OF(OPEN))
#define TIMED                                                                  \
    (OF(MARK) | OF(CALL) | OF(MESSAGE) | OF(COLLECTIVE) | OF(KERNEL) |         \
     OF(COPY) | OF(SAMPLE))
#define NOTE_BYTES 512

struct buffer {
    uint8_t *bytes;
    size_t used;
    size_t room;
};

struct thin {
    struct ck_batch_writer *writer;
    struct buffer raw;  /* an unpacked payload */
    struct buffer rows; /* decoded facts */
    struct buffer out;  /* thin frames */
    uint64_t frames;    /* how many */
    uint64_t records;   /* in them */
    uint64_t next;      /* position behind the note */
    struct thin_note note;
    enum ck_clock clock; /* of the batch that is looked at */
    thin_keep_f keep;    /* NULL = all facts stay */
    void *state;
};

struct thin *thin_create(void)
{
    struct thin *thin = calloc(1, sizeof(*thin));

    if (thin && !(thin->writer = ck_batch_writer_create())) {
        free(thin);
        return NULL;
    }
    return thin;
}

void thin_destroy(struct thin *thin)
{
    int saved = errno;

    if (thin) {
        ck_batch_writer_destroy(thin->writer);
        free(thin->raw.bytes);
        free(thin->rows.bytes);
        free(thin->out.bytes);
        free(thin);
    }
    errno = saved;
}

void thin_begin(struct thin *thin, const struct thin_note *note)
{
    thin->out.used = 0;
    thin->frames = thin->records = 0;
    thin->note = *note;
    thin->keep = NULL;
}

void thin_filter(struct thin *thin, thin_keep_f keep, void *state)
{
    thin->keep = keep;
    thin->state = state;
}

struct thin_note *thin_note(struct thin *thin)
{
    return &thin->note;
}

/* Room for so many bytes behind those used. 0, or -1 with ENOMEM. */
static int buffer_room(struct buffer *buffer, size_t more)
{
    size_t room = buffer->room ? buffer->room : 4096;
    uint8_t *bytes;

    if (buffer->room - buffer->used >= more) {
        return 0;
    }
    while (room - buffer->used < more) {
        room *= 2;
    }
    bytes = realloc(buffer->bytes, room);
    if (!bytes) {
        return -1;
    }
    buffer->bytes = bytes;
    buffer->room = room;
    return 0;
}

/* Put a frame with this payload behind the others. 0, or -1 with ENOMEM. */
static int frame_put(struct thin *thin,
                     struct ck_frame_header *header,
                     const void *payload)
{
    size_t bytes = ck_frame_bytes(header);
    uint8_t *at;

    if (buffer_room(&thin->out, bytes) != 0) {
        return -1;
    }
    ck_frame_seal(header, payload);
    at = thin->out.bytes + thin->out.used;
    memset(at + bytes - 8, 0, 8);
    memcpy(at, header, sizeof(*header));
    memcpy(at + sizeof(*header), payload, header->length);
    thin->out.used += bytes;
    thin->frames++;
    thin->records += header->records;
    return 0;
}

/* A ck_batch_take_f: how long these records lasted. */
static void until_take(void *state, const struct ck_batch_columns *columns)
{
    struct thin *thin = state;

    for (unsigned i = 0; i < columns->count; i++) {
        bool is_raw = thin->clock != CK_CLOCK_TSC ||
                      (columns->flags[i] & CK_FLAG_RAW) != 0;
        int64_t *until =
            is_raw ? &thin->note.until_raw : &thin->note.until_ticks;
        int64_t end =
            (int64_t)((uint64_t)columns->start[i] + (uint64_t)columns->dur[i]);

        if (end > *until) {
            *until = end;
        }
    }
}

/* The facts of a batch in thin->rows, and how long its other records lasted.
 * 1, 0 = it does not decode, -1 with ENOMEM. */
static int batch_read(struct thin *thin,
                      const struct ck_frame_header *header,
                      const void *payload,
                      struct ck_batch_info *info)
{
    struct ck_batch_info scanned = {0};

    thin->rows.used = thin->raw.used = 0;
    if (buffer_room(&thin->rows, (size_t)header->units * CK_UNIT_BYTES + 8) !=
        0) {
        return -1;
    }
    if (header->pack != CK_PACK_NONE) {
        if (buffer_room(&thin->raw, header->raw + (size_t)8) != 0) {
            return -1;
        }
        if (ck_unpack((enum ck_pack)header->pack, payload, header->length,
                      thin->raw.bytes, header->raw, NULL) != 0) {
            return 0;
        }
        payload = thin->raw.bytes;
    }
    if (ck_batch_decode_classes(payload, header->raw, FACTS, info,
                                thin->rows.bytes,
                                (size_t)header->units * CK_UNIT_BYTES,
                                &thin->rows.used, NULL) != 0) {
        return 0;
    }
    thin->clock = info->clock;
    return ck_batch_scan(payload, header->raw, TIMED, &scanned, until_take,
                         thin, NULL) == 0;
}

/* Leave out the rows that do not stay. */
static void rows_filter(struct thin *thin)
{
    uint8_t *rows = thin->rows.bytes;
    size_t used = 0;

    for (size_t at = 0; at < thin->rows.used;) {
        const struct ck_event *row = (const void *)(rows + at);
        size_t bytes = (size_t)row->units * CK_UNIT_BYTES;

        if (thin->keep(thin->state, row)) {
            memmove(rows + used, rows + at, bytes);
            used += bytes;
        }
        at += bytes;
    }
    thin->rows.used = used;
}

/* Copy a frame as it is: its facts do not fit in one of their own. */
static int frame_copy(struct thin *thin,
                      const struct ck_frame_header *header,
                      const void *payload)
{
    struct ck_frame_header whole = *header;

    return frame_put(thin, &whole, payload);
}

int thin_add(struct thin *thin,
             const struct ck_frame_header *header,
             const void *payload,
             bool is_last)
{
    struct ck_frame_header small = *header;
    struct ck_batch_info info = {0};
    size_t length;
    int rc = batch_read(thin, header, payload, &info);

    if (rc < 0) {
        return -1;
    }
    if (rc == 0) {
        thin->rows.used = 0;
    }
    if (thin->keep) {
        rows_filter(thin);
    }
    if (thin->rows.used == 0 && !is_last) {
        thin->note.records += header->records;
        thin->note.units += header->units;
        return 0;
    }
    if (ck_batch_encode(thin->writer, &info, thin->rows.bytes, thin->rows.used,
                        &payload, &length, NULL) != 0 ||
        (size_t)info.units * CK_UNIT_BYTES != thin->rows.used) {
        return frame_copy(thin, header, payload);
    }
    small.pack = CK_PACK_NONE;
    small.records = info.records;
    small.classes = info.classes;
    small.length = small.raw = (uint32_t)length;
    thin->note.records +=
        header->records > small.records ? header->records - small.records : 0;
    return frame_put(thin, &small, payload);
}

/* ---- the note ----------------------------------------------------------- */

int thin_finish(struct thin *thin, const uint8_t agent[16], uint64_t first)
{
    const struct thin_note *note = &thin->note;
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    struct ck_frame_header header = {
        .stream = {.incarnation = 0, .slot = CK_SLOT_AGGREGATOR},
        .first = first};
    char said[NOTE_BYTES];
    struct ck_lines lines = ck_lines_in(said, sizeof(said));
    struct ck_text *text;
    const void *payload;
    size_t length;

    ck_lines_put_number(&lines, "segment", (int64_t)note->segment);
    ck_lines_put_number(&lines, "segments", (int64_t)note->segments);
    ck_lines_put_number(&lines, "records", (int64_t)note->records);
    ck_lines_put_number(&lines, "bytes", (int64_t)note->bytes);
    ck_lines_put_number(&lines, "units", (int64_t)note->units);
    if (note->until_raw != INT64_MIN) {
        ck_lines_put_number(&lines, "until_raw", note->until_raw);
    }
    if (note->until_ticks != INT64_MIN) {
        ck_lines_put_number(&lines, "until_ticks", note->until_ticks);
    }
    thin->rows.used = 0;
    if (buffer_room(&thin->rows, sizeof(*text) + NOTE_BYTES + CK_UNIT_BYTES) !=
        0) {
        return -1;
    }
    text = (void *)thin->rows.bytes;
    memset(text, 0, sizeof(*text) + NOTE_BYTES + CK_UNIT_BYTES);
    text->e.kind = CK_KIND_DISCARDED;
    text->e.units = (uint8_t)ck_text_units(lines.used);
    text->length = (uint32_t)lines.used;
    memcpy(text + 1, said, lines.used);
    if (ck_batch_encode(thin->writer, &info, text,
                        (size_t)text->e.units * CK_UNIT_BYTES, &payload,
                        &length, NULL) != 0) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(header.agent, agent, sizeof(header.agent));
    header.units = info.units;
    header.records = info.records;
    header.classes = info.classes;
    header.length = header.raw = (uint32_t)length;
    thin->next = first + info.units;
    return frame_put(thin, &header, payload);
}

const void *
thin_bytes(const struct thin *thin, size_t *length, uint64_t *records)
{
    *length = thin->out.used;
    *records = thin->records;
    return thin->out.bytes;
}

uint64_t thin_frames(const struct thin *thin)
{
    return thin->frames;
}

uint64_t thin_next(const struct thin *thin)
{
    return thin->next;
}

static int64_t note_get(const char *lines, const char *key, int64_t other)
{
    char text[32];

    return ck_lines_get(lines, strlen(lines), key, text, sizeof(text))
               ? strtoll(text, NULL, 10)
               : other;
}

bool thin_note_read(const struct ck_frame_header *header,
                    const void *payload,
                    struct thin_note *note,
                    uint64_t *first)
{
    _Alignas(8) uint8_t rows[sizeof(struct ck_text) + 2 * NOTE_BYTES];
    const struct ck_text *text = (const void *)rows;
    char lines[NOTE_BYTES + 1];
    struct ck_batch_info info = {0};
    size_t used = 0;

    if (header->stream.slot != CK_SLOT_AGGREGATOR ||
        header->pack != CK_PACK_NONE ||
        ck_batch_decode(payload, header->length, &info, rows, sizeof(rows),
                        NULL) != 0) {
        return false;
    }
    used = (size_t)info.units * CK_UNIT_BYTES;
    if (used < sizeof(*text) || text->e.kind != CK_KIND_DISCARDED ||
        text->length > NOTE_BYTES || text->length > used - sizeof(*text)) {
        return false;
    }
    memcpy(lines, ck_text_bytes(text), text->length);
    lines[text->length] = '\0';
    *note = (struct thin_note){
        .segment = (uint32_t)note_get(lines, "segment", 0),
        .is_any = true,
        .segments = (uint64_t)note_get(lines, "segments", 0),
        .records = (uint64_t)note_get(lines, "records", 0),
        .bytes = (uint64_t)note_get(lines, "bytes", 0),
        .units = (uint64_t)note_get(lines, "units", 0),
        .until_raw = note_get(lines, "until_raw", INT64_MIN),
        .until_ticks = note_get(lines, "until_ticks", INT64_MIN),
    };
    *first = header->first + header->units;
    return true;
}
