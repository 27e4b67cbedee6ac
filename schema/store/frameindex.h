/* frameindex.h - which frames of a running job show what is now
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ckagg knows it from storing them, and gives it to the ckmerge that answers
 * `ckagg --where`: what that reads does not grow with the age of the job. It
 * goes from one process to the other in memory and is no file of a run.
 *
 *     head, then for each segment: file, its streams, its rows
 *
 * Rows are in the order of the file. What they do not have between two frames
 * of a stream was stored without a gap, and may be left out.
 */
#ifndef CK_SCHEMA_STORE_FRAMEINDEX_H
#define CK_SCHEMA_STORE_FRAMEINDEX_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"
#include "schema/frame.h"

/* Frames of a stream that are always among the rows: its first ones, its last
 * ones, and of the collector's stream the last ones that have clock facts. A
 * question reads these, as many of the last ones as it needs. */
#define CK_RECENT_FIRST 3
#define CK_RECENT_MOST 32
#define CK_RECENT_CLOCKS 4

#define CK_FRAMEINDEX_MAGIC 0x31494b43u /* "CKI1" */

struct ck_frameindex_head {
    uint32_t magic;
    uint32_t files;
    uint64_t bytes;  /* of all, with this head */
    uint32_t crc;    /* crc32c of all of it (crc = 0) */
    uint32_t unused; /* 0 */
};

/* A segment of one agent. */
struct ck_frameindex_file {
    uint8_t agent[16];
    uint64_t end;     /* bytes that the rows are of */
    uint64_t tail;    /* where a frame begins, at most some MB before the end */
    uint32_t streams; /* that follow */
    uint32_t rows;    /* that follow these */
};

struct ck_frameindex_stream {
    struct ck_stream name;
    uint32_t skipped; /* classes of its frames that are not among the rows */
    uint32_t unused;  /* 0 */
};

/* A frame. */
struct ck_frameindex_row {
    uint64_t offset; /* in the segment */
    uint64_t first;  /* as its header has them: */
    uint32_t units;
    uint32_t records;
    uint32_t length;
    uint32_t classes;
    uint32_t stream;    /* number of its stream in the file's */
    uint32_t is_joined; /* 1 = what its stream has before it was there when it
                           was stored, up to its first unit */
};

static_assert(sizeof(struct ck_frameindex_head) == 24 &&
                  sizeof(struct ck_frameindex_file) == 40 &&
                  sizeof(struct ck_frameindex_stream) == 16 &&
                  sizeof(struct ck_frameindex_row) == 40,
              "no padding");

/* Fill in the head of so many bytes that are otherwise complete. */
void ck_frameindex_seal(void *index, size_t bytes, uint32_t files);
/* Look whether bytes (8-aligned) are an index. 0, or -1 with err. */
int ck_frameindex_check(const void *index, size_t bytes, struct ck_err *err);
/* Of one that was checked: what it has of the agent, NULL = nothing. */
const struct ck_frameindex_file *ck_frameindex_find(const void *index,
                                                    const uint8_t agent[16]);
/* Is a part of some segment before its tail? */
bool ck_frameindex_is_cut(const void *index);

const struct ck_frameindex_stream *
ck_frameindex_streams(const struct ck_frameindex_file *file);
const struct ck_frameindex_row *
ck_frameindex_rows(const struct ck_frameindex_file *file);

#endif
