/* reading.c - the first reading of a stream: facts, times and classes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/reading.h"

#include <errno.h>
#include <stdlib.h>

/* The process of the stream and the thread of the frame. */
static void frame_bind(struct rundir_stream *stream,
                       struct store_frame *frame,
                       struct defs *defs,
                       const struct ck_batch_info *info)
{
    if (stream->process == DEFS_NONE) {
        stream->process =
            defs_process_find(defs, stream->agent, stream->incarnation);
    }
    if (defs->processes[stream->process].pid == 0) {
        defs->processes[stream->process].pid = info->pid;
    }
    frame->thread = defs_thread_find(defs, stream->process, info->tid);
}

static bool is_timed(enum ck_class cls)
{
    return cls != CK_CLASS_TEXT && cls != CK_CLASS_MODULE &&
           cls != CK_CLASS_CLOCK && cls != CK_CLASS_OPEN;
}

/* Classes that are read as records at once: they are about the definitions. */
#define FACTS                                                                  \
    ((uint32_t)1 << CK_CLASS_TEXT | (uint32_t)1 << CK_CLASS_MODULE |           \
     (uint32_t)1 << CK_CLASS_CLOCK | (uint32_t)1 << CK_CLASS_OPEN |            \
     (uint32_t)1 << CK_CLASS_COUNTER)

/* Records with facts of their own. */
static void rows_read(struct reading *reading)
{
    const uint8_t *at = reading->rows.bytes;
    const uint8_t *end = at + reading->rows.used;

    reading->others = 0;
    for (; at < end;
         at += (size_t)((const struct ck_event *)at)->units * CK_UNIT_BYTES) {
        const struct ck_event *event = (const struct ck_event *)at;

        if (is_timed(ck_kind_class(event->kind))) {
            survey_row(&reading->survey, event);
        } else {
            reading->others++;
        }
        facts_read(reading->defs, &reading->clocks, &reading->survey.source,
                   event);
    }
}

/* Keep what was found. */
static void reading_commit(struct reading *reading,
                           const struct opened *opened,
                           struct store_frame *frame)
{
    struct defs_agent *agent = &reading->defs->agents[reading->stream->agent];
    struct defs_process *process =
        &reading->defs->processes[reading->stream->process];
    const struct survey *survey = &reading->survey;

    process->events += survey->records;
    process->bytes += ck_frame_bytes(&opened->header);
    frame->records = survey->records;
    frame->classes = survey->classes;
    frame->stamps = survey->starts;
    agent->events += survey->records;
    agent->records += survey->records + reading->others;
    if (agent->has_exit && reading->stream->slot == CK_SLOT_COLLECTOR) {
        agent->records_late += survey->records + reading->others;
    }
    agent->units += frame->is_thin ? 0 : frame->units - frame->trim;
    if (opened->header.pack == CK_PACK_NONE && frame->trim == 0) {
        survey_bounds(survey, reading->stream, frame);
    }
    survey_commit(&reading->survey);
}

/* Units of the texts among the facts. */
static uint64_t texts_held(const struct store_rows *rows)
{
    const uint8_t *at = rows->bytes;
    const uint8_t *end = at + rows->used;
    uint64_t units = 0;

    while (at < end) {
        const struct ck_event *event = (const struct ck_event *)at;

        if (ck_class_units(ck_kind_class(event->kind)) == 0) {
            units += event->units;
        }
        at += (size_t)event->units * CK_UNIT_BYTES;
    }
    return units;
}

/* A frame's header, batch and records may contradict each other, by the process
 * that sealed it. Such a one is left out before its figures are used. A thin
 * frame keeps the place of the one that it is of. */
static bool is_true(const struct opened *opened,
                    const struct store_frame *frame,
                    const struct store_rows *rows,
                    struct ck_err *err)
{
    const struct ck_frame_header *header = &opened->header;
    const struct ck_batch_info *info = &opened->info;
    uint64_t held = info->held + texts_held(rows);

    if (frame->is_thin || frame->trim > 0 ||
        (header->units == info->units && header->records == info->records &&
         info->counted == info->records && held <= header->units)) {
        return true;
    }
    (void)ck_err_set(err,
                     "frame announces %u records in %u units, it has %u in "
                     "%llu or more",
                     header->records, header->units, info->counted,
                     (unsigned long long)held);
    return false;
}

/* Has the frame anything to survey? Of what is read in part. */
static bool has_surveyed(const struct reading *reading,
                         const struct ck_frame_header *header)
{
    return !reading->is_recent || header->classes == 0 ||
           (header->classes & SURVEY_CLASSES & reading->classes) != 0;
}

/* Is it the frame that the index has? */
static bool is_listed_true(const struct store_frame *frame,
                           const struct ck_frame_header *header)
{
    return header->first == frame->first && header->units == frame->units &&
           header->records == frame->records &&
           header->classes == frame->classes;
}

bool reading_frame(struct reading *reading,
                   struct store_frame *frame,
                   struct ck_err *err)
{
    struct rundir_stream *stream = reading->stream;
    struct ck_batch_info scanned = {0};
    struct facts_source source;
    struct opened opened;
    int rc;

    opened.header.records = 0;
    rc = opened_open(&opened, reading->opener, frame, err);
    reading->is_misled |=
        frame->is_listed && (rc != 0 || !is_listed_true(frame, &opened.header));
    reading->told = opened.header.records;
    if (rc != 0 ||
        opened_decode(&opened, frame, FACTS & reading->classes, &reading->rows,
                      err) != 0 ||
        !is_true(&opened, frame, &reading->rows, err)) {
        return false;
    }
    frame_bind(stream, frame, reading->defs, &opened.info);
    source = (struct facts_source){stream->agent, stream->process,
                                   reading->rows.is_ticks};
    survey_begin(&reading->survey, reading->defs, &source);
    rows_read(reading);
    errno = 0;
    if (frame->trim == 0 && has_surveyed(reading, &opened.header) &&
        ck_batch_scan(opened.payload, opened.bytes,
                      SURVEY_CLASSES & reading->classes, &scanned, survey_take,
                      &reading->survey, err) != 0) {
        opened_short(opened.bytes);
        return false;
    }
    reading->defs->agents[stream->agent].unknown +=
        opened.info.skipped + scanned.skipped;
    reading_commit(reading, &opened, frame);
    return true;
}

void reading_fini(struct reading *reading)
{
    free(reading->rows.bytes);
}
