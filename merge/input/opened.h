/* opened.h - one frame of a file: found, unpacked, decoded
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by what reads a store.
 */
#ifndef CK_MERGE_INPUT_OPENED_H
#define CK_MERGE_INPUT_OPENED_H

#include "merge/input/stream.h"
#include "schema/batch/wire.h"
#include "schema/store/segment.h"

/* Where frames come from. */
struct opener {
    struct ck_segment_reader **readers; /* one a file */
    char **paths;
    void *unpacked;
    size_t unpacked_room;
};

/* A frame's bytes, unpacked, and what was read of them. */
struct opened {
    struct ck_frame_header header;
    const void *payload; /* borrowed until the next one is opened */
    size_t bytes;
    struct ck_batch_info info;
};

/* After what failed: memory_out() where errno is ENOMEM, for the file is not
 * damaged then. Set errno to 0 before what need not set it. */
void opened_short(size_t bytes);
/* The same, else what was there when the file was surveyed is not there now: -1
 * with err. */
int opened_lost(const char *path, size_t bytes, struct ck_err *err);

/* 0, or -1 with err. */
int opened_open(struct opened *opened,
                struct opener *opener,
                const struct store_frame *frame,
                struct ck_err *err);
/* Decode these classes, without what the frame trims: then all of them. 0, or
 * -1 with err. */
int opened_decode(struct opened *opened,
                  const struct store_frame *frame,
                  uint32_t classes,
                  struct store_rows *rows,
                  struct ck_err *err);
/* Room for so many bytes of rows. */
void rows_room(void **bytes, size_t *room, size_t wanted);

#endif
