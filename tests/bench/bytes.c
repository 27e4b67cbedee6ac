/* bytes.c - what a stored run takes a record, by class
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bytes RUN
 *
 * The bytes of a class are what the frames would lack without its records:
 * each frame is encoded again without them. "event" = a mark, call, message,
 * collective, kernel or copy; names, modules, clocks and counters are not
 * counted as events, but their bytes are. Then the same run packed with zstd
 * frame by frame (ckagent
 * --pack zstd), and with the records of a stream in frames as full as they
 * may be (what the cutting by time costs).
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/batch/pack.h"
#include "tests/bench/walk.h"

#define EVENTS                                                                 \
    (1u << CK_CLASS_MARK | 1u << CK_CLASS_CALL | 1u << CK_CLASS_MESSAGE |      \
     1u << CK_CLASS_COLLECTIVE | 1u << CK_CLASS_KERNEL | 1u << CK_CLASS_COPY)
#define ALL_CLASSES (~0u)

struct row {
    uint64_t records;
    uint64_t units;
    uint64_t bytes;
};

/* Records of one stream that are not in a frame yet. */
struct pending {
    uint8_t *rows;
    size_t bytes;
    struct ck_frame_header header;
    struct ck_batch_info info;
};

struct sums {
    struct row classes[CK_CLASS_LIMIT];
    uint64_t frames;
    uint64_t stored;
    uint64_t zstd;
    uint64_t full[2]; /* in full frames: plain, zstd */
    struct ck_batch_writer *writer;
    struct pending pending;
    void *scratch;
    void *packed;
    size_t packed_room;
};

static size_t frame_bytes(size_t payload)
{
    struct ck_frame_header header = {.length = (uint32_t)payload};

    return ck_frame_bytes(&header);
}

static size_t zstd_bytes(struct sums *sums, const void *payload, size_t bytes)
{
    int64_t length = ck_pack(CK_PACK_ZSTD, payload, bytes, sums->packed,
                             sums->packed_room, NULL);

    return length < 0 || (size_t)length > bytes ? bytes : (size_t)length;
}

/* Payload bytes of the records of these classes; *payload is the writer's. */
static size_t encoded(struct sums *sums,
                      const struct walk_frame *frame,
                      uint32_t classes,
                      const void **payload)
{
    struct ck_batch_info info = frame->info;
    const uint8_t *row = frame->rows;
    uint8_t *to = sums->scratch;
    size_t payload_bytes = 0;
    size_t used = 0;

    for (size_t at = 0; at < frame->rows_bytes;) {
        const struct ck_event *event = (const void *)(row + at);
        size_t bytes = (size_t)event->units * CK_UNIT_BYTES;

        if ((classes >> ck_kind_class(event->kind) & 1) != 0) {
            memcpy(to + used, event, bytes);
            used += bytes;
        }
        at += bytes;
    }
    if (ck_batch_encode(sums->writer, &info, to, used, payload, &payload_bytes,
                        NULL) != 0) {
        (void)fprintf(stderr, "bytes: cannot encode a frame again\n");
        exit(1);
    }
    return payload_bytes;
}

static void records_count(struct sums *sums, const struct walk_frame *frame)
{
    for (size_t at = 0; at < frame->rows_bytes;) {
        const struct ck_event *event =
            (const void *)((const uint8_t *)frame->rows + at);
        struct row *row = &sums->classes[ck_kind_class(event->kind)];

        row->records++;
        row->units += event->units;
        at += (size_t)event->units * CK_UNIT_BYTES;
    }
}

static void pending_flush(struct sums *sums)
{
    struct pending *pending = &sums->pending;
    const void *payload;
    size_t bytes;

    for (size_t at = 0; at < pending->bytes;) {
        struct ck_batch_info info = pending->info;

        if (ck_batch_encode(sums->writer, &info, pending->rows + at,
                            pending->bytes - at, &payload, &bytes, NULL) != 0) {
            break;
        }
        sums->full[0] += frame_bytes(bytes);
        sums->full[1] += frame_bytes(zstd_bytes(sums, payload, bytes));
        at += (size_t)info.units * CK_UNIT_BYTES;
    }
    pending->bytes = 0;
}

/* Gather the records of a stream; frames of one stream mostly follow each
 * other, those of the collector's own stream are between them and end one. */
static void pending_add(struct sums *sums, const struct walk_frame *frame)
{
    struct pending *pending = &sums->pending;
    size_t room = (size_t)CK_FRAME_UNITS_MAX * CK_UNIT_BYTES;
    bool is_same = memcmp(&pending->header.stream, &frame->header.stream,
                          sizeof(frame->header.stream)) == 0 &&
                   memcmp(pending->header.agent, frame->header.agent,
                          sizeof(frame->header.agent)) == 0;

    if (!is_same || pending->bytes + frame->rows_bytes > room) {
        pending_flush(sums);
    }
    memcpy(pending->rows + pending->bytes, frame->rows, frame->rows_bytes);
    pending->bytes += frame->rows_bytes;
    pending->header = frame->header;
    pending->info = frame->info;
}

static void frame_take(const struct walk_frame *frame, void *arg)
{
    struct sums *sums = arg;
    const void *payload;
    size_t all;

    sums->frames++;
    sums->stored += ck_frame_bytes(&frame->header);
    sums->zstd +=
        frame_bytes(zstd_bytes(sums, frame->payload, frame->header.raw));
    records_count(sums, frame);
    all = encoded(sums, frame, ALL_CLASSES, &payload);
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        sums->classes[cls].bytes +=
            all - encoded(sums, frame, ALL_CLASSES & ~(1u << cls), &payload);
    }
    pending_add(sums, frame);
}

static void row_print(const char *name, const struct row *row)
{
    double n = row->records > 0 ? (double)row->records : 1;

    (void)printf("# %-11s %9llu records  ring %6.1f B  stored %7.2f B each, "
                 "%9llu B\n",
                 name, (unsigned long long)row->records,
                 (double)(row->units * CK_UNIT_BYTES) / n,
                 (double)row->bytes / n, (unsigned long long)row->bytes);
}

static void sums_print(const struct sums *sums)
{
    uint64_t records = 0;
    uint64_t events = 0;
    double n;

    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        const struct row *row = &sums->classes[cls];

        if (row->records > 0) {
            row_print(ck_class_name(cls), row);
        }
        records += row->records;
        events += (EVENTS >> cls & 1) != 0 ? row->records : 0;
    }
    n = events > 0 ? (double)events : 1;
    (void)printf("# frames      %9llu, %.0f records each\n",
                 (unsigned long long)sums->frames,
                 (double)records / (double)sums->frames);
    (void)printf("# a record (all): %.3f B\n",
                 (double)sums->stored / (double)records);
    (void)printf("# an event, streams in full frames: packed %.3f B, zstd "
                 "%.3f B\n",
                 (double)sums->full[0] / n, (double)sums->full[1] / n);
    (void)printf("events %llu stored %llu B packed %.3f B zstd %.3f B\n",
                 (unsigned long long)events, (unsigned long long)sums->stored,
                 (double)sums->stored / n, (double)sums->zstd / n);
}

int main(int argc, char **argv)
{
    size_t rows = (size_t)CK_FRAME_UNITS_MAX * CK_UNIT_BYTES;
    struct sums sums = {.writer = ck_batch_writer_create(),
                        .scratch = aligned_alloc(64, rows),
                        .packed_room =
                            ck_pack_bound(CK_PACK_ZSTD, CK_FRAME_RAW_MAX)};
    int rc = 1;

    sums.pending.rows = aligned_alloc(64, rows);
    sums.packed = malloc(sums.packed_room);
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bytes RUN\n");
        rc = 2;
    } else if (sums.writer == NULL || sums.scratch == NULL ||
               sums.packed == NULL || sums.pending.rows == NULL) {
        (void)fprintf(stderr, "bytes: out of memory\n");
    } else if (walk_run(argv[1], frame_take, &sums) == 0 && sums.frames > 0) {
        pending_flush(&sums);
        sums_print(&sums);
        rc = 0;
    }
    ck_batch_writer_destroy(sums.writer);
    free(sums.scratch);
    free(sums.packed);
    free(sums.pending.rows);
    return rc;
}
