/* opencalls.c - calls that were entered and never left
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/opencalls.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/timeline/unknowntail.h"

static bool is_host_call(unsigned kind)
{
    enum ck_class cls = ck_kind_class(kind);

    return cls == CK_CLASS_CALL || cls == CK_CLASS_MESSAGE ||
           cls == CK_CLASS_COLLECTIVE;
}

/* True when one of the rows is the record of the call. */
static bool rows_complete(const struct store_rows *rows,
                          const struct defs_open *open)
{
    const uint8_t *at = rows->bytes;
    const uint8_t *end = at + rows->used;

    while (at < end) {
        const struct ck_call *call = (const struct ck_call *)at;

        /* The number is at the same place in all three classes. */
        if (is_host_call(call->e.kind) && call->call == open->open.call &&
            call->e.start == open->start) {
            return true;
        }
        at += (size_t)call->e.units * CK_UNIT_BYTES;
    }
    return false;
}

_Static_assert(offsetof(struct ck_message, call) ==
                       offsetof(struct ck_call, call) &&
                   offsetof(struct ck_collective, call) ==
                       offsetof(struct ck_call, call),
               "one place for the number");

/* Begun before all is there (--keep): its record may be discarded, and no
 * record at the end of its thread shows it open. */
static bool is_doubtful(const struct defs_agent *agent,
                        const struct defs_open *open)
{
    return agent->discarded.segments > 0 &&
           (open->open.e.flags & CK_FLAG_CUT) == 0 &&
           open->start <= agent->discarded.until.last[open->is_ticks];
}

/* A later record of the thread shows that it had left the call, or was in
 * another one within it: that it is open is not known. */
static bool is_later(const struct store_frame *frame,
                     const struct defs_open *open)
{
    return !frame->is_thin && frame->stamps.last[open->is_ticks] > open->start;
}

/* Some frames of the thread were not read. A later record of it than the look
 * that saw the call: it is not the last look, and the call's own record may be
 * in one of those. */
static bool is_past(const struct rundir_stream *stream,
                    const struct store_frame *frame,
                    const struct defs_open *open)
{
    return stream->skipped != 0 && !frame->is_thin &&
           frame->stamps.last[open->is_ticks] > open->open.seen;
}

/* Only a frame that holds a record of that very start can complete it. */
static int open_check(struct rundir *store,
                      const struct rundir_stream *stream,
                      const struct defs *defs,
                      struct defs_open *open,
                      struct ck_err *err)
{
    struct store_rows rows = {0};
    int rc = 0;

    for (size_t i = 0;
         rc == 0 && !open->is_completed && i < stream->frames_count; i++) {
        const struct store_frame *frame = &stream->frames[i];

        if (frame->is_skipped ||
            defs->threads[frame->thread].tid != open->open.tid) {
            continue;
        }
        if ((is_doubtful(&defs->agents[stream->agent], open) &&
             is_later(frame, open)) ||
            is_past(stream, frame, open)) {
            open->is_completed = true;
        }
        if (open->start < frame->stamps.first[open->is_ticks] ||
            open->start > frame->stamps.last[open->is_ticks]) {
            continue;
        }
        rc = rundir_read(store, frame, UINT32_MAX, &rows, err);
        open->is_completed = rc == 0 && rows_complete(&rows, open);
    }
    free(rows.bytes);
    return rc;
}

/* An agent that lived to its end has recorded again what was open then. */
static void doubts_settle(struct defs_agent *agent)
{
    for (size_t i = 0; i < agent->opens_count && agent->has_exit; i++) {
        if (is_doubtful(agent, &agent->opens[i])) {
            agent->opens[i].is_completed = true;
        }
    }
}

int opencalls_check(struct rundir *store, struct defs *defs, struct ck_err *err)
{
    for (size_t i = 0; i < defs->agents_count; i++) {
        doubts_settle(&defs->agents[i]);
    }
    for (size_t s = 0; s < rundir_streams(store); s++) {
        const struct rundir_stream *stream = rundir_stream(store, s);
        struct defs_agent *agent = &defs->agents[stream->agent];

        for (size_t i = 0; i < agent->opens_count; i++) {
            struct defs_open *open = &agent->opens[i];

            if (open->open.incarnation == stream->incarnation &&
                !open->is_completed &&
                open_check(store, stream, defs, open, err) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static void opencalls_fill(const struct ck_open *open,
                           struct opencalls *opencalls)
{
    struct ck_call *call = &opencalls->record.call;

    memset(opencalls, 0, sizeof(*opencalls));
    call->e.kind = (uint16_t)open->kind;
    call->e.units =
        (uint8_t)ck_class_units((unsigned)ck_kind_class(open->kind));
    call->e.flags = CK_FLAG_CUT;
    call->e.name = open->e.name;
    call->site = open->site;
    call->call = open->call;
    call->object = open->object;
    if (ck_kind_class(open->kind) == CK_CLASS_MESSAGE) {
        bool is_said = open->tag != 0;

        opencalls->record.message.peer = is_said ? (int32_t)open->seq : -1;
        opencalls->record.message.tag = is_said ? (int32_t)(open->tag - 2) : -1;
    }
    if (ck_kind_class(open->kind) == CK_CLASS_COLLECTIVE) {
        opencalls->record.collective.seq = open->seq;
        opencalls->record.collective.root =
            open->tag == 0 ? -1 : (int32_t)(open->tag - 2);
    }
}

/* The process that the call is of; DEFS_NONE = not in the run. */
static uint32_t process_of(const struct defs *defs,
                           uint32_t agent,
                           const struct defs_open *open)
{
    uint32_t found = DEFS_NONE;

    for (uint32_t i = 0; i < defs->processes_count; i++) {
        if (defs->processes[i].agent == agent &&
            defs->processes[i].incarnation == open->open.incarnation) {
            found = i;
        }
    }
    return found;
}

struct region opencalls_part(const struct axis *axis,
                             const struct defs *defs,
                             uint32_t agent,
                             const struct defs_open *open)
{
    uint32_t process = process_of(defs, agent, open);
    struct region part = {
        axis_time(axis, agent, open->is_ticks, open->start),
        axis_time(axis, agent, open->is_ticks, open->open.seen)};
    ck_time_t end;

    /* A ring is read, and its calls seen, behind the end of its process, too.
     */
    if (process != DEFS_NONE && unknowntail_ended(defs, axis, process, &end)) {
        part.end = end;
    }
    part.end = part.end > part.start ? part.end : part.start;
    return part;
}

/* The record of the call, its process and thread. */
static int opencalls_place(const struct defs *defs,
                           const struct axis *axis,
                           uint32_t agent,
                           const struct defs_open *open,
                           struct opencalls *opencalls)
{
    struct region part = opencalls_part(axis, defs, agent, open);

    opencalls->record.e.start = part.start;
    opencalls->record.call.dur = region_length(part);
    opencalls->process = process_of(defs, agent, open);
    opencalls->thread = DEFS_NONE;
    for (uint32_t i = 0; i < defs->threads_count; i++) {
        if (defs->threads[i].process == opencalls->process &&
            defs->threads[i].tid == open->open.tid) {
            opencalls->thread = i;
        }
    }
    return opencalls->process != DEFS_NONE && opencalls->thread != DEFS_NONE;
}

void opencalls_make(const struct defs *defs,
                    const struct axis *axis,
                    struct opencalls **cuts,
                    size_t *count)
{
    size_t room = 0;
    size_t used = 0;

    for (size_t i = 0; i < defs->agents_count; i++) {
        room += defs->agents[i].opens_count;
    }
    *cuts = xcalloc(room + 1, sizeof(**cuts));
    for (uint32_t a = 0; a < defs->agents_count; a++) {
        for (size_t i = 0; i < defs->agents[a].opens_count; i++) {
            const struct defs_open *open = &defs->agents[a].opens[i];

            if (open->is_completed || !is_host_call(open->open.kind)) {
                continue;
            }
            opencalls_fill(&open->open, &(*cuts)[used]);
            used +=
                (size_t)opencalls_place(defs, axis, a, open, &(*cuts)[used]);
        }
    }
    *count = used;
}
