/* hoststall.c - times in which a host, or all of a job on it, did not run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *        reading                                       reading, late
 *           |    r r  r            silence            r  rr  |
 *           from      [start                        end)    to
 *
 * A suspicion is the time between two readings. Its silence is the longest
 * part in which no record of a host's thread (r) begins or ends. A device may
 * go on with what it has, so its records do not count. Where only the readings
 * are late, the silence must last as long as they are late.
 *
 * Silence alone may be work that nothing records, or sleep. It is proven by a
 * thread that was sampled shortly before and shortly after, and that
 *   - was not off its CPU, though its switches are recorded: the machine
 *     was stopped, or else it would have been sampled; or
 *   - waited in the kernel for just that time, and not because of a call: it
 *     was between calls, or had been sampled in this one before. It was
 *     stopped, unless another thread was ready to run meanwhile.
 * Records that were lost in the silence end the suspicion.
 */
#include "merge/analysis/history/hoststall.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"

/* Cells of a suspicion, each knows its first and last record. */
#define CELLS 1024
/* Readings are taken once a second; what they may be late for nothing. */
#define READING_EACH CK_TIME_S
#define READING_SLACK (200 * CK_TIME_MS)
#define SILENCE_MIN CK_TIME_MS
/* "Shortly" before or after: some periods of sampling. */
#define NEAR (200 * CK_TIME_MS)

enum mark {
    MARK_BEFORE = 1, /* sampled shortly before */
    MARK_AFTER = 2,
    MARK_OFF = 4,   /* off its CPU at some time of the silence */
    MARK_STOP = 8,  /* blocked from its start to its end, and no longer */
    MARK_CALL = 16, /* in a call all the time */
};

struct cell {
    ck_time_t first; /* INT64_MAX = no record */
    ck_time_t last;
};

struct suspicion {
    uint32_t domain;
    bool is_lost; /* records are known to be missing */
    bool is_busy; /* a thread was ready to run all the time */
    struct region whole;
    ck_time_t silence_min;
    struct region silence; /* found by the first reading */
    struct cell *cells;
    uint8_t *marks; /* by thread of the definitions; enum mark */
};

struct hoststall {
    const struct defs *defs;    /* borrowed */
    const struct history *host; /* borrowed */
    struct suspicion items[HOSTSTALL_MAX];
    size_t count;
    bool is_turned;
    bool *is_switched; /* by thread: its switches are recorded */
};

static void domain_suspect(struct hoststall *hoststall,
                           const struct align *align,
                           uint32_t domain,
                           uint32_t agent)
{
    struct clockwatch_event *events;
    size_t count;

    align_watch(align, domain, &events, &count);
    for (size_t i = 0; i < count; i++) {
        struct region on_axis = {
            axis_time(align_axis(align), agent, false, events[i].from),
            axis_time(align_axis(align), agent, false, events[i].to)};

        hoststall_suspect(hoststall, domain, &events[i], on_axis);
    }
    free(events);
}

struct hoststall *hoststall_create(const struct defs *defs,
                                   const struct align *align,
                                   const struct history *host)
{
    struct hoststall *hoststall = xcalloc(1, sizeof(*hoststall));

    hoststall->defs = defs;
    hoststall->host = host;
    hoststall->is_switched =
        xcalloc(defs->threads_count + 1, sizeof(*hoststall->is_switched));
    for (uint32_t domain = 0; domain < defs->domains_count; domain++) {
        uint32_t agent = 0;

        while (agent < defs->agents_count &&
               defs->agents[agent].domain != domain) {
            agent++;
        }
        if (agent < defs->agents_count) {
            domain_suspect(hoststall, align, domain, agent);
        }
    }
    return hoststall;
}

void hoststall_suspect(struct hoststall *hoststall,
                       uint32_t domain,
                       const struct clockwatch_event *event,
                       struct region on_axis)
{
    struct suspicion *item = &hoststall->items[hoststall->count];
    ck_time_t late = region_length(on_axis) - READING_EACH - READING_SLACK;

    if ((event->kind != CLOCKWATCH_PAUSE &&
         event->kind != CLOCKWATCH_SUSPEND) ||
        on_axis.start >= on_axis.end || hoststall->count == HOSTSTALL_MAX) {
        return;
    }
    *item = (struct suspicion){
        .domain = domain, .whole = on_axis, .silence_min = SILENCE_MIN};
    if (event->kind == CLOCKWATCH_PAUSE && late > SILENCE_MIN) {
        item->silence_min = late;
    }
    item->cells = xmalloc(CELLS * sizeof(*item->cells));
    item->marks = xcalloc(hoststall->defs->threads_count + 1, 1);
    hoststall->count++;
    for (size_t i = 0; i < CELLS; i++) {
        item->cells[i] = (struct cell){INT64_MAX, INT64_MIN};
    }
}

void hoststall_destroy(struct hoststall *hoststall)
{
    if (hoststall == NULL) {
        return;
    }
    for (size_t i = 0; i < hoststall->count; i++) {
        free(hoststall->items[i].cells);
        free(hoststall->items[i].marks);
    }
    free(hoststall->is_switched);
    free(hoststall);
}

bool hoststall_is_wanted(const struct hoststall *hoststall)
{
    return hoststall->count > 0;
}

/* ---- the silence -------------------------------------------------------- */

static void record_note(struct suspicion *item, ck_time_t time)
{
    struct cell *cell;

    if (time <= item->whole.start || time >= item->whole.end) {
        return;
    }
    cell = &item->cells[(size_t)((__int128)(time - item->whole.start) * CELLS /
                                 region_length(item->whole))];
    cell->first = time < cell->first ? time : cell->first;
    cell->last = time > cell->last ? time : cell->last;
}

/* Longer than a cell it is found exactly; a shorter one is none. */
static void silence_find(struct suspicion *item)
{
    ck_time_t since = item->whole.start;

    for (size_t i = 0; i <= CELLS; i++) {
        struct cell cell = i < CELLS
                               ? item->cells[i]
                               : (struct cell){item->whole.end, INT64_MAX};

        if (cell.first == INT64_MAX) {
            continue;
        }
        if (cell.first - since > region_length(item->silence)) {
            item->silence = (struct region){since, cell.first};
        }
        since = cell.last;
    }
}

void hoststall_turn(struct hoststall *hoststall)
{
    for (size_t i = 0; i < hoststall->count; i++) {
        silence_find(&hoststall->items[i]);
    }
    hoststall->is_turned = true;
}

/* ---- the proof ---------------------------------------------------------- */

static bool is_covering(const struct timeline_event *event, struct region part)
{
    return event->start <= part.start && event->end >= part.end;
}

static uint8_t off_marks(const struct timeline_event *event,
                         struct region silence)
{
    uint8_t marks = 0;

    if (event->start < silence.end && event->end > silence.start) {
        marks |= MARK_OFF;
    }
    if (event->record->kind == CK_KIND_BLOCKED && is_covering(event, silence) &&
        event->start >= silence.start - NEAR &&
        event->end <= silence.end + NEAR) {
        marks |= MARK_STOP;
    }
    return marks;
}

static uint8_t sample_marks(const struct timeline_event *event,
                            struct region silence)
{
    if (event->start <= silence.start) {
        return event->start >= silence.start - NEAR ? MARK_BEFORE : 0;
    }
    return event->start >= silence.end && event->start <= silence.end + NEAR
               ? MARK_AFTER
               : 0;
}

/* The thread that a record is about, and what it shows of the silence. */
static uint8_t marks_of(struct hoststall *hoststall,
                        const struct timeline_event *event,
                        struct region silence,
                        uint32_t *thread)
{
    const struct ck_event *record = event->record;

    *thread = event->thread;
    switch (ck_kind_class(record->kind)) {
    case CK_CLASS_SAMPLE:
        if (record->kind != CK_KIND_SAMPLE) {
            return 0; /* page faults come at no rate */
        }
        *thread = history_told(hoststall->host, hoststall->defs, event,
                               ((const struct ck_sample *)record)->tid);
        return sample_marks(event, silence);
    case CK_CLASS_CALL:
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
        return is_covering(event, silence) ? MARK_CALL : 0;
    default:
        break;
    }
    if (record->kind != CK_KIND_PREEMPTED && record->kind != CK_KIND_BLOCKED) {
        return 0;
    }
    *thread = history_told(
        hoststall->host, hoststall->defs, event,
        (uint32_t)((const struct ck_mark *)(const void *)record)->value);
    if (*thread < hoststall->defs->threads_count) {
        hoststall->is_switched[*thread] = true;
    }
    return off_marks(event, silence);
}

static void proof_note(struct hoststall *hoststall,
                       struct suspicion *item,
                       const struct timeline_event *event)
{
    const struct ck_event *record = event->record;
    uint32_t thread;
    uint8_t marks;

    if (record->kind == CK_KIND_LOST) {
        ck_time_t end =
            event->start +
            ((const struct ck_counter *)(const void *)record)->enabled;

        item->is_lost |=
            event->start < item->silence.end && end > item->silence.start;
        return;
    }
    marks = marks_of(hoststall, event, item->silence, &thread);
    if (thread >= hoststall->defs->threads_count) {
        return;
    }
    if ((marks & MARK_CALL) != 0) {
        /* What it did before the call is no evidence of the wait in it. */
        item->marks[thread] &= (uint8_t)~MARK_BEFORE;
    }
    item->marks[thread] |= marks;
    item->is_busy |=
        record->kind == CK_KIND_PREEMPTED && is_covering(event, item->silence);
}

int hoststall_take(void *consumer, const struct timeline_event *event)
{
    struct hoststall *hoststall = consumer;
    const struct defs *defs = hoststall->defs;
    uint32_t domain =
        defs->agents[defs->processes[event->process].agent].domain;

    if (timeline_is_device(event) ||
        (event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return 0;
    }
    for (size_t i = 0; i < hoststall->count; i++) {
        struct suspicion *item = &hoststall->items[i];

        if (item->domain != domain) {
            continue;
        }
        if (hoststall->is_turned) {
            proof_note(hoststall, item, event);
        } else if (event->record->kind != CK_KIND_LOST &&
                   event->record->kind != CK_KIND_AWAY) {
            record_note(item, event->start);
            record_note(item, event->end);
        }
    }
    return 0;
}

static bool
is_proof(const struct suspicion *item, uint8_t marks, bool is_switched)
{
    uint8_t ran = MARK_BEFORE | MARK_AFTER;

    if ((marks & ran) != ran) {
        return false;
    }
    return (marks & MARK_OFF) == 0 ? is_switched
                                   : (marks & MARK_STOP) != 0 && !item->is_busy;
}

static bool is_proven(const struct hoststall *hoststall,
                      const struct suspicion *item)
{
    if (item->is_lost || region_length(item->silence) < item->silence_min) {
        return false;
    }
    for (size_t i = 0; i < hoststall->defs->threads_count; i++) {
        if (is_proof(item, item->marks[i], hoststall->is_switched[i])) {
            return true;
        }
    }
    return false;
}

bool hoststall_part(const struct hoststall *hoststall,
                    size_t index,
                    struct hoststall_part *part)
{
    for (size_t i = 0; i < hoststall->count; i++) {
        const struct suspicion *item = &hoststall->items[i];

        if (is_proven(hoststall, item) && index-- == 0) {
            *part = (struct hoststall_part){item->domain, item->silence};
            return true;
        }
    }
    return false;
}
