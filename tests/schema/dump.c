/* dump.c - a segment with records of every kind, and the same as JSON lines
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * `dump SEGMENT` writes the segment and prints what a reader must find in it.
 * Between two frames there is junk that a reader has to skip.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/batch/wire.h"
#include "schema/json.h"
#include "schema/store/segment.h"
#include "tests/schema/records.h"

#define ROOM ((size_t)64 << 10)

#define CK_CLASS(number, NAME, type, units, text)                              \
    typedef struct type row_##NAME;
#include "schema/kind.def"

static void print_fields(struct ck_json *json, const uint8_t *row, unsigned cls)
{
#define CK_FIELD(CLASS, column, member, code)                                  \
    if (cls == CK_CLASS_##CLASS) {                                             \
        ck_json_int(                                                           \
            json, #member,                                                     \
            (int64_t)((const row_##CLASS *)(const void *)row)->member);        \
    }
#include "schema/kind.def"
}

static void print_text(struct ck_json *json, const struct ck_text *text)
{
    const char *bytes = ck_text_bytes(text);
    char *hex = calloc(2, (size_t)text->length + 1);

    for (uint32_t i = 0; hex != NULL && i < text->length; i++) {
        (void)sprintf(hex + 2 * (size_t)i, "%02x", (unsigned char)bytes[i]);
    }
    ck_json_string(json, "text", hex == NULL ? "no memory" : hex);
    free(hex);
}

static int print_record(const uint8_t *row)
{
    const struct ck_event *event = (const void *)row;
    struct ck_json *json = ck_json_create(stdout, false);
    unsigned cls = ck_kind_class(event->kind);
    int rc;

    ck_json_object(json, NULL);
    ck_json_string(json, "class", ck_class_name(cls));
    ck_json_uint(json, "e.kind", event->kind);
    ck_json_uint(json, "e.flags", event->flags);
    ck_json_uint(json, "e.name", event->name);
    ck_json_int(json, "e.start", event->start);
    print_fields(json, row, cls);
    if (field_is_text(cls)) {
        print_text(json, (const void *)row);
    }
    rc = ck_json_finish(json);
    ck_json_destroy(json);
    return rc == 0 && putchar('\n') != EOF ? 0 : -1;
}

static int append(struct ck_segment *segment,
                  struct ck_batch_writer *writer,
                  const uint8_t *rows,
                  size_t used)
{
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    struct ck_frame_header header = {0};
    const void *payload;
    size_t length;
    uint8_t *frame;
    int rc;

    if (ck_batch_encode(writer, &info, rows, used, &payload, &length, NULL)) {
        return -1;
    }
    header.length = header.raw = (uint32_t)length;
    header.records = info.records;
    header.units = info.units;
    ck_frame_seal(&header, payload);
    frame = calloc(1, ck_frame_bytes(&header));
    if (frame == NULL) {
        return -1;
    }
    memcpy(frame, &header, sizeof(header));
    memcpy(frame + sizeof(header), payload, length);
    rc = ck_segment_append(segment, frame, ck_frame_bytes(&header));
    free(frame);
    return rc;
}

static int put_frame(struct ck_segment *segment,
                     struct ck_batch_writer *writer,
                     struct records_random *random)
{
    static uint8_t rows[ROOM] __attribute__((aligned(8)));
    size_t used = 0, n;

    while ((n = records_any(random, rows + used, ROOM - used)) > 0) {
        used += n;
    }
    for (size_t at = 0; at < used; at += (size_t)rows[at + 2] * CK_UNIT_BYTES) {
        if (print_record(rows + at) != 0) {
            return -1;
        }
    }
    return append(segment, writer, rows, used);
}

int main(int argc, char **argv)
{
    static const char junk[64] = "CKF1, but nothing of the kind";
    struct records_random random = {20260711};
    struct ck_batch_writer *writer = ck_batch_writer_create();
    struct ck_segment *segment = NULL;
    struct ck_err err = {"usage: dump SEGMENT"};
    int rc = 1;

    if (argc == 2) {
        (void)unlink(argv[1]);
        segment = ck_segment_create(argv[1], &err);
    }
    if (segment != NULL && writer != NULL) {
        rc = put_frame(segment, writer, &random) != 0 ||
             ck_segment_append(segment, junk, sizeof(junk)) != 0 ||
             put_frame(segment, writer, &random) != 0;
    }
    if (rc != 0) {
        (void)fprintf(stderr, "dump: %s\n", err.text);
    }
    ck_segment_destroy(segment);
    ck_batch_writer_destroy(writer);
    return rc;
}
