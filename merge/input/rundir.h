/* rundir.h - a run directory as streams of frames
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening reads every frame twice: once to find and order the frames of each
 * stream (overlaps of re-cut frames are trimmed by position), once for the
 * facts in the records about the definitions and the clocks, and for the time
 * that each frame begins at. Only offsets and texts are kept.
 */
#ifndef CK_MERGE_INPUT_RUNDIR_H
#define CK_MERGE_INPUT_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/input/manifest.h"
#include "merge/input/stream.h"
#include "merge/model/defs.h"
#include "merge/model/clocktaker.h"
#include "schema/err.h"
#include "schema/event.h"
#include "schema/store/segment.h"

/* What is wrong with the files. */
struct rundir_damage {
    uint64_t places; /* that did not verify as frames */
    uint64_t bytes;
    uint64_t tails;     /* files that end in half a frame (torn write) */
    uint64_t batches;   /* frames whose batch did not decode */
    char first[256];    /* the first place, as a sentence; "" = none */
    char manifest[256]; /* what is wrong with the manifest; "" = nothing, or
                           the run has none to have */
};

struct rundir;
/* Open a run, or one file. Fills `defs` (borrowed, not yet closed), and hands
 * its clock facts to `clocks`. NULL with err: no such directory, nothing in it,
 * nothing readable in it. */
struct rundir *rundir_create(const char *dir,
                             struct defs *defs,
                             struct clocktaker clocks,
                             struct ck_err *err);
/* What is read for a question. */
struct rundir_question {
    uint32_t classes; /* 1 << class; others are not looked at, and frames do not
                         seem to have any */
    bool is_recent;   /* nor are frames without definitions, but for the first
                         and the last ones of each stream */
    bool is_longer;   /* all behind the tails of the index are read, too */
    const void *index; /* frameindex.h, checked, borrowed; NULL = none: the
                          headers of all frames are walked */
};
/* The same for a question. */
struct rundir *rundir_create_of(const char *dir,
                                struct defs *defs,
                                struct clocktaker clocks,
                                const struct rundir_question *question,
                                struct ck_err *err);
/* Open several runs and single segments as one. */
struct rundir *rundir_create_all(const char *const *paths,
                                 size_t count,
                                 struct defs *defs,
                                 struct clocktaker clocks,
                                 struct ck_err *err);
void rundir_destroy(struct rundir *rundir);

size_t rundir_streams(const struct rundir *rundir);
const struct rundir_stream *rundir_stream(const struct rundir *rundir,
                                          size_t at);
const struct rundir_damage *rundir_damage(const struct rundir *rundir);
/* What ckagg counted of clock probes. */
const struct manifest_probes *rundir_probes(const struct rundir *rundir);
/* True when the job had not ended when the run was opened: by its manifest,
 * and its files still grow. */
bool rundir_is_running(const struct rundir *rundir);
/* True when the index is not one of these files: what was read is not all that
 * a question needs. */
bool rundir_is_misled(const struct rundir *rundir);
/* Bytes of all frames that were entered. */
uint64_t rundir_bytes(const struct rundir *rundir);

/* Decode a frame, without what is trimmed; records of classes whose bit is not
 * set may be left out. rows->bytes grows as needed and is the caller's to free.
 * 0, or -1 with err. */
int rundir_read(struct rundir *rundir,
                const struct store_frame *frame,
                uint32_t classes,
                struct store_rows *rows,
                struct ck_err *err);

struct pieces;
/* Begin to read a frame piece by piece (pieces.h). 0, or -1 with err. */
int rundir_pieces_open(struct rundir *rundir,
                       struct pieces *pieces,
                       const struct store_frame *frame,
                       uint32_t classes,
                       struct ck_err *err);

#endif
