/* outside.c - how the ranks spent the time outside MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a thread is in layers over each other: the calls of MPI,
 * times with lost records, times without a CPU, calls of devices and
 * of libc, times in which it was blocked. An instant is what the highest layer
 * with something there is; where none has any, it had a CPU, if its switches
 * are recorded. Everything comes in order of start, so of each layer only the
 * latest end is kept, and a thread's time is settled up to what comes next.
 *
 *     MPI        |======|              |==|
 *     ready             . |===|        .
 *     I/O               . |===========|.
 *     blocked           .      |======|.
 *                      cpu ready io  cpu
 */
#include "merge/analysis/totals/outside.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/totals/commthreads.h"
#include "merge/analysis/totals/layers.h"
#include "merge/model/cause.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/timeline/unknowntail.h"
#include "schema/store/run.h"

/* What a layer's time is; that of MPI is none of it. */
static const enum report_outside_state states[] = {
    [LAYER_MPI] = REPORT_OUTSIDE_STATES,
    [LAYER_LOST] = REPORT_OUTSIDE_UNKNOWN,
    [LAYER_READY] = REPORT_OUTSIDE_READY,
    [LAYER_DEVICE] = REPORT_OUTSIDE_DEVICE,
    [LAYER_SLEEP] = REPORT_OUTSIDE_SLEEP,
    [LAYER_LOCK] = REPORT_OUTSIDE_LOCK,
    [LAYER_IO] = REPORT_OUTSIDE_IO,
    [LAYER_BLOCKED] = REPORT_OUTSIDE_BLOCKED,
    [LAYER_AWAY] = REPORT_OUTSIDE_UNKNOWN,
};

struct thread {
    ck_time_t begin;           /* of its part of the region */
    ck_time_t first;           /* time that anything is known of it */
    ck_time_t to;              /* settled up to there */
    struct report_outside did; /* cpu: where no layer has anything */
};

struct outside {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct table *keys; /* agent, incarnation, tid -> thread */
    struct thread *threads;
    struct layers *layers; /* by thread, beyond its `to` */
    struct commthreads *commthreads;
    bool *has_switches; /* by agent */
};

struct outside *outside_create(const struct defs *defs, struct region region)
{
    struct outside *outside = xcalloc(1, sizeof(*outside));

    outside->defs = defs;
    outside->region = region;
    outside->keys = table_create();
    outside->threads =
        xcalloc(defs->threads_count + 1, sizeof(*outside->threads));
    outside->layers =
        xcalloc(defs->threads_count + 1, sizeof(*outside->layers));
    outside->commthreads = commthreads_create(defs, outside->layers, region);
    outside->has_switches =
        xcalloc(defs->agents_count + 1, sizeof(*outside->has_switches));
    for (size_t i = 0; i < defs->threads_count; i++) {
        const struct defs_process *process =
            &defs->processes[defs->threads[i].process];
        struct thread *thread = &outside->threads[i];

        thread->begin =
            process->begin > region.start ? process->begin : region.start;
        thread->begin = thread->begin < region.end ? thread->begin : region.end;
        thread->to = thread->begin;
        thread->first = INT64_MAX;
        table_number_of(outside->keys, process->agent, process->incarnation,
                        defs->threads[i].tid);
    }
    return outside;
}

void outside_destroy(struct outside *outside)
{
    if (outside == NULL) {
        return;
    }
    table_destroy(outside->keys);
    free(outside->threads);
    free(outside->layers);
    commthreads_destroy(outside->commthreads);
    free(outside->has_switches);
    free(outside);
}

static void state_add(struct thread *thread, uint32_t layer, ck_time_t ns)
{
    if (layer == LAYER_NONE) {
        thread->did.ns[REPORT_OUTSIDE_CPU] += ns;
    } else if (layer != LAYER_MPI) {
        thread->did.ns[states[layer]] += ns;
    }
}

/* The same where at most one layer is over it, as mostly between calls. */
static inline void
thread_settle_one(struct thread *thread, struct layers *layers, ck_time_t time)
{
    if (layers->over != 0) {
        uint32_t layer = (uint32_t)__builtin_ctz(layers->over);
        ck_time_t until = layers->until[layer];

        if (until > time) {
            until = time;
        } else {
            layers->over = 0;
        }
        if (until > thread->to) {
            state_add(thread, layer, until - thread->to);
            thread->to = until;
        }
    }
    state_add(thread, LAYER_NONE, time - thread->to);
    thread->to = time;
}

/* Book what is between `to` and `time`. */
static void
thread_settle(struct thread *thread, struct layers *layers, ck_time_t time)
{
    if (thread->to < time && (layers->over & (layers->over - 1)) == 0) {
        thread_settle_one(thread, layers, time);
        return;
    }
    while (thread->to < time) {
        ck_time_t next = time;
        enum layer layer = layers_at(layers, thread->to, &next);

        state_add(thread, layer, next - thread->to);
        thread->to = next;
    }
    layers_drop(layers, thread->to);
}

static void part_add(struct outside *outside,
                     uint32_t number,
                     enum layer layer,
                     struct region part)
{
    struct thread *thread = &outside->threads[number];
    struct layers *layers = &outside->layers[number];
    ck_time_t end = outside->region.end;

    thread->first = part.start < thread->first ? part.start : thread->first;
    if (part.end <= thread->to || part.start >= end) {
        return;
    }
    commthreads_seen(outside->commthreads, number, part.start);
    thread_settle(thread, layers, part.start);
    part.end = part.end < end ? part.end : end;
    if ((layers->over & 1u << layer) == 0 || layers->until[layer] < part.end) {
        layers->until[layer] = part.end;
        layers->over |= 1u << layer;
    }
}

/* ---- what comes --------------------------------------------------------- */

static const uint8_t layers[CK_KIND_LIMIT] = {
    [CK_KIND_MPI_CALL] = LAYER_MPI + 1,
    [CK_KIND_SEND] = LAYER_MPI + 1,
    [CK_KIND_RECV] = LAYER_MPI + 1,
    [CK_KIND_PROBE] = LAYER_MPI + 1,
    [CK_KIND_SENDRECV] = LAYER_MPI + 1,
    [CK_KIND_COLLECTIVE] = LAYER_MPI + 1,
    [CK_KIND_ICOLLECTIVE] = LAYER_MPI + 1,
    [CK_KIND_API_OPENCL] = LAYER_DEVICE + 1,
    [CK_KIND_API_CUDA_RUNTIME] = LAYER_DEVICE + 1,
    [CK_KIND_API_CUDA_DRIVER] = LAYER_DEVICE + 1,
    [CK_KIND_API_NEURON] = LAYER_DEVICE + 1,
    [CK_KIND_NCCL] = LAYER_DEVICE + 1,
    [CK_KIND_NCCL_CALL] = LAYER_DEVICE + 1,
    [CK_KIND_POSIX] = LAYER_IO + 1,
    [CK_KIND_PREEMPTED] = LAYER_READY + 1,
    [CK_KIND_BLOCKED] = LAYER_BLOCKED + 1,
    [CK_KIND_LOST] = LAYER_LOST + 1,
    [CK_KIND_AWAY] = LAYER_AWAY + 1,
};

static enum layer posix_layer(const struct outside *outside,
                              const struct timeline_event *event)
{
    switch (
        cause_of_call(CK_KIND_POSIX, defs_name(outside->defs, event->process,
                                               event->record->name))) {
    case CAUSE_LOCK:
        return LAYER_LOCK;
    case CAUSE_SLEEP:
        return LAYER_SLEEP;
    default:
        return LAYER_IO;
    }
}

static void mpi_enter(struct outside *outside,
                      const struct timeline_event *event)
{
    uint32_t rank = defs_rank_index(outside->defs, event->rank);

    if (!(rank == DEFS_NONE)) {
        commthreads_enter(outside->commthreads, rank, event->thread,
                          event->start);
    }
}

/* The thread of an image that the collector names, DEFS_NONE = not known. */
static uint32_t named_thread(const struct outside *outside,
                             const struct timeline_event *event,
                             uint64_t tid)
{
    uint32_t agent = outside->defs->processes[event->process].agent;
    struct table_key key = {agent, event->record->name, tid};
    int64_t number = table_find(outside->keys, key);

    outside->has_switches[agent] = true;
    return number < 0 ? DEFS_NONE : (uint32_t)number;
}

/* A time without a CPU. */
static void off_take(struct outside *outside,
                     const struct timeline_event *event,
                     enum layer layer)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    uint32_t thread = named_thread(outside, event, (uint64_t)mark->value);

    if (thread != DEFS_NONE) {
        part_add(outside, thread, layer,
                 (struct region){event->start, event->end});
    }
}

/* From then on the thread is looked at. */
static void sample_take(struct outside *outside,
                        const struct timeline_event *event)
{
    const struct ck_sample *sample = (const struct ck_sample *)event->record;
    uint32_t thread = named_thread(outside, event, sample->tid);

    if (thread == DEFS_NONE) {
        return;
    }
    commthreads_seen(outside->commthreads, thread, event->start);
    if (event->start < outside->threads[thread].first) {
        outside->threads[thread].first = event->start;
    }
}

/* Of a thread of an agent, or of all of them (tid 0). */
static void lack_take(struct outside *outside,
                      const struct timeline_event *event,
                      enum layer layer)
{
    const struct ck_counter *lack = (const struct ck_counter *)event->record;
    const struct defs *defs = outside->defs;
    struct region part = {event->start, event->start + lack->enabled};

    if (layer == LAYER_AWAY && lack->enabled == 0) {
        part.end = INT64_MAX;
    }
    for (uint32_t i = 0; i < defs->threads_count; i++) {
        if (defs->processes[defs->threads[i].process].agent ==
                defs->processes[event->process].agent &&
            (lack->tid == 0 || defs->threads[i].tid == lack->tid)) {
            part_add(outside, i, layer, part);
        }
    }
}

void outside_take(struct outside *outside, const struct timeline_event *event)
{
    unsigned kind = event->record->kind;
    unsigned known = kind < CK_KIND_LIMIT ? layers[kind] : 0;
    enum layer layer;

    if (kind == CK_KIND_SAMPLE) {
        sample_take(outside, event);
        return;
    }
    if (known == 0 || ck_event_is_persistent(event->record)) {
        return;
    }
    layer = (enum layer)(known - 1);
    if (layer == LAYER_READY || layer == LAYER_BLOCKED) {
        off_take(outside, event, layer);
        return;
    }
    if (layer == LAYER_LOST || layer == LAYER_AWAY) {
        lack_take(outside, event, layer);
        return;
    }
    if (event->thread >= outside->defs->threads_count) {
        return;
    }
    if (layer == LAYER_MPI) {
        mpi_enter(outside, event);
    }
    if (layer == LAYER_IO) {
        layer = posix_layer(outside, event);
    }
    part_add(outside, event->thread, layer,
             (struct region){event->start, event->end});
}

/* ---- the report --------------------------------------------------------- */

/* The first thread of the rank's largest process, DEFS_NONE = none. */
static uint32_t main_thread(const struct outside *outside, int32_t rank)
{
    const struct defs *defs = outside->defs;
    uint32_t best = DEFS_NONE;
    uint64_t events = 0;

    for (uint32_t i = 0; i < defs->threads_count; i++) {
        const struct defs_process *process =
            &defs->processes[defs->threads[i].process];

        if (process->rank == rank && process->incarnation != 0 &&
            defs->threads[i].tid == process->pid &&
            (best == DEFS_NONE || process->events > events)) {
            best = i;
            events = process->events;
        }
    }
    return best;
}

/* Are its switches recorded? */
static bool has_switches(const struct outside *outside, uint32_t agent)
{
    return outside->has_switches[agent] ||
           defs_exit_number(&outside->defs->agents[agent], "switches", 0) > 0;
}

static ck_time_t clip(const struct thread *thread, ck_time_t time)
{
    return time > thread->begin ? time : thread->begin;
}

/* When the process ended, or the region. */
static ck_time_t exit_of(const struct outside *outside,
                         const struct axis *axis,
                         uint32_t process)
{
    ck_time_t exited;

    return unknowntail_ended(outside->defs, axis, process, &exited) &&
                   exited < outside->region.end
               ? exited
               : outside->region.end;
}

/* When nothing of the process is known any more. */
static ck_time_t
end_of(const struct outside *outside, const struct axis *axis, uint32_t process)
{
    struct unknowntail dark = unknowntail_find(
        outside->defs, axis, outside->defs->processes[process].agent);
    ck_time_t end = exit_of(outside, axis, process);

    return dark.reason != REPORT_DARK_NOT && dark.part.start < end
               ? dark.part.start
               : end;
}

uint32_t outside_shown(const struct outside *outside, uint32_t index)
{
    uint32_t number = commthreads_first(outside->commthreads, index);

    return number != DEFS_NONE
               ? number
               : main_thread(outside, outside->defs->ranks[index].number);
}

ck_time_t outside_rank(struct outside *outside,
                       const struct axis *axis,
                       uint32_t index,
                       struct report_outside *row)
{
    const struct defs *defs = outside->defs;
    uint32_t number = outside_shown(outside, index);
    struct thread *thread;
    struct commthreads_time inside;
    uint32_t process, agent;
    ck_time_t head, end, gone;

    *row = (struct report_outside){{0}};
    if (number == DEFS_NONE) {
        return 0;
    }
    thread = &outside->threads[number];
    process = defs->threads[number].process;
    agent = defs->processes[process].agent;
    end = clip(thread, end_of(outside, axis, process));
    inside = commthreads_rank(outside->commthreads, index, end);
    thread_settle(thread, &outside->layers[number], end);
    *row = thread->did;
    row->ns[REPORT_OUTSIDE_LOCK] -= inside.lock;
    row->ns[REPORT_OUTSIDE_BLOCKED] -= inside.blocked;
    /* Behind its end there is no time of its own. */
    gone = clip(thread, exit_of(outside, axis, process));
    if (gone > thread->to) {
        row->ns[REPORT_OUTSIDE_UNKNOWN] += gone - thread->to;
    }
    /* Before its first record, nothing of it is in any layer. */
    head = clip(thread, thread->first);
    head = head < end ? head : end;
    if (!has_switches(outside, agent)) {
        head = thread->begin + row->ns[REPORT_OUTSIDE_CPU];
    }
    row->ns[REPORT_OUTSIDE_CPU] -= head - thread->begin;
    row->ns[REPORT_OUTSIDE_UNKNOWN] += head - thread->begin;
    return inside.lock + inside.blocked;
}

void outside_fit(struct report_outside *row, ck_time_t whole)
{
    ck_time_t sum = 0;

    for (int i = 0; i < REPORT_OUTSIDE_STATES; i++) {
        sum += row->ns[i];
    }
    if (sum < whole) {
        row->ns[REPORT_OUTSIDE_UNKNOWN] += whole - sum;
        return;
    }
    for (int i = REPORT_OUTSIDE_STATES; sum > whole && i-- > 0;) {
        ck_time_t less = sum - whole < row->ns[i] ? sum - whole : row->ns[i];

        row->ns[i] -= less;
        sum -= less;
    }
}
