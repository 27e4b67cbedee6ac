/* walk.c - all frames of a stored run, for the benchmarks of its size
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/bench/walk.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/batch/pack.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"

/* Room for the largest frame, unpacked, and for its records. */
struct rooms {
    void *payload;
    void *rows;
    size_t rows_bytes;
};

static int frame_visit(const struct rooms *rooms,
                       struct walk_frame *frame,
                       const void *payload,
                       walk_f *visit,
                       void *arg)
{
    struct ck_err err;

    frame->payload = payload;
    frame->rows = rooms->rows;
    if (frame->header.pack != CK_PACK_NONE) {
        frame->payload = rooms->payload;
        if (frame->header.raw > CK_FRAME_RAW_MAX ||
            ck_unpack((enum ck_pack)frame->header.pack, payload,
                      frame->header.length, rooms->payload, frame->header.raw,
                      &err) != 0) {
            return -1;
        }
    }
    if (ck_batch_decode(frame->payload, frame->header.raw, &frame->info,
                        rooms->rows, rooms->rows_bytes, &err) != 0) {
        (void)fprintf(stderr, "walk: %s\n", err.text);
        return -1;
    }
    frame->rows_bytes = (size_t)frame->info.units * CK_UNIT_BYTES;
    visit(frame, arg);
    return 0;
}

static int
file_walk(const char *path, const struct rooms *rooms, walk_f *visit, void *arg)
{
    struct ck_err err;
    struct ck_segment_reader *reader = ck_segment_reader_create(path, &err);
    struct walk_frame frame;
    const void *payload;
    int rc = 1;

    if (reader == NULL) {
        (void)fprintf(stderr, "walk: %s\n", err.text);
        return -1;
    }
    while (rc == 1) {
        rc = ck_segment_next(reader, &frame.header, &payload);
        if (rc == 1 && frame_visit(rooms, &frame, payload, visit, arg) != 0) {
            rc = -1;
        }
    }
    ck_segment_reader_destroy(reader);
    return rc;
}

int walk_run(const char *dir, walk_f *visit, void *arg)
{
    size_t rows_bytes = (size_t)CK_FRAME_UNITS_MAX * CK_UNIT_BYTES;
    struct rooms rooms = {.payload = malloc(CK_FRAME_RAW_MAX),
                          .rows = aligned_alloc(64, rows_bytes),
                          .rows_bytes = rows_bytes};
    struct ck_run_files files;
    struct ck_err err;
    int rc = 0;

    if (ck_run_files(dir, &files, &err) != 0) {
        (void)fprintf(stderr, "walk: %s\n", err.text);
        return -1;
    }
    if (rooms.payload == NULL || rooms.rows == NULL) {
        (void)fprintf(stderr, "walk: out of memory\n");
        rc = -1;
    }
    for (size_t i = 0; rc == 0 && i < files.count; i++) {
        rc = file_walk(files.paths[i], &rooms, visit, arg);
    }
    ck_run_files_free(&files);
    free(rooms.payload);
    free(rooms.rows);
    return rc;
}
