/* survey.c - when a frame's records were, and what with, without the records
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/survey.h"

#include <string.h>

#include "merge/model/array.h"

void survey_begin(struct survey *survey,
                  struct defs *defs,
                  const struct facts_source *source)
{
    survey->defs = defs;
    survey->source = *source;
    survey->records = 0;
    survey->classes = 0;
    survey->devices_count = 0;
    survey->has_rows = false;
    survey->pieces = 0;
    survey->known.name = 0;
    survey->known.stamps = NULL;
    stamps_init(&survey->starts);
    stamps_init(&survey->whole);
    stamps_init(&survey->steps);
    stamps_init(&survey->init);
    stamps_init(&survey->finalize);
}

/* What is kept of an MPI call with that name; NULL = nothing. */
static struct stamps *call_stamps(struct survey *survey, uint32_t id)
{
    const struct defs *defs = survey->defs;
    const char *name = defs_name(defs, survey->source.process, id);

    if (name == NULL || strncmp(name, "MPI_", 4) != 0) {
        return NULL;
    }
    if (strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0) {
        return &survey->init;
    }
    return strcmp(name, "MPI_Finalize") == 0 ? &survey->finalize : NULL;
}

static inline bool is_ticks(const struct survey *survey,
                            const struct ck_batch_columns *columns,
                            unsigned i)
{
    return survey->source.is_ticks && (columns->flags[i] & CK_FLAG_RAW) == 0;
}

static inline int64_t end_of(const struct ck_batch_columns *columns, unsigned i)
{
    return (int64_t)((uint64_t)columns->start[i] + (uint64_t)columns->dur[i]);
}

/* Steps, and the calls that MPI begins and ends with. */
static void kinds_take(struct survey *survey,
                       const struct ck_batch_columns *columns)
{
    for (unsigned i = 0; i < columns->count; i++) {
        struct stamps *stamps = NULL;

        if (columns->kind[i] == CK_KIND_STEP) {
            stamps = &survey->steps;
        } else if (columns->kind[i] == CK_KIND_MPI_CALL) {
            if (survey->known.name != columns->name[i]) {
                survey->known.name = columns->name[i];
                survey->known.stamps = call_stamps(survey, columns->name[i]);
            }
            stamps = survey->known.stamps;
        }
        if (stamps != NULL) {
            stamps_add(stamps, is_ticks(survey, columns, i), columns->start[i],
                       end_of(columns, i));
        }
    }
}

static void devices_take(struct survey *survey,
                         const struct ck_batch_columns *columns)
{
    for (unsigned i = 0; i < columns->count; i++) {
        uint32_t device = columns->device[i];
        size_t at = survey->devices_count;

        while (at > 0 && survey->devices[at - 1] != device) {
            at--;
        }
        if (at > 0) {
            continue;
        }
        if (survey->devices_count < SURVEY_DEVICES) {
            survey->devices[survey->devices_count++] = device;
        } else {
            facts_device(survey->defs, &survey->source, device);
        }
    }
}

/* Whether all records of a piece have the same clock; which one, in *ticks. */
static bool is_one_clock(const struct survey *survey,
                         const struct ck_batch_columns *columns,
                         bool *ticks)
{
    uint8_t any = 0;
    uint8_t all = CK_FLAG_RAW;

    *ticks = false;
    if (!survey->source.is_ticks) {
        return true;
    }
    for (unsigned i = 0; i < columns->count; i++) {
        any |= columns->flags[i] & CK_FLAG_RAW;
        all &= columns->flags[i];
    }
    *ticks = any == 0;
    return any == all;
}

/* First and last of the starts, and the last end. */
static void times_take(struct survey *survey,
                       const struct ck_batch_columns *columns,
                       bool ticks)
{
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    int64_t end = INT64_MIN;

    for (unsigned i = 0; i < columns->count; i++) {
        int64_t start = columns->start[i];
        int64_t its = end_of(columns, i);

        first = start < first ? start : first;
        last = start > last ? start : last;
        end = its > end ? its : end;
    }
    stamps_add(&survey->starts, ticks, first, last);
    while (survey->pieces <= columns->piece) {
        survey->first[survey->pieces++] = INT64_MAX;
    }
    if (first < survey->first[columns->piece]) {
        survey->first[columns->piece] = first;
    }
    if (ck_class_has_length(columns->cls)) {
        stamps_add(&survey->whole, ticks, first, end);
    }
}

void survey_take(void *state, const struct ck_batch_columns *columns)
{
    struct survey *survey = state;
    bool ticks;

    survey->records += columns->count;
    survey->classes |= (uint32_t)1 << columns->cls;
    if (is_one_clock(survey, columns, &ticks)) {
        times_take(survey, columns, ticks);
    } else {
        for (unsigned i = 0; i < columns->count; i++) {
            struct ck_batch_columns one = *columns;

            one.count = 1;
            one.start += i;
            one.dur += i;
            times_take(survey, &one, is_ticks(survey, columns, i));
        }
    }
    if (columns->cls == CK_CLASS_MARK || columns->cls == CK_CLASS_CALL) {
        kinds_take(survey, columns);
    }
    if (columns->device != NULL) {
        devices_take(survey, columns);
    }
}

void survey_row(struct survey *survey, const struct ck_event *event)
{
    static const int64_t none;
    struct ck_batch_columns columns = {.cls = ck_kind_class(event->kind),
                                       .count = 1,
                                       .kind = &event->kind,
                                       .flags = &event->flags,
                                       .name = &event->name,
                                       .start = &event->start,
                                       .dur = &none};

    if (ck_class_has_length(columns.cls)) {
        columns.dur = &((const struct ck_mark *)event)->dur;
    }
    if (columns.cls == CK_CLASS_KERNEL) {
        columns.device = &((const struct ck_kernel *)event)->device;
    } else if (columns.cls == CK_CLASS_COPY) {
        columns.device = &((const struct ck_copy *)event)->device;
    }
    survey->has_rows = true;
    survey_take(survey, &columns);
}

static void stamps_join(struct stamps *into, const struct stamps *from)
{
    for (unsigned clock = 0; clock < 2; clock++) {
        stamps_add(into, clock == 1, from->first[clock], from->last[clock]);
    }
}

void survey_commit(struct survey *survey)
{
    struct defs_process *process =
        &survey->defs->processes[survey->source.process];

    stamps_join(&process->whole, &survey->whole);
    stamps_join(&process->steps, &survey->steps);
    stamps_join(&process->init, &survey->init);
    stamps_join(&process->finalize, &survey->finalize);
    for (size_t i = 0; i < survey->devices_count; i++) {
        facts_device(survey->defs, &survey->source, survey->devices[i]);
    }
}

/* What no record from a piece on begins before, as distances from the frame's
 * first start. */
static void bounds_fill(const struct survey *survey,
                        const struct store_frame *frame,
                        int64_t first,
                        uint16_t *bounds)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = survey->pieces; i-- > 0;) {
        uint64_t after = (uint64_t)survey->first[i] - (uint64_t)first;

        least = after < least ? after : least;
        bounds[i] = least >> frame->shift > UINT16_MAX
                        ? UINT16_MAX
                        : (uint16_t)(least >> frame->shift);
    }
}

void survey_bounds(const struct survey *survey,
                   struct rundir_stream *stream,
                   struct store_frame *frame)
{
    const struct stamps *starts = &survey->starts;
    bool is_ticks = starts->first[1] <= starts->last[1];
    bool is_one = !is_ticks || starts->first[0] > starts->last[0];
    uint64_t span =
        (uint64_t)starts->last[is_ticks] - (uint64_t)starts->first[is_ticks];

    frame->bounds = 0;
    if (survey->pieces < 2 || survey->has_rows || !is_one ||
        stream->bounds_count > UINT32_MAX - SURVEY_PIECES) {
        return;
    }
    while (stream->bounds_room - stream->bounds_count < survey->pieces) {
        array_grow(&stream->bounds, &stream->bounds_room, stream->bounds_room,
                   sizeof(*stream->bounds));
    }
    while (span >> frame->shift > UINT16_MAX) {
        frame->shift++;
    }
    frame->bound = (uint32_t)stream->bounds_count;
    frame->bounds = (uint16_t)survey->pieces;
    bounds_fill(survey, frame, starts->first[is_ticks],
                stream->bounds + stream->bounds_count);
    stream->bounds_count += survey->pieces;
}
