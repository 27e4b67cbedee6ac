/* analysis.c - all that asks why a rank or device waited, in the right order
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An MPI call is looked at once the merge has passed its return: all that it
 * may have waited for began before.
 */
#include "merge/analysis/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/idle/causes.h"
#include "merge/analysis/delays/delay.h"
#include "merge/analysis/devices/launchstacks.h"
#include "merge/analysis/samples/blockedplaces.h"
#include "merge/analysis/totals/efficiency.h"
#include "merge/analysis/waits/initfinalize.h"
#include "merge/analysis/samples/hotspots.h"
#include "merge/analysis/idle/ledger.h"
#include "merge/analysis/waits/pendings.h"
#include "merge/analysis/totals/idealnetwork.h"
#include "merge/analysis/history/lookback.h"
#include "merge/analysis/memory/allocplaces.h"
#include "merge/analysis/memory/faultplaces.h"
#include "merge/analysis/memory/memoryuse.h"
#include "merge/analysis/steps/steps.h"
#include "merge/analysis/threads/threads.h"
#include "merge/analysis/waits/stragglers.h"
#include "merge/analysis/waits/stuck.h"
#include "merge/analysis/idle/undone.h"
#include "merge/analysis/waits/unknowns.h"
#include "merge/analysis/waits/waitstates.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/timeline/unknowntail.h"
#include "schema/order.h"

#define NAMES_KNOWN 64

/* Messages up to that size are taken to be sent without a receive. */
#define EAGER_BYTES 4096

struct analysis {
    const struct defs *defs; /* borrowed */
    struct lookback *lookback;
    struct steps *steps;
    struct when *late; /* what each rank made others wait */
    struct when *idle; /* each cause: causekeys.h */
    struct ledger *ledger;
    struct waitstates *waitstates;
    struct delay *delay;
    struct idealnetwork *idealnetwork;
    struct hotspots *hotspots;
    struct faultplaces *faultplaces;
    struct allocplaces *allocplaces;
    struct allocplaces *devicememory;
    struct blockedplaces *blockedplaces;
    struct launchstacks *launchstacks; /* NULL = there is no device */
    struct memoryuse *memoryuse;
    struct threads *threads;
    struct initfinalize *edges;
    struct stuck *stuck; /* NULL = all ended well */
    struct region region;
    struct unknowns *unknowns;
    struct pendings *pendings;
    bool is_begun;
    bool has_steps;
    struct sockets_stretch *stretches; /* not yet looked at */
    size_t stretches_count, stretches_room;
    /* Names looked at, by address: kept texts stay where they are. */
    struct {
        const char *name;
        bool is_instant;
        bool is_poll;
        enum edge edge;
    } known[NAMES_KNOWN];
};

static ck_time_t analysis_horizon(const void *state, ck_time_t now)
{
    const struct analysis *analysis = state;
    ck_time_t horizon = pendings_horizon(analysis->pendings, now);

    for (size_t i = 0; i < analysis->stretches_count; i++) {
        ck_time_t start = analysis->stretches[i].part.start;

        horizon = start < horizon ? start : horizon;
    }
    return horizon;
}

/* What is not known of agents is no idle time. */
static void dark_cover(struct analysis *analysis,
                       const struct defs *defs,
                       const struct align *align)
{
    for (uint32_t i = 0; i < defs->agents_count; i++) {
        struct unknowntail dark = unknowntail_find(defs, align_axis(align), i);
        struct masked_part part = {dark.part, unknowntail_cause(dark.reason), i,
                                   DEFS_NONE, 0};

        if (dark.reason != REPORT_DARK_NOT) {
            masked_add(lookback_shadow(analysis->lookback), &part, INT64_MIN);
        }
    }
}

/* From its end on a process did nothing. */
static void ends_say(struct analysis *analysis,
                     const struct defs *defs,
                     const struct align *align)
{
    for (uint32_t i = 0; i < defs->processes_count; i++) {
        ck_time_t end;

        if (unknowntail_ended(defs, align_axis(align), i, &end)) {
            lookback_end(analysis->lookback, i, end);
        }
    }
}

/* For whom a thread waited in a call that is no message and no collective. */
static bool others_wait(const void *state,
                        uint32_t thread,
                        const struct history_span *call,
                        struct wait *wait)
{
    const struct analysis *analysis = state;

    if (initfinalize_find(analysis->edges, thread, call, wait)) {
        return true;
    }
    return analysis->stuck != NULL &&
           (initfinalize_is_final(analysis->edges, thread, call)
                ? stuck_final(analysis->stuck, thread, call, wait)
                : stuck_find(analysis->stuck, thread, call, wait)) &&
           lookback_error(analysis->lookback, thread, call->start, wait);
}

/* Did samples meet any stack? */
static bool has_stacks(const struct defs *defs)
{
    for (size_t i = 0; i < defs->agents_count; i++) {
        if (defs->agents[i].stacks_last > 0) {
            return true;
        }
    }
    return false;
}

struct analysis *analysis_create(const struct defs *defs,
                                 const struct align *align,
                                 struct region region)
{
    struct analysis *analysis = xcalloc(1, sizeof(*analysis));

    analysis->defs = defs;
    analysis->region = region;
    analysis->pendings = pendings_create(defs->threads_count);
    analysis->unknowns = unknowns_create(defs, region);
    analysis->lookback = lookback_create(defs, align, EAGER_BYTES);
    analysis->steps = steps_create(defs, region);
    analysis->late = when_create(analysis->steps, region, 0);
    analysis->idle = when_create(analysis->steps, region, 0);
    analysis->ledger =
        ledger_create(defs, analysis->lookback, analysis->idle, region);
    analysis->waitstates =
        waitstates_create(defs, analysis->lookback, analysis->steps, region);
    analysis->delay = delay_create(analysis->lookback, region, 0);
    analysis->idealnetwork = idealnetwork_create(defs, region);
    analysis->hotspots = hotspots_create(defs, analysis->lookback, region);
    analysis->faultplaces =
        faultplaces_create(defs, analysis->lookback, region);
    analysis->allocplaces =
        allocplaces_create(defs, analysis->lookback, ALLOCPLACES_HOST);
    analysis->devicememory =
        allocplaces_create(defs, analysis->lookback, ALLOCPLACES_DEVICES);
    analysis->blockedplaces =
        blockedplaces_create(defs, analysis->lookback, region);
    if (defs->physicals_count > 0 && has_stacks(defs)) {
        analysis->launchstacks =
            launchstacks_create(defs, analysis->lookback, region);
    }
    analysis->memoryuse = memoryuse_create(defs, analysis->lookback);
    analysis->edges = initfinalize_create(defs, analysis->lookback);
    analysis->threads =
        threads_create(defs, lookback_history(analysis->lookback), region);
    ledger_delay(analysis->ledger, analysis->delay);
    waitstates_delay(analysis->waitstates, analysis->delay);
    dark_cover(analysis, defs, align);
    ends_say(analysis, defs, align);
    waitstates_watch(analysis->waitstates, analysis->late);
    lookback_client(analysis->lookback, analysis_horizon, analysis);
    waits_others(lookback_waits(analysis->lookback), others_wait, analysis);
    return analysis;
}

void analysis_destroy(struct analysis *analysis)
{
    if (analysis == NULL) {
        return;
    }
    idealnetwork_destroy(analysis->idealnetwork);
    hotspots_destroy(analysis->hotspots);
    faultplaces_destroy(analysis->faultplaces);
    allocplaces_destroy(analysis->allocplaces);
    allocplaces_destroy(analysis->devicememory);
    blockedplaces_destroy(analysis->blockedplaces);
    launchstacks_destroy(analysis->launchstacks);
    memoryuse_destroy(analysis->memoryuse);
    threads_destroy(analysis->threads);
    initfinalize_destroy(analysis->edges);
    stuck_destroy(analysis->stuck);
    unknowns_destroy(analysis->unknowns);
    delay_destroy(analysis->delay);
    waitstates_destroy(analysis->waitstates);
    ledger_destroy(analysis->ledger);
    lookback_destroy(analysis->lookback);
    when_destroy(analysis->late);
    when_destroy(analysis->idle);
    steps_destroy(analysis->steps);
    pendings_destroy(analysis->pendings);
    free(analysis->stretches);
    free(analysis);
}

void analysis_see(struct analysis *analysis, waitstates_see_f f, void *state)
{
    waitstates_see(analysis->waitstates, f, state);
}

void analysis_see_idle(struct analysis *analysis, sharing_see_f f, void *state)
{
    ledger_see(analysis->ledger, f, state);
}

struct steps *analysis_steps(struct analysis *analysis)
{
    return analysis->steps;
}

void analysis_stopped(struct analysis *analysis,
                      uint32_t agent,
                      struct region part)
{
    struct masked_part stopped = {part, CAUSE_HOST_STOPPED, agent, DEFS_NONE,
                                  0};

    masked_add(lookback_shadow(analysis->lookback), &stopped, INT64_MIN);
}

void analysis_impasse(struct analysis *analysis, const struct hang *hang)
{
    analysis->stuck = stuck_create(analysis->defs, hang);
}

const struct lookback *analysis_scene(const struct analysis *analysis)
{
    return analysis->lookback;
}

const struct waitstates *analysis_waitstates(const struct analysis *analysis)
{
    return analysis->waitstates;
}

const struct idealnetwork *analysis_replay(const struct analysis *analysis)
{
    return analysis->idealnetwork;
}

const struct delay *analysis_delay(const struct analysis *analysis)
{
    return analysis->delay;
}

/* ---- calls -------------------------------------------------------------- */

static bool is_mpi(const struct timeline_event *event)
{
    unsigned kind = event->record->kind;

    return kind == CK_KIND_MPI_CALL || kind == CK_KIND_SEND ||
           kind == CK_KIND_RECV || kind == CK_KIND_PROBE ||
           kind == CK_KIND_SENDRECV || kind == CK_KIND_COLLECTIVE ||
           kind == CK_KIND_ICOLLECTIVE;
}

/* A call that only posts or looks: on an ideal network it takes no time. */
static bool is_instant_name(const char *name)
{
    static const char *const names[] = {
        "MPI_Start",        "MPI_Test",
        "MPI_Iprobe",       "MPI_Improbe",
        "MPI_Mrecv",        "MPI_Cancel",
        "MPI_Win_post",     "MPI_Win_test",
        "MPI_Request_free", "MPI_Request_get_status"};

    for (size_t i = 0; name != NULL && i < sizeof(names) / sizeof(names[0]);
         i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* What is known of the function that is called. */
static void name_look(struct analysis *analysis,
                      const struct timeline_event *event,
                      struct pending *pending)
{
    const char *name =
        defs_name(analysis->defs, event->process, event->record->name);
    size_t at = (size_t)((uintptr_t)name >> 4) % NAMES_KNOWN;

    if (event->record->kind == CK_KIND_ICOLLECTIVE ||
        (ck_kind_class(event->record->kind) == CK_CLASS_MESSAGE &&
         event->record->kind != CK_KIND_PROBE &&
         ((const struct ck_message *)event->record)->request != 0)) {
        pending->is_instant = true;
        return;
    }
    if (analysis->known[at].name != name) {
        analysis->known[at].name = name;
        analysis->known[at].is_instant = is_instant_name(name);
        analysis->known[at].is_poll = wait_rule_of(name) == WAIT_RULE_NONE;
        analysis->known[at].edge = edge_of(name);
    }
    pending->is_instant = analysis->known[at].is_instant;
    pending->is_poll = analysis->known[at].is_poll;
    pending->edge = analysis->known[at].edge;
}

/* What of a call may have been a wait; NULL = nothing is known of it. */
static struct region call_doubt(const struct history_span *call,
                                const struct wait *wait)
{
    return wait == NULL
               ? (struct region){call->start, call->end}
               : (struct region){wait->until, wait->until + wait->doubt};
}

/* For whom a call waited; NULL = that is not known. */
static void pending_replay(struct analysis *analysis,
                           struct pending *pending,
                           const struct wait *wait)
{
    struct region unknown = {pending->call.start, pending->call.end};
    int64_t mark = INT64_MIN;

    if (pending->is_replayed) {
        return;
    }
    pending->is_replayed = true;
    if (wait != NULL && !pending->is_cut &&
        (pending->edge == EDGE_NONE || wait->mark != INT64_MIN)) {
        unknown = call_doubt(&pending->call, wait);
        mark = wait->mark;
    } else if (pending->is_instant) {
        unknown.end = unknown.start;
    }
    idealnetwork_leave(analysis->idealnetwork, pending->thread,
                       pending->call.end, unknown, mark);
}

static void pending_close(struct analysis *analysis, struct pending *pending);

/* What a wait cost rests on the waits that the late thread had before. */
static void
late_close(struct analysis *analysis, uint32_t late, ck_time_t until)
{
    for (struct pending *pending = pendings_of(analysis->pendings, late);
         pending != NULL && pending->call.end <= until;
         pending = pendings_next(analysis->pendings, pending)) {
        if (!pending->is_closed) {
            pending_close(analysis, pending);
        }
    }
}

/* What a call cost that waited; NULL = it did not, or that is not known. */
static void delay_close(struct analysis *analysis,
                        const struct pending *pending,
                        const struct wait *wait)
{
    struct region call = {pending->call.start, pending->call.end};
    struct region part = call;

    /* Who never came is not late: it did nothing longer than others. */
    if (!pending->is_cut && wait != NULL && wait->thread != DEFS_NONE &&
        wait->until > call.start) {
        part.end = wait->until < call.end ? wait->until : call.end;
        threads_awaited(analysis->threads, wait->thread, part);
        late_close(analysis, wait->thread, part.end);
        delay_wait(analysis->delay, pending->thread, part, wait);
    }
    delay_leave(analysis->delay, pending->thread, call);
}

static void pending_close(struct analysis *analysis, struct pending *pending)
{
    const struct history_span *call = &pending->call;
    struct wait wait;
    bool is_known =
        lookback_wait(analysis->lookback, pending->thread, call, &wait);

    pending->is_closed = true;
    pending_replay(analysis, pending, is_known ? &wait : NULL);
    if (is_known || (pending->edge != EDGE_INIT &&
                     (!pending->is_instant || pending->is_poll))) {
        unknowns_add(analysis->unknowns, call,
                     call_doubt(call, is_known ? &wait : NULL));
    }
    delay_close(analysis, pending, is_known ? &wait : NULL);
    if (pending->edge != EDGE_NONE) {
        initfinalize_leave(analysis->edges, pending->edge, pending->thread,
                           (struct region){call->start, call->end});
    }
    if (is_known) {
        waitstates_add(analysis->waitstates, pending->thread,
                       (struct region){call->start, call->end}, &wait);
    }
}

/* Look at the calls that returned before `now`, in order of that. */
static void pendings_close(struct analysis *analysis, ck_time_t now)
{
    while (pendings_due(analysis->pendings) < now) {
        struct pending *pending = pendings_first(analysis->pendings);

        if (!pending->is_closed) {
            pending_close(analysis, pending);
        }
        pendings_pop(analysis->pendings);
    }
}

/* ---- data on connections ------------------------------------------------ */

/* A stretch on its way into the waits. */
struct standing {
    struct analysis *analysis;
    uint32_t thread; /* the process's first */
};

/* A piece of what a process's first thread did while its process waited for
 * another rank's data: while it was in a call of libc, it waited, too. */
static void
data_take(void *state, struct region piece, const struct history_state *did)
{
    const struct standing *standing = state;
    struct analysis *analysis = standing->analysis;
    ck_time_t end = piece.end;
    struct wait wait;

    for (; did->is_known && did->call != NULL && piece.start < end;
         piece.start = piece.end) {
        bool is_wait = lookback_data_wait(analysis->lookback, standing->thread,
                                          did->call, piece.start, &wait);

        piece.end = wait.until < end ? wait.until : end;
        if (is_wait) {
            delay_wait(analysis->delay, standing->thread, piece, &wait);
            waitstates_add(analysis->waitstates, standing->thread, piece,
                           &wait);
        }
    }
}

CK_ORDER(by_data, struct sockets_stretch, CK_UP(part.end))

/* Look at the stretches that were over before `now`, in order of that: what
 * all threads did in them is known. */
static void stretches_close(struct analysis *analysis, ck_time_t now)
{
    size_t kept = 0;

    if (analysis->stretches_count > 1) {
        qsort(analysis->stretches, analysis->stretches_count,
              sizeof(*analysis->stretches), by_data);
    }
    for (size_t i = 0; i < analysis->stretches_count; i++) {
        struct sockets_stretch stretch = analysis->stretches[i];
        struct standing standing = {
            analysis, lookback_main(analysis->lookback, stretch.process)};

        if (stretch.part.end >= now) {
            analysis->stretches[kept++] = stretch;
        } else if (standing.thread != HISTORY_NONE) {
            history_walk(lookback_history(analysis->lookback), standing.thread,
                         stretch.part, data_take, &standing);
        }
    }
    analysis->stretches_count = kept;
}

static void stretch_add(struct analysis *analysis)
{
    const struct sockets_stretch *stretch =
        lookback_stretch(analysis->lookback);

    if (stretch == NULL) {
        return;
    }
    array_grow(&analysis->stretches, &analysis->stretches_room,
               analysis->stretches_count, sizeof(*stretch));
    analysis->stretches[analysis->stretches_count++] = *stretch;
}

/* ---- taking ------------------------------------------------------------- */

/* The thread has left its call before; the mark of this one. */
static int64_t call_enter(struct analysis *analysis,
                          const struct timeline_event *event)
{
    for (struct pending *pending =
             pendings_of(analysis->pendings, event->thread);
         pending != NULL;
         pending = pendings_next(analysis->pendings, pending)) {
        struct wait wait;

        if (!pending->is_replayed) {
            pending_replay(analysis, pending,
                           lookback_wait(analysis->lookback, pending->thread,
                                         &pending->call, &wait)
                               ? &wait
                               : NULL);
        }
    }
    return idealnetwork_enter(analysis->idealnetwork, event->thread,
                              event->start);
}

static void call_add(struct analysis *analysis,
                     const struct timeline_event *event,
                     int64_t mark)
{
    /* The site and the number are at the same place in all classes. */
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct pending pending = {.thread = event->thread,
                              .call = {.start = event->start,
                                       .end = event->end,
                                       .site = record->site,
                                       .process = event->process,
                                       .name = record->e.name,
                                       .call = record->call,
                                       .kind = record->e.kind,
                                       .is_call = true}};

    name_look(analysis, event, &pending);
    pending.is_cut = (event->record->flags & CK_FLAG_CUT) != 0;
    pendings_add(analysis->pendings, &pending);
    if (pending.edge != EDGE_NONE) {
        initfinalize_enter(analysis->edges, pending.edge, event, mark);
    }
    if (analysis->stuck != NULL && pending.is_cut) {
        stuck_take(analysis->stuck, event);
    }
    delay_enter(analysis->delay, event->thread,
                (struct region){event->start, event->end});
}

/* Steps were found before the first event, or mark themselves. */
static inline bool is_for_steps(struct analysis *analysis,
                                const struct timeline_event *event)
{
    if (!analysis->is_begun) {
        analysis->is_begun = true;
        analysis->has_steps = steps_count(analysis->steps) > 0;
    }
    if (event->record->kind == CK_KIND_STEP) {
        analysis->has_steps = true;
    }
    return analysis->has_steps;
}

static void launch_take(struct analysis *analysis,
                        const struct timeline_event *event)
{
    if (analysis->launchstacks != NULL) {
        launchstacks_take(analysis->launchstacks, event);
    }
}

/* What has a stack of its own process. */
static void stacked_take(struct analysis *analysis,
                         const struct timeline_event *event)
{
    allocplaces_take(analysis->allocplaces, event);
    allocplaces_take(analysis->devicememory, event);
    launch_take(analysis, event);
}

/* Any other record. */
static int event_take(struct analysis *analysis,
                      const struct timeline_event *event)
{
    bool is_persistent = ck_event_is_persistent(event->record);
    bool is_call = is_mpi(event) && !is_persistent &&
                   event->thread < analysis->defs->threads_count;
    int64_t mark = 0;

    /* The ledger asks what waits cost, and they which threads were late. */
    threads_take(analysis->threads, event);
    pendings_close(analysis, event->start);
    ledger_settle(analysis->ledger, event->start);
    if (analysis->stretches_count > 0) {
        stretches_close(analysis, event->start);
    }
    if (is_call) {
        waitstates_enter(analysis->waitstates, event->thread);
        mark = call_enter(analysis, event);
    } else if (is_persistent && event->thread < analysis->defs->threads_count) {
        mark = idealnetwork_mark(analysis->idealnetwork, event->thread);
    }
    if (is_for_steps(analysis, event)) {
        steps_take(analysis->steps, event);
    }
    if (lookback_take(analysis->lookback, event, mark) != 0) {
        return -1;
    }
    stretch_add(analysis);
    if (is_call) {
        call_add(analysis, event, mark);
    }
    switch (ck_kind_class(event->record->kind)) {
    case CK_CLASS_MARK:
        blockedplaces_take(analysis->blockedplaces, event);
        return 0;
    case CK_CLASS_SAMPLE:
        launch_take(analysis, event);
        if (event->record->kind == CK_KIND_OFF_CPU) {
            blockedplaces_take(analysis->blockedplaces, event);
            return 0;
        }
        faultplaces_take(analysis->faultplaces, event);
        hotspots_take(analysis->hotspots, event);
        return 0;
    case CK_CLASS_COUNTER:
        memoryuse_take(analysis->memoryuse, event);
        return 0;
    case CK_CLASS_CALL:
        launch_take(analysis, event);
        return 0;
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        ledger_take(analysis->ledger, event);
        launch_take(analysis, event);
        return 0;
    default:
        return 0;
    }
}

int analysis_take(void *state, const struct timeline_event *event)
{
    if (ck_kind_class(event->record->kind) == CK_CLASS_STACKED) {
        stacked_take(state, event);
        return 0;
    }
    return event_take(state, event);
}

void analysis_finish(struct analysis *analysis)
{
    pendings_close(analysis, INT64_MAX);
    stretches_close(analysis, INT64_MAX);
}

/* Steps that the program does not mark: ranks.c knows nothing of them. */
static void rank_steps(const struct analysis *analysis,
                       uint32_t index,
                       struct report_rank *rank)
{
    struct steps_lengths lengths;

    steps_lengths(analysis->steps, index, &lengths);
    rank->steps = lengths.count;
    rank->step_median = lengths.median;
    rank->step_max = lengths.longest;
    rank->is_median_exact = true;
}

static void ranks_report(const struct analysis *analysis, struct report *report)
{
    for (size_t i = 0; i < analysis->defs->processes_count; i++) {
        const struct defs_process *process = &analysis->defs->processes[i];

        report->spawned += process->spawned;
        if (process->spawned_command != NULL) {
            report->spawned_command = process->spawned_command;
        }
    }
    for (size_t i = 0; i < report->ranks_count; i++) {
        struct report_rank *rank = &report->ranks[i];
        uint32_t index = defs_rank_index(analysis->defs, rank->number);

        if (index != DEFS_NONE) {
            const struct waitstates_rank *sums =
                waitstates_rank(analysis->waitstates, index);

            rank->waited = sums->waited;
            rank->waited_unknown = unknowns_rank(analysis->unknowns, index);
            rank->is_shared = initfinalize_is_shared(analysis->edges, index);
            /* Its processes were in MPI at one time. */
            if (rank->is_shared && rank->waited_unknown > rank->mpi) {
                rank->waited_unknown = rank->mpi;
            }
            rank->waited_below = sums->below;
            rank->waited_error = sums->waited_error;
            rank->caused_error = sums->caused_error;
            rank->waits = sums->waits;
            rank->caused = sums->caused;
            rank->waited_data = sums->data;
        }
        if (index != DEFS_NONE && report->table.rhythm != NULL) {
            rank_steps(analysis, index, rank);
        }
    }
}

/* The waits of the ranks that are wanted, grouped. */
static void waits_report(const struct analysis *analysis,
                         const struct causes_from *from,
                         struct report *report)
{
    size_t count, used = 0;
    const struct ledger_row *rows =
        waitstates_rows(analysis->waitstates, &count);
    struct ledger_row *kept = xcalloc(count + 1, sizeof(*kept));

    for (size_t i = 0; i < count; i++) {
        if (defs_is_wanted(analysis->defs, rows[i].rank)) {
            kept[used++] = rows[i];
        }
    }
    report->waits = causes_group(from, kept, used, &report->waits_count);
    free(kept);
}

int analysis_report(struct analysis *analysis, struct report *report)
{
    struct causes_from idle = {analysis->lookback, analysis->delay,
                               ledger_delays(analysis->ledger), analysis->idle,
                               false};
    struct causes_from waits = {analysis->lookback, analysis->delay,
                                waitstates_delays(analysis->waitstates), NULL,
                                true};

    undone_report(analysis->defs, lookback_commands(analysis->lookback),
                  report);
    causes_report(analysis->ledger, &idle, report);
    waits_report(analysis, &waits, report);
    hotspots_report(analysis->hotspots, report);
    memoryuse_report(analysis->memoryuse, analysis->steps, analysis->region,
                     report);
    faultplaces_report(analysis->faultplaces, report);
    allocplaces_report(analysis->allocplaces, report);
    allocplaces_report(analysis->devicememory, report);
    blockedplaces_report(analysis->blockedplaces, report);
    if (analysis->launchstacks != NULL) {
        launchstacks_report(analysis->launchstacks, report);
    }
    initfinalize_report(analysis->edges, report);
    ranks_report(analysis, report);
    report->launches = lookback_launches(analysis->lookback);
    report->limits = delay_limits(analysis->delay);
    report->limits.pairs =
        delaysums_left_out(ledger_delays(analysis->ledger)) +
        delaysums_left_out(waitstates_delays(analysis->waitstates));
    efficiency_report(analysis->defs, analysis->idealnetwork,
                      lookback_counts(analysis->lookback), report);
    threads_report(analysis->threads, report);
    steps_report(analysis->steps, report);
    unknowns_report(analysis->unknowns, report);
    if (stragglers_report(analysis->defs, &waits, analysis->waitstates,
                          analysis->late, report) != 0) {
        return -1;
    }
    faultplaces_explain(report);
    return 0;
}
