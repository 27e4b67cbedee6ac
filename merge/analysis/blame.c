/* blame.c - all that asks why somebody stood still, in the right order
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An MPI call is looked at once the merge has passed its return: all that it
 * may have waited for began before.
 */
#include "merge/analysis/blame.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/idle/causes.h"
#include "merge/analysis/delays/delay.h"
#include "merge/analysis/totals/efficiency.h"
#include "merge/analysis/waits/edges.h"
#include "merge/analysis/totals/hotspots.h"
#include "merge/analysis/idle/ledger.h"
#include "merge/analysis/waits/pendings.h"
#include "merge/analysis/totals/replay.h"
#include "merge/analysis/history/scene.h"
#include "merge/analysis/steps/steps.h"
#include "merge/analysis/waits/stragglers.h"
#include "merge/analysis/waits/stuck.h"
#include "merge/analysis/idle/undone.h"
#include "merge/analysis/waits/waitstates.h"
#include "merge/model/array.h"
#include "merge/timeline/dark.h"

#define NAMES_KNOWN 64

/* Messages up to that size are taken to be sent without a receive. */
#define EAGER_BYTES 4096

struct blame {
    const struct cast *cast; /* borrowed */
    struct scene *scene;
    struct steps *steps;
    struct when *late; /* what each rank made others wait */
    struct when *idle; /* each cause: causekeys.h */
    struct ledger *ledger;
    struct waitstates *waitstates;
    struct delay *delay;
    struct replay *replay;
    struct hotspots *hotspots;
    struct edges *edges;
    struct stuck *stuck; /* NULL = all ended well */
    struct region region;
    ck_time_t *unknown; /* by rank of the cast: in calls of which it is not
                           known whether they waited */
    struct pendings *pendings;
    bool is_begun;
    bool has_steps;
    struct sockets_stretch *stretches; /* not yet looked at */
    size_t stretches_count, stretches_room;
    /* Names looked at, by address: kept texts stay where they are. */
    struct {
        const char *name;
        bool is_instant;
        enum edge edge;
    } known[NAMES_KNOWN];
};

static ck_time_t blame_horizon(const void *state, ck_time_t now)
{
    const struct blame *blame = state;
    ck_time_t horizon = pendings_horizon(blame->pendings, now);

    for (size_t i = 0; i < blame->stretches_count; i++) {
        ck_time_t start = blame->stretches[i].part.start;

        horizon = start < horizon ? start : horizon;
    }
    return horizon;
}

/* What is not known of agents is no idle time. */
static int dark_cover(struct blame *blame,
                      const struct cast *cast,
                      const struct align *align)
{
    for (uint32_t i = 0; i < cast->agents_count; i++) {
        struct dark dark = dark_find(cast, align_axis(align), i);
        struct shadow_part part = {dark.part, dark_cause(dark.reason), i,
                                   CAST_NONE, 0};

        if (dark.reason != REPORT_DARK_NOT &&
            shadow_add(scene_shadow(blame->scene), &part, INT64_MIN) != 0) {
            return -1;
        }
    }
    return 0;
}

/* From its end on a program did nothing. */
static void ends_say(struct blame *blame,
                     const struct cast *cast,
                     const struct align *align)
{
    for (uint32_t i = 0; i < cast->agents_count; i++) {
        if (cast->agents[i].has_exit && cast->agents[i].exit_time != 0) {
            waitstates_end(blame->waitstates, i,
                           axis_time(align_axis(align), i, false,
                                     cast->agents[i].exit_time));
        }
    }
}

/* For whom a thread waited in a call that is no message and no collective. */
static bool others_wait(const void *state,
                        uint32_t thread,
                        const struct host_span *call,
                        struct wait *wait)
{
    const struct blame *blame = state;

    if (edges_find(blame->edges, thread, call, wait)) {
        return true;
    }
    return blame->stuck != NULL &&
           (edges_is_final(blame->edges, thread, call)
                ? stuck_final(blame->stuck, thread, call, wait)
                : stuck_find(blame->stuck, thread, call, wait)) &&
           scene_error(blame->scene, thread, call->start, wait);
}

struct blame *blame_create(const struct cast *cast,
                           const struct align *align,
                           struct region region)
{
    struct blame *blame = calloc(1, sizeof(*blame));

    if (blame == NULL) {
        return NULL;
    }
    blame->cast = cast;
    blame->region = region;
    blame->pendings = pendings_create(cast->threads_count);
    blame->unknown = calloc(cast->ranks_count + 1, sizeof(*blame->unknown));
    blame->scene = scene_create(cast, align, EAGER_BYTES);
    blame->steps = steps_create(cast, region);
    blame->late = when_create(blame->steps, region, 0);
    blame->idle = when_create(blame->steps, region, 0);
    if (blame->scene != NULL && blame->steps != NULL && blame->late != NULL &&
        blame->idle != NULL) {
        blame->ledger = ledger_create(cast, blame->scene, blame->idle, region);
        blame->waitstates =
            waitstates_create(cast, blame->scene, blame->steps, region);
        blame->delay = delay_create(blame->scene, region, 0);
        blame->replay = replay_create(cast, region);
        blame->hotspots = hotspots_create(cast, blame->scene, region);
        blame->edges = edges_create(cast, blame->scene);
    }
    if (blame->pendings == NULL || blame->ledger == NULL ||
        blame->waitstates == NULL || blame->replay == NULL ||
        blame->hotspots == NULL || blame->edges == NULL ||
        blame->delay == NULL || blame->unknown == NULL ||
        ledger_delay(blame->ledger, blame->delay) != 0 ||
        waitstates_delay(blame->waitstates, blame->delay) != 0 ||
        dark_cover(blame, cast, align) != 0) {
        blame_destroy(blame);
        return NULL;
    }
    ends_say(blame, cast, align);
    waitstates_watch(blame->waitstates, blame->late);
    scene_client(blame->scene, blame_horizon, blame);
    waits_others(scene_waits(blame->scene), others_wait, blame);
    return blame;
}

void blame_destroy(struct blame *blame)
{
    if (blame == NULL) {
        return;
    }
    replay_destroy(blame->replay);
    hotspots_destroy(blame->hotspots);
    edges_destroy(blame->edges);
    stuck_destroy(blame->stuck);
    free(blame->unknown);
    delay_destroy(blame->delay);
    waitstates_destroy(blame->waitstates);
    ledger_destroy(blame->ledger);
    scene_destroy(blame->scene);
    when_destroy(blame->late);
    when_destroy(blame->idle);
    steps_destroy(blame->steps);
    pendings_destroy(blame->pendings);
    free(blame->stretches);
    free(blame);
}

void blame_see(struct blame *blame, waitstates_see_f f, void *state)
{
    waitstates_see(blame->waitstates, f, state);
}

struct steps *blame_steps(struct blame *blame)
{
    return blame->steps;
}

int blame_stopped(struct blame *blame, uint32_t agent, struct region part)
{
    struct shadow_part stopped = {part, CAUSE_HOST_STOPPED, agent, CAST_NONE,
                                  0};

    return shadow_add(scene_shadow(blame->scene), &stopped, INT64_MIN);
}

int blame_impasse(struct blame *blame, const struct impasse *impasse)
{
    blame->stuck = stuck_create(blame->cast, impasse);
    return blame->stuck == NULL ? -1 : 0;
}

const struct scene *blame_scene(const struct blame *blame)
{
    return blame->scene;
}

const struct waitstates *blame_waitstates(const struct blame *blame)
{
    return blame->waitstates;
}

const struct replay *blame_replay(const struct blame *blame)
{
    return blame->replay;
}

const struct delay *blame_delay(const struct blame *blame)
{
    return blame->delay;
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
static void name_look(struct blame *blame,
                      const struct timeline_event *event,
                      struct pending *pending)
{
    const char *name =
        cast_name(blame->cast, event->process, event->record->name);
    size_t at = (size_t)((uintptr_t)name >> 4) % NAMES_KNOWN;

    if (event->record->kind == CK_KIND_ICOLLECTIVE ||
        (ck_kind_class(event->record->kind) == CK_CLASS_MESSAGE &&
         event->record->kind != CK_KIND_PROBE &&
         ((const struct ck_message *)event->record)->request != 0)) {
        pending->is_instant = true;
        return;
    }
    if (blame->known[at].name != name) {
        blame->known[at].name = name;
        blame->known[at].is_instant = is_instant_name(name);
        blame->known[at].edge = edge_of(name);
    }
    pending->is_instant = blame->known[at].is_instant;
    pending->edge = blame->known[at].edge;
}

/* For whom a call waited; NULL = that is not known. */
static void pending_replay(struct blame *blame,
                           struct pending *pending,
                           const struct wait *wait)
{
    enum replay_call what = REPLAY_UNKNOWN;
    int64_t mark = INT64_MIN;

    if (pending->is_replayed) {
        return;
    }
    pending->is_replayed = true;
    if (wait != NULL && !pending->is_cut &&
        (pending->edge == EDGE_NONE || wait->mark != INT64_MIN)) {
        what = REPLAY_KNOWN;
        mark = wait->mark;
    } else if (pending->is_instant) {
        what = REPLAY_KNOWN;
    }
    replay_leave(blame->replay, pending->thread, pending->call.end, what, mark);
}

static int pending_close(struct blame *blame, struct pending *pending);

/* What a wait cost rests on the waits that the late thread had before. */
static int late_close(struct blame *blame, uint32_t late, ck_time_t until)
{
    for (struct pending *pending = pendings_of(blame->pendings, late);
         pending != NULL && pending->call.end <= until;
         pending = pendings_next(blame->pendings, pending)) {
        if (!pending->is_closed && pending_close(blame, pending) != 0) {
            return -1;
        }
    }
    return 0;
}

/* What a call cost that waited; NULL = it did not, or that is not known. */
static int delay_close(struct blame *blame,
                       const struct pending *pending,
                       const struct wait *wait)
{
    struct region call = {pending->call.start, pending->call.end};
    struct region part = call;

    /* Who never came is not late: it did nothing longer than others. */
    if (!pending->is_cut && wait != NULL && wait->thread != CAST_NONE &&
        wait->until > call.start) {
        part.end = wait->until < call.end ? wait->until : call.end;
        if (late_close(blame, wait->thread, part.end) != 0 ||
            delay_wait(blame->delay, pending->thread, part, wait) != 0) {
            return -1;
        }
    }
    return delay_leave(blame->delay, pending->thread, call);
}

static void unknown_add(struct blame *blame, const struct pending *pending)
{
    const struct cast_process *process =
        &blame->cast->processes[pending->call.process];
    uint32_t index = cast_rank_index(blame->cast, process->rank);
    struct region part = {pending->call.start, pending->call.end};

    part.start = part.start < process->begin ? process->begin : part.start;
    if (index != CAST_NONE && !pending->is_instant && part.start < part.end &&
        region_clip(blame->region, &part.start, &part.end)) {
        blame->unknown[index] += region_length(part);
    }
}

static int pending_close(struct blame *blame, struct pending *pending)
{
    const struct host_span *call = &pending->call;
    struct wait wait;
    bool is_known = scene_wait(blame->scene, pending->thread, call, &wait);

    pending->is_closed = true;
    pending_replay(blame, pending, is_known ? &wait : NULL);
    if (!is_known && pending->edge != EDGE_INIT) {
        unknown_add(blame, pending);
    }
    if (delay_close(blame, pending, is_known ? &wait : NULL) != 0) {
        return -1;
    }
    if (pending->edge != EDGE_NONE &&
        edges_leave(blame->edges, pending->edge, pending->thread,
                    (struct region){call->start, call->end}) != 0) {
        return -1;
    }
    return is_known
               ? waitstates_add(blame->waitstates, pending->thread,
                                (struct region){call->start, call->end}, &wait)
               : 0;
}

/* Look at the calls that returned before `now`, in order of that. */
static int pendings_close(struct blame *blame, ck_time_t now)
{
    while (pendings_due(blame->pendings) < now) {
        struct pending *pending = pendings_first(blame->pendings);

        if (!pending->is_closed && pending_close(blame, pending) != 0) {
            return -1;
        }
        pendings_pop(blame->pendings);
    }
    return 0;
}

/* ---- data on connections ------------------------------------------------ */

/* A stretch on its way into the waits. */
struct standing {
    struct blame *blame;
    uint32_t thread; /* the process's first */
};

/* A piece of what a process's first thread did while its process waited for
 * another rank's data: where it stood in a call of libc, it waited, too. */
static int
data_take(void *state, struct region piece, const struct host_state *did)
{
    const struct standing *standing = state;
    struct blame *blame = standing->blame;
    ck_time_t end = piece.end;
    struct wait wait;

    for (; did->is_known && did->call != NULL && piece.start < end;
         piece.start = piece.end) {
        bool is_wait = scene_data_wait(blame->scene, standing->thread,
                                       did->call, piece.start, &wait);

        piece.end = wait.until < end ? wait.until : end;
        if (is_wait &&
            (delay_wait(blame->delay, standing->thread, piece, &wait) != 0 ||
             waitstates_add(blame->waitstates, standing->thread, piece,
                            &wait) != 0)) {
            return -1;
        }
    }
    return 0;
}

static int by_data(const void *left, const void *right)
{
    const struct sockets_stretch *a = left;
    const struct sockets_stretch *b = right;

    return (a->part.end > b->part.end) - (a->part.end < b->part.end);
}

/* Look at the stretches that were over before `now`, in order of that: what
 * anybody did in them is known. */
static int stretches_close(struct blame *blame, ck_time_t now)
{
    size_t kept = 0;

    if (blame->stretches_count > 1) {
        qsort(blame->stretches, blame->stretches_count,
              sizeof(*blame->stretches), by_data);
    }
    for (size_t i = 0; i < blame->stretches_count; i++) {
        struct sockets_stretch stretch = blame->stretches[i];
        struct standing standing = {blame,
                                    scene_main(blame->scene, stretch.process)};

        if (stretch.part.end >= now) {
            blame->stretches[kept++] = stretch;
        } else if (standing.thread != HOST_NONE &&
                   host_walk(scene_host(blame->scene), standing.thread,
                             stretch.part, data_take, &standing) != 0) {
            return -1;
        }
    }
    blame->stretches_count = kept;
    return 0;
}

static int stretch_add(struct blame *blame)
{
    const struct sockets_stretch *stretch = scene_stretch(blame->scene);

    if (stretch == NULL) {
        return 0;
    }
    if (array_grow(&blame->stretches, &blame->stretches_room,
                   blame->stretches_count, sizeof(*stretch)) != 0) {
        return -1;
    }
    blame->stretches[blame->stretches_count++] = *stretch;
    return 0;
}

/* ---- taking ------------------------------------------------------------- */

/* The thread has left its call before; the mark of this one. */
static int64_t call_enter(struct blame *blame,
                          const struct timeline_event *event)
{
    for (struct pending *pending = pendings_of(blame->pendings, event->thread);
         pending != NULL; pending = pendings_next(blame->pendings, pending)) {
        struct wait wait;

        if (!pending->is_replayed) {
            pending_replay(
                blame, pending,
                scene_wait(blame->scene, pending->thread, &pending->call, &wait)
                    ? &wait
                    : NULL);
        }
    }
    return replay_enter(blame->replay, event->thread, event->start);
}

static int
call_add(struct blame *blame, const struct timeline_event *event, int64_t mark)
{
    /* The site and the number lie at the same place in all classes. */
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

    name_look(blame, event, &pending);
    pending.is_cut = (event->record->flags & CK_FLAG_CUT) != 0;
    if (pendings_add(blame->pendings, &pending) == NULL) {
        return -1;
    }
    if (pending.edge != EDGE_NONE) {
        edges_enter(blame->edges, pending.edge, event, mark);
    }
    if (blame->stuck != NULL && pending.is_cut &&
        stuck_take(blame->stuck, event) != 0) {
        return -1;
    }
    delay_enter(blame->delay, event->thread,
                (struct region){event->start, event->end});
    return 0;
}

/* Steps were found before the first event, or tell of themselves. */
static inline bool is_for_steps(struct blame *blame,
                                const struct timeline_event *event)
{
    if (!blame->is_begun) {
        blame->is_begun = true;
        blame->has_steps = steps_count(blame->steps) > 0;
    }
    if (event->record->kind == CK_KIND_STEP) {
        blame->has_steps = true;
    }
    return blame->has_steps;
}

int blame_take(void *state, const struct timeline_event *event)
{
    struct blame *blame = state;
    bool is_persistent = (event->record->flags & CK_FLAG_PERSISTENT) != 0;
    bool is_call = is_mpi(event) && !is_persistent &&
                   event->thread < blame->cast->threads_count;
    int64_t mark = 0;

    /* The ledger asks what waits cost. */
    if (pendings_close(blame, event->start) != 0 ||
        ledger_settle(blame->ledger, event->start) != 0 ||
        (blame->stretches_count > 0 &&
         stretches_close(blame, event->start) != 0)) {
        return -1;
    }
    if (is_call) {
        mark = call_enter(blame, event);
    } else if (is_persistent && event->thread < blame->cast->threads_count) {
        mark = replay_mark(blame->replay, event->thread);
    }
    if ((is_for_steps(blame, event) && steps_take(blame->steps, event) != 0) ||
        scene_take(blame->scene, event, mark) != 0 || stretch_add(blame) != 0 ||
        (is_call && call_add(blame, event, mark) != 0)) {
        return -1;
    }
    switch (ck_kind_class(event->record->kind)) {
    case CK_CLASS_SAMPLE:
        return hotspots_take(blame->hotspots, event);
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        return ledger_take(blame->ledger, event);
    default:
        return 0;
    }
}

int blame_finish(struct blame *blame)
{
    return pendings_close(blame, INT64_MAX) != 0
               ? -1
               : stretches_close(blame, INT64_MAX);
}

/* Steps that the program does not mark: ranks.c knows nothing of them. 0, or -1
 * with ENOMEM. */
static int
rank_steps(const struct blame *blame, uint32_t index, struct report_rank *rank)
{
    struct steps_lengths lengths;

    if (steps_lengths(blame->steps, index, &lengths) != 0) {
        return -1;
    }
    rank->steps = lengths.count;
    rank->step_median = lengths.median;
    rank->step_max = lengths.longest;
    rank->is_median_exact = true;
    return 0;
}

/* 0, or -1 with ENOMEM. */
static int ranks_report(const struct blame *blame, struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        struct report_rank *rank = &report->ranks[i];
        uint32_t index = cast_rank_index(blame->cast, rank->number);

        if (index != CAST_NONE) {
            const struct waitstates_rank *sums =
                waitstates_rank(blame->waitstates, index);

            rank->waited = sums->waited;
            rank->waited_unknown = blame->unknown[index];
            rank->waited_below = sums->below;
            rank->waited_error = sums->waited_error;
            rank->caused_error = sums->caused_error;
            rank->waits = sums->waits;
            rank->caused = sums->caused;
            rank->waited_data = sums->data;
        }
        if (index != CAST_NONE && report->table.rhythm != NULL &&
            rank_steps(blame, index, rank) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The waits of the ranks that are wanted, grouped. 0, or -1 with ENOMEM. */
static int waits_report(const struct blame *blame,
                        const struct causes_from *from,
                        struct report *report)
{
    size_t count, used = 0;
    const struct ledger_row *rows = waitstates_rows(blame->waitstates, &count);
    struct ledger_row *kept = calloc(count + 1, sizeof(*kept));

    if (kept == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (cast_is_wanted(blame->cast, rows[i].rank)) {
            kept[used++] = rows[i];
        }
    }
    report->waits = causes_group(from, kept, used, &report->waits_count);
    free(kept);
    return report->waits == NULL ? -1 : 0;
}

int blame_report(struct blame *blame, struct report *report)
{
    struct causes_from idle = {blame->scene, blame->delay,
                               ledger_delays(blame->ledger), blame->idle,
                               false};
    struct causes_from waits = {blame->scene, blame->delay,
                                waitstates_delays(blame->waitstates), NULL,
                                true};

    if (undone_report(blame->cast, scene_commands(blame->scene), report) != 0 ||
        causes_report(blame->ledger, &idle, report) != 0 ||
        waits_report(blame, &waits, report) != 0 ||
        hotspots_report(blame->hotspots, report) != 0 ||
        edges_report(blame->edges, report) != 0 ||
        ranks_report(blame, report) != 0) {
        return -1;
    }
    report->launches = scene_launches(blame->scene);
    report->limits = delay_limits(blame->delay);
    report->limits.pairs =
        delaysums_left_out(ledger_delays(blame->ledger)) +
        delaysums_left_out(waitstates_delays(blame->waitstates));
    efficiency_report(blame->cast, blame->replay, scene_counts(blame->scene),
                      report);
    if (steps_report(blame->steps, report) != 0) {
        return -1;
    }
    return stragglers_report(blame->cast, &waits, blame->waitstates,
                             blame->late, report);
}
