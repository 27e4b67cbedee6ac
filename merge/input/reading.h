/* reading.h - the first reading of a stream: facts, times and classes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by rundir.c alone.
 */
#ifndef CK_MERGE_INPUT_READING_H
#define CK_MERGE_INPUT_READING_H

#include "merge/input/opened.h"
#include "merge/input/survey.h"

struct reading {
    struct opener *opener; /* all borrowed */
    struct defs *defs;
    struct clocktaker clocks;
    struct rundir_stream *stream;
    uint32_t classes; /* 1 << class; others are not looked at */
    bool is_recent;   /* only the end of each stream is */
    bool is_longer;   /* rundir_question */
    const void *index;
    bool is_misled;         /* what the index has is not there */
    struct store_rows rows; /* reused */
    struct survey survey;
    uint64_t others; /* records that the survey does not take */
    uint32_t told;   /* records by the frame's header */
};

/* Read a frame for the first time; false with err: it does not decode. */
bool reading_frame(struct reading *reading,
                   struct store_frame *frame,
                   struct ck_err *err);
void reading_fini(struct reading *reading);

#endif
