/* survey.h - when a frame's records were, and what with, without the records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Gathers what the first reading asks of records that are handed out one by
 * one only later: times, classes, devices. Nothing reaches the definitions
 * before the whole frame is known to decode.
 */
#ifndef CK_MERGE_INPUT_SURVEY_H
#define CK_MERGE_INPUT_SURVEY_H

#include "merge/input/facts.h"
#include "merge/input/stream.h"
#include "schema/batch/wire.h"

/* Classes that it takes by column. */
#define SURVEY_CLASSES                                                         \
    ((uint32_t)1 << CK_CLASS_MARK | (uint32_t)1 << CK_CLASS_CALL |             \
     (uint32_t)1 << CK_CLASS_MESSAGE | (uint32_t)1 << CK_CLASS_COLLECTIVE |    \
     (uint32_t)1 << CK_CLASS_KERNEL | (uint32_t)1 << CK_CLASS_COPY |           \
     (uint32_t)1 << CK_CLASS_SAMPLE | (uint32_t)1 << CK_CLASS_AWAIT |          \
     (uint32_t)1 << CK_CLASS_TEAM | (uint32_t)1 << CK_CLASS_STACKED)

/* Devices of one frame that wait for its end; more go to the definitions at
 * once. */
#define SURVEY_DEVICES 16
#define SURVEY_PIECES (CK_FRAME_RECORDS_MAX / CK_BATCH_PIECE + 1)

struct survey {
    struct defs *defs; /* borrowed */
    struct facts_source source;
    uint32_t records;
    uint32_t classes;     /* 1 << class */
    struct stamps starts; /* of all records */
    struct stamps whole;  /* of those with a length: start, end */
    struct stamps steps;
    struct stamps init;
    struct stamps finalize;
    struct {
        uint32_t name;
        struct stamps *stamps; /* NULL = a call like others */
    } known;                   /* the MPI call looked at last */
    uint32_t devices[SURVEY_DEVICES];
    size_t devices_count;
    bool has_rows; /* records whose pieces are not known */
    /* Earliest start in each piece. */
    int64_t first[SURVEY_PIECES];
    uint32_t pieces;
};

/* Names of the frame are in the definitions already. */
void survey_begin(struct survey *survey,
                  struct defs *defs,
                  const struct facts_source *source);
/* A ck_batch_take_f. */
void survey_take(void *state, const struct ck_batch_columns *columns);
/* One record that is read as such. */
void survey_row(struct survey *survey, const struct ck_event *event);
/* Enter what was gathered. */
void survey_commit(struct survey *survey);
/* Keep when the frame's pieces begin, if that is worth it. */
void survey_bounds(const struct survey *survey,
                   struct rundir_stream *stream,
                   struct store_frame *frame);

#endif
