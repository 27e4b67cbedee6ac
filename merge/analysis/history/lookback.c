/* lookback.c - what the host threads did lately, and for whom they waited
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/lookback.h"

#include <assert.h>
#include <stdlib.h>

#include "merge/analysis/history/activity.h"
#include "merge/analysis/history/unrecorded.h"
#include "merge/analysis/history/devicehistory.h"
#include "merge/clocks/align.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/timeline/timeline.h"

struct lookback {
    const struct defs *defs; /* borrowed */
    struct history *host;
    struct waits *waits;
    struct activities *activities;
    struct evidence *evidence;
    struct masked *masked;
    struct devicehistory *work;
    struct commands *commands;
    struct unrecorded *unrecorded;
    struct sockets *sockets;
    ck_time_t *ends; /* by process; INT64_MAX = not known */
    ck_time_t
        period; /* CPU time of a sample, the longest; 0 = there was none */
    bool has_stretch; /* the last event ended one. */
    struct sockets_stretch stretch;
    ck_time_t *inside;  /* by thread: until when it is in a library's call */
    ck_time_t *held;    /* by thread: until when others wait for its lock */
    uint32_t *firsts;   /* by process: its first thread; DEFS_NONE */
    uint32_t *nexts;    /* by thread: the next one of its process */
    uint32_t *siblings; /* by process: lookback_sibling() */
    struct {
        waits_horizon_f horizon;
        const void *client;
    } clients[LOOKBACK_CLIENTS_MAX];
    size_t clients_count;
    lookback_thread_f thread_from;
    void *thread_client;
};

static ck_time_t lookback_horizon(const void *state, ck_time_t now)
{
    const struct lookback *lookback = state;
    ck_time_t horizon = sockets_horizon(lookback->sockets, now);

    for (size_t i = 0; i < lookback->clients_count; i++) {
        ck_time_t time =
            lookback->clients[i].horizon(lookback->clients[i].client, now);

        horizon = time < horizon ? time : horizon;
    }
    return horizon;
}

/* The threads of each process. */
static void threads_chain(struct lookback *lookback)
{
    const struct defs *defs = lookback->defs;

    for (size_t i = 0; i < defs->processes_count; i++) {
        lookback->firsts[i] = DEFS_NONE;
    }
    for (uint32_t i = 0; i < defs->threads_count; i++) {
        uint32_t *first = &lookback->firsts[defs->threads[i].process];

        lookback->held[i] = INT64_MIN;
        lookback->nexts[i] = *first;
        *first = i;
    }
}

/* The processes of each rank: each goes in behind the last one of its rank. */
static void siblings_chain(struct lookback *lookback)
{
    const struct defs *defs = lookback->defs;
    struct table *ranks = table_create();
    uint32_t *lasts = xmalloc((defs->processes_count + 1) * sizeof(*lasts));
    int64_t count = 0;

    for (uint32_t i = 0; i < defs->processes_count; i++) {
        const struct defs_process *process = &defs->processes[i];
        int64_t number;

        lookback->siblings[i] = i;
        if (process->incarnation == 0) {
            continue; /* the collector */
        }
        number = table_number_of(ranks, process->agent, (uint32_t)process->rank,
                                 process->worker);
        if (number == count) {
            count++;
        } else {
            lookback->siblings[i] = lookback->siblings[lasts[number]];
            lookback->siblings[lasts[number]] = i;
        }
        lasts[number] = i;
    }
    free(lasts);
    table_destroy(ranks);
}

uint32_t lookback_sibling(const struct lookback *lookback, uint32_t process)
{
    return lookback->siblings[process];
}

struct lookback *lookback_create(const struct defs *defs,
                                 const struct align *align,
                                 uint64_t eager_bytes)
{
    struct lookback *lookback = xcalloc(1, sizeof(*lookback));

    lookback->defs = defs;
    lookback->host = history_create(defs, 0);
    lookback->ends =
        xcalloc(defs->processes_count + 1, sizeof(*lookback->ends));
    for (size_t i = 0; i < defs->processes_count; i++) {
        lookback->ends[i] = INT64_MAX;
    }
    lookback->waits = waits_create(defs, align, eager_bytes);
    lookback->activities = activities_create(defs);
    lookback->evidence = evidence_create(defs);
    lookback->masked = masked_create();
    lookback->work = devicehistory_create(defs->processes_count);
    lookback->commands = commands_create(defs);
    lookback->unrecorded = unrecorded_create(defs);
    lookback->sockets = sockets_create(defs, SOCKETS_OF_RANKS);
    lookback->inside =
        xcalloc(defs->threads_count + 1, sizeof(*lookback->inside));
    lookback->held = xcalloc(defs->threads_count + 1, sizeof(*lookback->held));
    lookback->firsts =
        xmalloc((defs->processes_count + 1) * sizeof(*lookback->firsts));
    lookback->nexts =
        xmalloc((defs->threads_count + 1) * sizeof(*lookback->nexts));
    lookback->siblings =
        xmalloc((defs->processes_count + 1) * sizeof(*lookback->siblings));
    threads_chain(lookback);
    siblings_chain(lookback);
    waits_horizon(lookback->waits, lookback_horizon, lookback);
    return lookback;
}

void lookback_destroy(struct lookback *lookback)
{
    if (lookback == NULL) {
        return;
    }
    history_destroy(lookback->host);
    waits_destroy(lookback->waits);
    activities_destroy(lookback->activities);
    evidence_destroy(lookback->evidence);
    masked_destroy(lookback->masked);
    devicehistory_destroy(lookback->work);
    commands_destroy(lookback->commands);
    unrecorded_destroy(lookback->unrecorded);
    sockets_destroy(lookback->sockets);
    free(lookback->inside);
    free(lookback->held);
    free(lookback->firsts);
    free(lookback->nexts);
    free(lookback->siblings);
    free(lookback->ends);
    free(lookback);
}

void lookback_end(struct lookback *lookback, uint32_t process, ck_time_t time)
{
    lookback->ends[process] = time;
}

ck_time_t lookback_ended(const struct lookback *lookback, uint32_t thread)
{
    return lookback_gone(lookback, lookback->defs->threads[thread].process);
}

ck_time_t lookback_gone(const struct lookback *lookback, uint32_t process)
{
    return lookback->ends[process];
}

void lookback_client(struct lookback *lookback,
                     waits_horizon_f f,
                     const void *client)
{
    assert(lookback->clients_count < LOOKBACK_CLIENTS_MAX);
    lookback->clients[lookback->clients_count].horizon = f;
    lookback->clients[lookback->clients_count++].client = client;
}

void lookback_thread_client(struct lookback *lookback,
                            lookback_thread_f f,
                            void *client)
{
    lookback->thread_from = f;
    lookback->thread_client = client;
}

ck_time_t lookback_held(const struct lookback *lookback, uint32_t thread)
{
    return lookback->held[thread];
}

/* What ended by then on the thread may go. */
static void thread_horizon(const struct lookback *lookback,
                           uint32_t thread,
                           size_t spans,
                           ck_time_t now,
                           ck_time_t *horizon)
{
    ck_time_t from = INT64_MAX;

    if (lookback->thread_from != NULL) {
        lookback->thread_from(lookback->thread_client, thread, spans, &from);
    }
    *horizon = lookback_horizon(lookback, now);
    *horizon = from < *horizon ? from : *horizon;
}

const struct history *lookback_history(const struct lookback *lookback)
{
    return lookback->host;
}

struct callpaths *lookback_paths(const struct lookback *lookback)
{
    return evidence_paths(lookback->evidence);
}

ck_time_t lookback_period(const struct lookback *lookback)
{
    return lookback->period;
}

const struct defs *lookback_defs(const struct lookback *lookback)
{
    return lookback->defs;
}

const struct devicehistory *lookback_work(const struct lookback *lookback)
{
    return lookback->work;
}

const struct commands *lookback_commands(const struct lookback *lookback)
{
    return lookback->commands;
}

struct masked *lookback_shadow(struct lookback *lookback)
{
    return lookback->masked;
}

struct match_counts lookback_counts(const struct lookback *lookback)
{
    return waits_counts(lookback->waits);
}

struct waits *lookback_waits(const struct lookback *lookback)
{
    return lookback->waits;
}

bool lookback_error(const struct lookback *lookback,
                    uint32_t thread,
                    ck_time_t start,
                    struct wait *wait)
{
    return waits_error(lookback->waits, thread, start, wait);
}

const struct sockets_stretch *lookback_stretch(const struct lookback *lookback)
{
    return lookback->has_stretch ? &lookback->stretch : NULL;
}

uint32_t lookback_main(const struct lookback *lookback, uint32_t process)
{
    const struct defs *defs = lookback->defs;

    return history_thread(lookback->host, process,
                          defs->processes[process].pid);
}

bool lookback_data_wait(const struct lookback *lookback,
                        uint32_t thread,
                        const struct history_span *call,
                        ck_time_t time,
                        struct wait *wait)
{
    uint32_t process = lookback->defs->threads[thread].process;
    const struct sockets_stretch *stretch;

    wait->until = INT64_MAX;
    if (call->kind != CK_KIND_POSIX ||
        thread != lookback_main(lookback, process) ||
        !sockets_is_wait(lookback->sockets, call)) {
        return false;
    }
    stretch = sockets_awaited(lookback->sockets, process, time, &wait->until);
    if (stretch == NULL) {
        return false;
    }
    *wait = (struct wait){.kind = WAIT_LATE_DATA,
                          .until = stretch->part.end,
                          .thread = lookback_main(lookback, stretch->peer),
                          .mark = INT64_MIN};
    return wait->thread != HISTORY_NONE &&
           lookback_error(lookback, thread, call->start, wait);
}

int64_t lookback_activity(struct lookback *lookback,
                          const struct history_state *did)
{
    return activity_number(lookback->activities, did);
}

int64_t lookback_activity_common(struct lookback *lookback, uint32_t number)
{
    return activity_common(lookback->activities, number);
}

int64_t lookback_activity_site(struct lookback *lookback, uint32_t number)
{
    return activity_site(lookback->activities, number);
}

enum cause lookback_activity_device(const struct lookback *lookback,
                                    uint32_t number)
{
    return activity_device(lookback->activities, number);
}

const char *lookback_activity_range(const struct lookback *lookback,
                                    uint32_t number)
{
    return activity_range(lookback->activities, number);
}

uint32_t lookback_activity_call(const struct lookback *lookback,
                                uint32_t number)
{
    return activity_call(lookback->activities, number);
}

enum cause lookback_activity_cause(const struct lookback *lookback,
                                   uint32_t number)
{
    return activity_cause(lookback->activities, number);
}

enum cause lookback_cause(const struct lookback *lookback,
                          const struct history_state *did,
                          uint32_t number)
{
    static const enum cause offs[] = {
        [HISTORY_ON] = CAUSE_HOST_COMPUTE,
        [HISTORY_PREEMPTED] = CAUSE_OFFCPU_RUNNABLE,
        [HISTORY_BLOCKED] = CAUSE_OFFCPU_BLOCKED,
    };

    return did->call == NULL ? offs[did->off]
                             : activity_cause(lookback->activities, number);
}

struct report_activity lookback_activity_report(const struct lookback *lookback,
                                                uint32_t number)
{
    return activity_report(lookback->activities, lookback->evidence, number);
}

/* ---- what is known beyond calls and ranges ------------------------------ */

/* A piece of a thread's time, and the activity that it was. */
struct piece {
    struct lookback *lookback;
    uint32_t thread;
    uint32_t activity;
    unsigned holders; /* of locks that were followed to it */
};

static void sample_weigh(void *state, const struct history_sample *sample)
{
    const struct piece *piece = state;
    struct evidence_item item = {
        .activity = piece->activity,
        .kind = EVIDENCE_SAMPLE,
        .a = piece->lookback->defs->threads[piece->thread].process,
        .b = sample->stack,
        .weight = sample->weight,
    };

    evidence_add(piece->lookback->evidence, &item);
    if (sample->is_faulting) {
        item.kind = EVIDENCE_FAULTING;
        evidence_add(piece->lookback->evidence, &item);
    }
}

static void piece_weigh(struct piece *piece,
                        struct region part,
                        const struct history_state *did);

/* What the holder of a lock did while a thread waited for it. */
struct holding {
    const struct piece *waiting;
    uint32_t holder; /* thread */
};

static void
holder_take(void *state, struct region part, const struct history_state *did)
{
    const struct holding *holding = state;
    struct lookback *lookback = holding->waiting->lookback;
    struct evidence_item item = {.activity = holding->waiting->activity,
                                 .kind = EVIDENCE_HOLDER,
                                 .a = holding->holder,
                                 .b = DEFS_NONE,
                                 .weight = region_length(part)};

    if (did->is_known) {
        struct piece piece = {.lookback = lookback,
                              .thread = holding->holder,
                              .holders = holding->waiting->holders + 1};
        int64_t number = activity_number(lookback->activities, did);

        piece.activity = item.b = (uint32_t)number;
        piece_weigh(&piece, part, did);
    }
    evidence_add(lookback->evidence, &item);
}

static void
off_add(const struct piece *piece, enum evidence_off off, ck_time_t ns)
{
    struct evidence_item item = {.activity = piece->activity,
                                 .kind = EVIDENCE_OFF,
                                 .a = off,
                                 .weight = ns};

    if (ns > 0) {
        evidence_add(piece->lookback->evidence, &item);
    }
}

static void call_weigh(struct piece *piece,
                       struct region part,
                       const struct history_span *call)
{
    struct lookback *lookback = piece->lookback;
    struct evidence_item path = {.activity = piece->activity,
                                 .kind = EVIDENCE_PATH,
                                 .a = call->process,
                                 .b = call->path,
                                 .weight = region_length(part)};
    struct holding holding = {.waiting = piece, .holder = HISTORY_NONE};
    ck_time_t preempted =
        history_preempted(lookback->host, piece->thread, part);

    off_add(piece, EVIDENCE_PREEMPTED, preempted);
    off_add(piece, EVIDENCE_ON, path.weight - preempted);
    if (call->path != 0) {
        evidence_add(lookback->evidence, &path);
    }
    if (call->holder != 0 && piece->holders < LOOKBACK_HOLDERS_MAX) {
        holding.holder =
            history_thread(lookback->host, call->process, call->holder);
    }
    if (holding.holder != HISTORY_NONE) {
        history_walk(lookback->host, holding.holder, part, holder_take,
                     &holding);
    }
}

static void piece_weigh(struct piece *piece,
                        struct region part,
                        const struct history_state *did)
{
    static const enum evidence_off offs[] = {
        [HISTORY_ON] = EVIDENCE_ON,
        [HISTORY_PREEMPTED] = EVIDENCE_PREEMPTED,
        [HISTORY_BLOCKED] = EVIDENCE_BLOCKED,
    };

    if (did->call != NULL) {
        call_weigh(piece, part, did->call);
        return;
    }
    off_add(piece, offs[did->off], region_length(part));
    history_samples(piece->lookback->host, piece->thread, part, sample_weigh,
                    piece);
}

int64_t lookback_did(struct lookback *lookback,
                     uint32_t thread,
                     struct region part,
                     const struct history_state *did)
{
    int64_t number = activity_number(lookback->activities, did);
    struct piece piece = {
        .lookback = lookback, .thread = thread, .activity = (uint32_t)number};

    piece_weigh(&piece, part, did);
    return number;
}

/* A process whose samples are handed on. */
struct handing {
    const struct lookback_others *others;
    uint32_t process;
};

static void other_hand(void *state, const struct history_sample *sample)
{
    const struct handing *handing = state;

    handing->others->take(handing->others->state, handing->process, sample);
}

void lookback_others(const struct lookback *lookback,
                     const struct lookback_others *others,
                     struct region part)
{
    uint32_t own = lookback->defs->threads[others->thread].process;
    struct handing handing = {.others = others, .process = own};

    do {
        for (uint32_t other = lookback->firsts[handing.process];
             other != DEFS_NONE; other = lookback->nexts[other]) {
            if (other != others->thread) {
                history_samples(lookback->host, other, part, other_hand,
                                &handing);
            }
        }
        history_samples(lookback->host,
                        history_rest(lookback->host, handing.process), part,
                        other_hand, &handing);
        handing.process = lookback->siblings[handing.process];
    } while (others->has_processes && handing.process != own);
}

/* ---- taking ------------------------------------------------------------- */

/* Where a thread's next span goes. */
static struct history_span *span_place(struct lookback *lookback,
                                       const struct timeline_event *event,
                                       uint32_t thread)
{
    struct history_span *span = history_next(lookback->host, thread);
    ck_time_t horizon;

    if (span != NULL) {
        return span;
    }
    thread_horizon(lookback, thread, history_count(lookback->host, thread),
                   event->start, &horizon);
    return history_place(lookback->host, thread, horizon);
}

static void overhead_take(struct lookback *lookback,
                          const struct timeline_event *event)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct masked_part part = {{event->start, event->end},
                               CAUSE_PROFILER,
                               DEFS_NONE,
                               event->process,
                               (uint32_t)(record->extra >> 32)};

    masked_add(lookback->masked, &part,
               lookback_horizon(lookback, event->start));
}

/* A call of libc that a library makes for its own is a part of that library's
 * call. */
static bool is_part(struct lookback *lookback,
                    const struct timeline_event *event)
{
    ck_time_t *inside;

    if (event->thread >= lookback->defs->threads_count) {
        return false;
    }
    inside = &lookback->inside[event->thread];
    if (event->record->kind == CK_KIND_POSIX) {
        return event->start < *inside;
    }
    *inside = event->end > *inside ? event->end : *inside;
    return false;
}

/* A call of libc: on what it was made. */
static void libc_take(struct lookback *lookback,
                      const struct ck_call *record,
                      struct history_span *span)
{
    bool is_lock = record->object == 0 && record->arg != 0;
    uint32_t holder = HISTORY_NONE;

    span->holder = is_lock ? (uint32_t)record->extra : 0;
    span->path = record->object != 0 ? (uint32_t)record->extra : 0;
    if (span->holder != 0) {
        holder = history_thread(lookback->host, span->process, span->holder);
    }
    if (holder != HISTORY_NONE && span->end > lookback->held[holder]) {
        lookback->held[holder] = span->end;
    }
}

/* The thread that was in a call. */
static uint32_t call_thread(const struct lookback *lookback,
                            const struct timeline_event *event)
{
    const struct ck_call *record = (const struct ck_call *)event->record;

    if (ck_kind_class(record->e.kind) != CK_CLASS_CALL || record->call != 0 ||
        record->extra >> 32 == 0) {
        return event->thread;
    }
    /* Reported by the device's tracer, on a thread of its own. */
    return history_thread(lookback->host, event->process,
                          (uint32_t)(record->extra >> 32));
}

static void call_take(struct lookback *lookback,
                      const struct timeline_event *event)
{
    /* The site and the number are at the same place in all classes. */
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct history_span *span;
    uint32_t thread;

    if (record->e.kind == CK_KIND_OVERHEAD) {
        overhead_take(lookback, event);
        return;
    }
    if (is_part(lookback, event)) {
        return;
    }
    lookback->has_stretch =
        record->e.kind == CK_KIND_POSIX &&
        sockets_take(lookback->sockets, event, &lookback->stretch);
    thread = call_thread(lookback, event);
    if (thread >= lookback->defs->threads_count) {
        return;
    }
    span = span_place(lookback, event, thread);
    *span = (struct history_span){.start = event->start,
                                  .end = event->end,
                                  .site = record->site,
                                  .process = event->process,
                                  .name = record->e.name,
                                  .call = record->call,
                                  .kind = record->e.kind,
                                  .is_call = true};
    if (record->e.kind == CK_KIND_POSIX) {
        libc_take(lookback, record, span);
    }
    history_placed(lookback->host, thread);
}

static void off_take(struct lookback *lookback,
                     const struct timeline_event *event)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    struct region part = {event->start, event->end};
    uint32_t thread = history_told(lookback->host, lookback->defs, event,
                                   (uint32_t)mark->value);
    ck_time_t horizon = INT64_MIN;

    if (thread == HISTORY_NONE) {
        return;
    }
    if (!history_has_off_room(lookback->host, thread)) {
        thread_horizon(lookback, thread, SIZE_MAX, event->start, &horizon);
    }
    history_add_off(lookback->host, thread, part,
                    mark->e.kind == CK_KIND_PREEMPTED ? HISTORY_PREEMPTED
                                                      : HISTORY_BLOCKED,
                    horizon);
}

/* Workers of a pool may have no record but their samples. */
static uint32_t sampled_thread(const struct lookback *lookback,
                               const struct timeline_event *event,
                               uint32_t tid)
{
    uint32_t thread = history_told(lookback->host, lookback->defs, event, tid);
    uint32_t agent = lookback->defs->processes[event->process].agent;
    uint32_t process;

    if (thread != HISTORY_NONE) {
        return thread;
    }
    process = history_process(lookback->host, agent, event->record->name);
    return process == DEFS_NONE ? HISTORY_NONE
                                : history_rest(lookback->host, process);
}

static void sample_take(struct lookback *lookback,
                        const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    bool is_sound = record->stack <= INT32_MAX && record->weight > 0 &&
                    record->weight <= UINT32_MAX;
    struct history_sample sample = {
        .stack = (uint32_t)record->stack,
        .weight = record->weight,
        .time = event->start,
        .is_faulting = (record->e.flags & CK_FLAG_FAULTING) != 0,
    };
    uint32_t thread = sampled_thread(lookback, event, record->tid);
    ck_time_t horizon = INT64_MIN;

    if (thread == HISTORY_NONE || !is_sound) {
        return;
    }
    if (sample.weight > lookback->period) {
        lookback->period = sample.weight;
    }
    if (!history_has_sample_room(lookback->host, thread)) {
        thread_horizon(lookback, thread, SIZE_MAX, event->start, &horizon);
    }
    history_add_sample(lookback->host, thread, event->start, &sample, horizon);
}

/* Where a thread left the CPU. Threads without a record of their own are asked
 * about by no one. */
static void stacked_take(struct lookback *lookback,
                         const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    struct history_sample wait = {.stack = (uint32_t)record->stack,
                                  .weight = record->weight};
    uint32_t thread =
        history_told(lookback->host, lookback->defs, event, record->tid);
    ck_time_t horizon = INT64_MIN;

    if (thread == HISTORY_NONE || record->stack > INT32_MAX ||
        record->weight < 0 || record->weight > TIMELINE_WAIT_MOST ||
        event->start > INT64_MAX - TIMELINE_WAIT_MOST) {
        return;
    }
    if (!history_has_wait_room(lookback->host, thread)) {
        thread_horizon(lookback, thread, SIZE_MAX, event->start, &horizon);
    }
    history_add_wait(lookback->host, thread, event->start, &wait, horizon);
}

static void range_take(struct lookback *lookback,
                       const struct timeline_event *event)
{
    struct history_span *span;

    if (event->thread >= lookback->defs->threads_count) {
        return;
    }
    span = span_place(lookback, event, event->thread);
    *span = (struct history_span){.start = event->start,
                                  .end = event->end,
                                  .process = event->process,
                                  .name = event->record->name,
                                  .kind = event->record->kind};
    history_placed(lookback->host, event->thread);
}

static void mark_take(struct lookback *lookback,
                      const struct timeline_event *event)
{
    switch (event->record->kind) {
    case CK_KIND_RANGE:
        range_take(lookback, event);
        return;
    case CK_KIND_PREEMPTED:
    case CK_KIND_BLOCKED:
        off_take(lookback, event);
        return;
    default:
        return;
    }
}

static void lost_take(struct lookback *lookback,
                      const struct timeline_event *event)
{
    const struct ck_counter *lost = (const struct ck_counter *)event->record;
    /* Work that had not ended is known by its commands. */
    bool is_known = lost->reason == CK_LOST_UNDONE &&
                    commands_is_known(lookback->commands, event->process);
    /* A device's tracer belongs to its process. */
    bool is_device = lost->reason == CK_LOST_DEVICE;
    struct masked_part part = {
        {event->start, event->start + lost->enabled},
        CAUSE_LOST_DATA,
        is_device ? DEFS_NONE : lookback->defs->processes[event->process].agent,
        is_device ? event->process : DEFS_NONE,
        lost->tid};

    if (!(is_known)) {
        masked_add(lookback->masked, &part,
                   lookback_horizon(lookback, event->start));
    }
}

/* A copy shows of the call that launched it which way it went, and whether the
 * call waited for it: the name "cudaMemcpyAsync" shows neither. */
static void copy_take(struct lookback *lookback,
                      const struct timeline_event *event)
{
    const struct ck_copy *copy = (const struct ck_copy *)event->record;
    uint32_t thread;

    if (ck_kind_class(copy->e.kind) != CK_CLASS_COPY || copy->call == 0) {
        return;
    }
    thread = history_thread(lookback->host, event->process, copy->tid);
    if (thread != HISTORY_NONE) {
        history_copied(lookback->host, thread, copy->call, copy->e.kind,
                       event->end);
    }
}

/* No client asks what the devices of a process did before the calls that are
 * kept of its threads. */
static ck_time_t calls_from(const struct lookback *lookback, uint32_t process)
{
    ck_time_t from = INT64_MAX;

    for (uint32_t thread = lookback->firsts[process]; thread != DEFS_NONE;
         thread = lookback->nexts[thread]) {
        ck_time_t first = history_first_start(lookback->host, thread);

        from = first < from ? first : from;
    }
    return from;
}

/* The record of what a CUDA call launched came, whatever its times are. All of
 * its head is alike in both classes. */
static void work_came(struct lookback *lookback,
                      const struct timeline_event *event)
{
    const struct ck_kernel *record = (const struct ck_kernel *)event->record;
    uint32_t thread;

    if (record->call == 0) {
        return;
    }
    thread = history_thread(lookback->host, event->process, record->tid);
    if (thread != HISTORY_NONE) {
        unrecorded_work(lookback->unrecorded, thread, record->call);
    }
}

static void work_take(struct lookback *lookback,
                      const struct timeline_event *event)
{
    struct region part = {event->start, event->end};
    struct devicehistory_item *item;
    const struct defs_device *device;
    uint32_t number;

    work_came(lookback, event);
    if (ck_kind_class(event->record->kind) == CK_CLASS_KERNEL) {
        unrecorded_kernel(lookback->unrecorded, event);
    }
    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return;
    }
    copy_take(lookback, event);
    if (devicehistory_is_full(lookback->work, event->process)) {
        devicehistory_make_room(lookback->work, event->process,
                                calls_from(lookback, event->process));
    }
    devicehistory_place(lookback->work, event->process, part, &item);
    if (item == NULL) {
        return;
    }
    item->name = event->record->name;
    item->is_copy = ck_kind_class(event->record->kind) == CK_CLASS_COPY;
    if (item->is_copy) {
        const struct ck_copy *copy = (const struct ck_copy *)event->record;

        item->tid = copy->tid;
        item->call = copy->call;
        number = copy->device;
    } else {
        const struct ck_kernel *kernel =
            (const struct ck_kernel *)event->record;

        item->tid = kernel->tid;
        item->call = kernel->call;
        number = kernel->device;
    }
    device = defs_device(lookback->defs, event->process, number);
    item->physical = device == NULL ? DEFS_NONE : device->physical;
}

static int api_take(struct lookback *lookback,
                    const struct timeline_event *event)
{
    switch (event->record->kind) {
    case CK_KIND_API_OPENCL:
        return commands_take(lookback->commands, event);
    case CK_KIND_API_CUDA_RUNTIME:
    case CK_KIND_API_CUDA_DRIVER:
        unrecorded_launch(lookback->unrecorded, event);
        return 0;
    default:
        return 0;
    }
}

void lookback_close(struct lookback *lookback)
{
    unrecorded_close(lookback->unrecorded);
    for (uint32_t i = 0; i < lookback->defs->processes_count; i++) {
        struct masked_part part = {
            .cause = CAUSE_LOST_DATA, .agent = DEFS_NONE, .process = i};

        if (unrecorded_count(lookback->unrecorded, i, &part.part) > 0) {
            masked_add(lookback->masked, &part, INT64_MIN);
        }
    }
}

struct report_launches lookback_launches(const struct lookback *lookback)
{
    return unrecorded_report(lookback->unrecorded);
}

int lookback_take(struct lookback *lookback,
                  const struct timeline_event *event,
                  int64_t mark)
{
    unsigned kind = event->record->kind;

    lookback->has_stretch = false;
    switch (ck_kind_class(kind)) {
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
        waits_take(lookback->waits, event, mark);
        /* Nor is a persistent request's transfer a call: its start has a
         * record of its own. */
        if (!ck_kind_is_about_call(kind) &&
            !ck_event_is_persistent(event->record)) {
            call_take(lookback, event);
        }
        return 0;
    case CK_CLASS_CALL:
        if (kind == CK_KIND_MPI_CALL) {
            waits_take(lookback->waits, event, mark);
        }
        if (api_take(lookback, event) != 0) {
            return -1;
        }
        call_take(lookback, event);
        return 0;
    case CK_CLASS_AWAIT:
        return commands_take(lookback->commands, event);
    case CK_CLASS_MARK:
        mark_take(lookback, event);
        return 0;
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        if (commands_take(lookback->commands, event) != 0) {
            return -1;
        }
        work_take(lookback, event);
        return 0;
    case CK_CLASS_SAMPLE:
        if (event->record->kind == CK_KIND_SAMPLE) {
            sample_take(lookback, event);
        } else if (event->record->kind == CK_KIND_OFF_CPU) {
            stacked_take(lookback, event);
        }
        return 0;
    case CK_CLASS_COUNTER:
        if (kind != CK_KIND_LOST) {
            return 0;
        }
        waits_take(lookback->waits, event, mark);
        lost_take(lookback, event);
        return 0;
    default:
        return 0;
    }
}
