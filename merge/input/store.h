/* store.h - a run directory as streams of frames
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening reads every frame twice: once to find and order the frames of each
 * stream (overlaps of re-cut frames are trimmed by position), once for what
 * the records say about the cast and the clocks, and for the time that each
 * frame begins at. Only offsets and texts are kept.
 */
#ifndef CK_MERGE_INPUT_STORE_H
#define CK_MERGE_INPUT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/input/manifest.h"
#include "merge/input/stream.h"
#include "merge/model/cast.h"
#include "merge/model/clocktaker.h"
#include "schema/err.h"
#include "schema/event.h"
#include "schema/store/segment.h"

/* What is wrong with the files. */
struct store_damage {
    uint64_t places; /* that did not verify as frames */
    uint64_t bytes;
    uint64_t tails;     /* files that end in half a frame (torn write) */
    uint64_t batches;   /* frames whose batch did not decode */
    char first[256];    /* the first place, as a sentence; "" = none */
    char manifest[256]; /* what is wrong with the manifest; "" = nothing, or
                           the run has none to have */
};

struct store;
/* Open a run, or one file. Fills `cast` (borrowed, not yet closed), and hands
 * its clock facts to `clocks`. NULL with err: no such directory, nothing in it,
 * nothing readable in it. */
struct store *store_create(const char *dir,
                           struct cast *cast,
                           struct clocktaker clocks,
                           struct ck_err *err);
/* Open several runs and single segments as one. */
struct store *store_create_all(const char *const *paths,
                               size_t count,
                               struct cast *cast,
                               struct clocktaker clocks,
                               struct ck_err *err);
void store_destroy(struct store *store);

size_t store_streams(const struct store *store);
const struct store_stream *store_stream(const struct store *store, size_t at);
const struct store_damage *store_damage(const struct store *store);
/* What ckagg said of clock probes. */
const struct manifest_probes *store_probes(const struct store *store);
/* True when the job had not ended when the run was opened: its manifest says
 * so, and its files still grow. */
bool store_is_running(const struct store *store);
/* Bytes of all frames. */
uint64_t store_bytes(const struct store *store);

/* Decode a frame, without what is trimmed; records of classes whose bit is not
 * set may be left out. rows->bytes grows as needed and is the caller's to free.
 * 0, or -1 with err. */
int store_read(struct store *store,
               const struct store_frame *frame,
               uint32_t classes,
               struct store_rows *rows,
               struct ck_err *err);

struct pieces;
/* Begin to read a frame piece by piece (pieces.h). 0, or -1 with err. */
int store_pieces_open(struct store *store,
                      struct pieces *pieces,
                      const struct store_frame *frame,
                      uint32_t classes,
                      struct ck_err *err);

#endif
