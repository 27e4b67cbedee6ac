/* history.c - what the host threads did lately
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Spans are in order of start, the outer one first. `parent` is the span that
 * was open when one began. So every span that covers an instant is among the
 * ancestors of the last one that began before it.
 */
#include "merge/analysis/history/history.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/timedfacts.h"
#include "merge/model/array.h"
#include "merge/model/cause.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/model/threadindex.h"

/* Spans that begin together and are put in order. */
#define INNER_MAX 16

struct thread {
    struct history_span *spans;
    size_t count;
    size_t room;
    ck_time_t known_from;     /* before that spans were dropped */
    uint32_t gone_call;       /* highest number of a call that went */
    bool is_seen;             /* something was added */
    bool has_gone;            /* `gone` holds */
    struct history_span gone; /* the call, among those that went, left last */
    struct history_span longest;       /* call so far; start = end: none */
    struct history_span longest_range; /* around it; is_call: none */
};

/* Kinds of spans looked at lately. */
#define WHATS_KNOWN 256

struct what {
    uint64_t site;
    uint32_t process;
    uint32_t name;
    uint32_t number; /* 0 = unused */
    uint16_t kind;
    bool is_device_wait;
};

/* In the fact of a sample, whose stack has a smaller number. */
#define FAULTING ((uint32_t)1 << 31)

struct history {
    const struct defs *defs; /* borrowed */
    struct table *whats;     /* process and name, site, kind */
    bool *are_device_waits;  /* by number of that */
    size_t waits_count, waits_room;
    struct what known[WHATS_KNOWN];
    struct threadindex *index;
    struct timedfacts *offs;
    struct timedfacts *samples;
    struct timedfacts *waits; /* in the kernel, with a stack */
    struct thread *threads;
    size_t count;
    size_t limit; /* spans of one thread */
};

struct history *history_create(const struct defs *defs, size_t limit)
{
    struct history *history = xcalloc(1, sizeof(*history));

    history->defs = defs;
    history->count = defs->threads_count;
    history->limit = HISTORY_SPANS_MAX / (history->count + 1);
    if (history->limit < HISTORY_SPANS_MIN) {
        history->limit = HISTORY_SPANS_MIN;
    }
    history->limit = limit > 0 ? limit : history->limit;
    history->index = threadindex_create(defs);
    history->whats = table_create();
    history->offs = timedfacts_create(history->count);
    history->samples =
        timedfacts_create(history->count + defs->processes_count);
    history->waits = timedfacts_create(history->count);
    history->threads = xcalloc(history->count + 1, sizeof(*history->threads));
    for (size_t i = 0; i < history->count; i++) {
        history->threads[i].known_from = INT64_MIN;
    }
    return history;
}

void history_destroy(struct history *history)
{
    if (history == NULL) {
        return;
    }
    for (size_t i = 0; history->threads != NULL && i < history->count; i++) {
        free(history->threads[i].spans);
    }
    threadindex_destroy(history->index);
    table_destroy(history->whats);
    free(history->are_device_waits);
    timedfacts_destroy(history->offs);
    timedfacts_destroy(history->samples);
    timedfacts_destroy(history->waits);
    free(history->threads);
    free(history);
}

uint32_t
history_thread(const struct history *history, uint32_t process, uint32_t tid)
{
    return threadindex_thread(history->index, process, tid);
}

uint32_t history_process(const struct history *history,
                         uint32_t agent,
                         uint32_t incarnation)
{
    return threadindex_process(history->index, agent, incarnation);
}

uint32_t history_told(const struct history *history,
                      const struct defs *defs,
                      const struct timeline_event *event,
                      uint32_t tid)
{
    return threadindex_told(history->index,
                            defs->processes[event->process].agent,
                            event->record->name, tid);
}

uint32_t history_rest(const struct history *history, uint32_t process)
{
    return (uint32_t)history->defs->threads_count + process;
}

bool history_has_off_room(const struct history *history, uint32_t thread)
{
    return timedfacts_has_room(history->offs, thread);
}

bool history_has_sample_room(const struct history *history, uint32_t thread)
{
    return timedfacts_has_room(history->samples, thread);
}

bool history_has_wait_room(const struct history *history, uint32_t thread)
{
    return timedfacts_has_room(history->waits, thread);
}

void history_add_off(struct history *history,
                     uint32_t thread,
                     struct region part,
                     enum history_off off,
                     ck_time_t horizon)
{
    struct timedfacts_fact fact = {part.start, part.end, off};

    timedfacts_add(history->offs, thread, &fact, horizon);
}

void history_add_sample(struct history *history,
                        uint32_t thread,
                        ck_time_t time,
                        const struct history_sample *sample,
                        ck_time_t horizon)
{
    struct timedfacts_fact fact = {
        time, time,
        (uint64_t)sample->weight << 32 |
            (uint64_t)(sample->is_faulting ? FAULTING : 0) | sample->stack};

    timedfacts_add(history->samples, thread, &fact, horizon);
}

void history_add_wait(struct history *history,
                      uint32_t thread,
                      ck_time_t time,
                      const struct history_sample *wait,
                      ck_time_t horizon)
{
    struct timedfacts_fact fact = {time, time + wait->weight, wait->stack};

    timedfacts_add(history->waits, thread, &fact, horizon);
}

ck_time_t history_preempted(const struct history *history,
                            uint32_t thread,
                            struct region part)
{
    ck_time_t sum = 0;
    size_t count;
    const struct timedfacts_fact *fact =
        timedfacts_from(history->offs, thread, part.start, &count);

    for (; count > 0 && fact->start < part.end; count--, fact++) {
        struct region off = {fact->start, fact->end};

        if (fact->what == HISTORY_PREEMPTED &&
            region_clip(part, &off.start, &off.end)) {
            sum += region_length(off);
        }
    }
    return sum;
}

void history_samples(const struct history *history,
                     uint32_t thread,
                     struct region part,
                     history_sample_f take,
                     void *state)
{
    size_t count;
    const struct timedfacts_fact *fact =
        timedfacts_from(history->samples, thread, part.start, &count);

    for (; count > 0 && fact->start < part.end; count--, fact++) {
        take(state, &(struct history_sample){
                        .stack = (uint32_t)fact->what & ~FAULTING,
                        .weight = (ck_time_t)(fact->what >> 32),
                        .time = fact->start,
                        .is_faulting = (fact->what & FAULTING) != 0,
                    });
    }
}

void history_stacked_waits(const struct history *history,
                           uint32_t thread,
                           struct region part,
                           history_sample_f take,
                           void *state)
{
    size_t count;
    const struct timedfacts_fact *fact =
        timedfacts_from(history->waits, thread, part.start, &count);

    for (; count > 0 && fact->start < part.end; count--, fact++) {
        if (fact->start >= part.start) {
            take(state, &(struct history_sample){
                            .stack = (uint32_t)fact->what,
                            .weight = fact->end - fact->start,
                            .time = fact->start,
                            .is_wait = true,
                        });
        }
    }
}

bool history_is_seen(const struct history *history, uint32_t thread)
{
    return history->threads[thread].is_seen;
}

ck_time_t history_last_start(const struct history *history, uint32_t thread)
{
    const struct thread *its = &history->threads[thread];

    return its->count == 0 ? INT64_MIN : its->spans[its->count - 1].start;
}

ck_time_t
history_settled(const struct history *history, uint32_t thread, ck_time_t until)
{
    const struct thread *its = &history->threads[thread];
    const struct history_span *last =
        its->count == 0 ? NULL : &its->spans[its->count - 1];

    if (last == NULL) {
        return INT64_MIN;
    }
    if (last->is_call && last->end >= until) {
        return until;
    }
    if (last->start < until) {
        return last->start;
    }
    return until;
}

/* A call that names a place between calls. One of libc is recorded only when
 * it took long: the next time it may not be there. */
static bool is_bracket(const struct history_span *span)
{
    return span->is_call && span->kind != CK_KIND_POSIX;
}

/* Set what comes before the span behind the last one, which is filled,
 * and take it in. */
static inline void span_close(struct thread *thread)
{
    struct history_span *span = &thread->spans[thread->count];
    uint32_t parent = HISTORY_NONE;

    span->prior = HISTORY_NONE;
    if (thread->count > 0) {
        const struct history_span *last = span - 1;

        parent = (uint32_t)thread->count - 1;
        span->prior = is_bracket(last) ? parent : last->prior;
    }
    while (parent != HISTORY_NONE && thread->spans[parent].end <= span->start) {
        parent = thread->spans[parent].parent;
    }
    span->parent = parent;
    thread->count++;
}

static bool is_device_wait(const struct history *history,
                           const struct history_span *span)
{
    enum cause cause;

    if (!span->is_call || span->kind == CK_KIND_POSIX) {
        return false;
    }
    cause = cause_of_call(span->kind,
                          defs_name(history->defs, span->process, span->name));
    return cause == CAUSE_GPU_SYNC || cause == CAUSE_H2D || cause == CAUSE_D2H;
}

/* Number what was not met lately. */
static __attribute__((noinline)) void what_find(struct history *history,
                                                const struct history_span *span,
                                                struct what *what)
{
    int64_t number = table_number_of(
        history->whats, (uint64_t)span->process << 32 | span->name, span->site,
        (uint64_t)span->kind << 1 | span->is_call);

    *what = (struct what){.site = span->site,
                          .process = span->process,
                          .name = span->name,
                          .kind = span->kind};
    if (number >= 0 && (size_t)number < history->waits_count) {
        what->number = (uint32_t)number + 1;
        what->is_device_wait = history->are_device_waits[number];
        return;
    }
    what->is_device_wait = is_device_wait(history, span);
    if ((size_t)number == history->waits_count && number < UINT32_MAX - 1) {
        array_grow(&history->are_device_waits, &history->waits_room,
                   history->waits_count, sizeof(*history->are_device_waits));
        history->are_device_waits[history->waits_count++] =
            what->is_device_wait;
        what->number = (uint32_t)number + 1;
    }
}

/* Set what a span is. */
static inline void span_name(struct history *history, struct history_span *span)
{
    size_t at = (span->site >> 2 ^ span->name * 7 ^ span->process * 13 ^
                 span->kind * 29) %
                WHATS_KNOWN;
    struct what *what = &history->known[at];

    if (what->number == 0 || what->site != span->site ||
        what->name != span->name || what->process != span->process ||
        what->kind != span->kind) {
        what_find(history, span, what);
    }
    span->what = what->number;
    span->is_device_wait = what->is_device_wait;
}

/* Put a span at the end; there is room. */
static void span_append(struct thread *thread, const struct history_span *span)
{
    thread->spans[thread->count] = *span;
    span_close(thread);
}

/* Remember of a call that goes what is asked for later. */
static inline void span_leave(struct thread *thread,
                              const struct history_span *span)
{
    if (!is_bracket(span)) {
        return;
    }
    if (!thread->has_gone || span->end >= thread->gone.end) {
        thread->gone = *span;
        thread->has_gone = true;
    }
    if (span->call > thread->gone_call) {
        thread->gone_call = span->call;
    }
}

/* The last span is the longest call so far. */
static __attribute__((noinline)) void longest_keep(struct thread *thread)
{
    const struct history_span *spans = thread->spans;
    uint32_t up = spans[thread->count - 1].parent;

    thread->longest = spans[thread->count - 1];
    while (up != HISTORY_NONE && spans[up].is_call) {
        up = spans[up].parent;
    }
    thread->longest_range =
        up == HISTORY_NONE ? (struct history_span){.is_call = true} : spans[up];
}

static inline void longest_try(struct thread *thread)
{
    const struct history_span *span = &thread->spans[thread->count - 1];

    if (span->is_call &&
        span->end - span->start > thread->longest.end - thread->longest.start) {
        longest_keep(thread);
    }
}

/* Let spans go that ended by then. */
static void spans_trim(struct thread *thread, ck_time_t horizon)
{
    size_t count = thread->count;

    thread->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (thread->spans[i].end > horizon) {
            struct history_span span = thread->spans[i];

            span_append(thread, &span);
        } else {
            span_leave(thread, &thread->spans[i]);
        }
    }
}

static void spans_room(struct thread *thread, size_t limit, ck_time_t horizon)
{
    struct history_span *grown;
    size_t room;

    spans_trim(thread, horizon);
    if (thread->count >= limit) {
        ck_time_t cut = thread->spans[thread->count / 2].start;

        spans_trim(thread, cut);
        thread->known_from = cut;
    }
    if (thread->count <= thread->room / 2 && thread->room > 0) {
        return;
    }
    room = thread->room == 0 ? 64 : thread->room * 2;
    grown = xrealloc(thread->spans, room * sizeof(*grown));
    thread->spans = grown;
    thread->room = room;
}

/* Of spans that begin together the one entered first goes first: calls have
 * numbers, else the longer one is the outer one. */
static bool is_before(const struct history_span *span,
                      const struct history_span *other)
{
    if (span->start != other->start) {
        return false;
    }
    return span->call != 0 && other->call != 0 ? span->call < other->call
                                               : span->end > other->end;
}

size_t history_count(const struct history *history, uint32_t thread)
{
    return history->threads[thread].count;
}

ck_time_t history_first_start(const struct history *history, uint32_t thread)
{
    const struct thread *its = &history->threads[thread];

    return its->count > 0 ? its->spans[0].start : INT64_MAX;
}

struct history_span *history_next(struct history *history, uint32_t number)
{
    struct thread *thread = &history->threads[number];

    return thread->count < thread->room ? &thread->spans[thread->count] : NULL;
}

struct history_span *
history_place(struct history *history, uint32_t number, ck_time_t horizon)
{
    struct thread *thread = &history->threads[number];

    if (thread->count == thread->room) {
        spans_room(thread, history->limit, horizon);
    }
    return &thread->spans[thread->count];
}

/* Put the span behind the last one before those that began with it and are
 * inner ones. */
static __attribute__((noinline)) void span_sort(struct thread *thread)
{
    const struct history_span span = thread->spans[thread->count];
    struct history_span inner[INNER_MAX];
    size_t moved = 0;

    while (moved < thread->count && moved < INNER_MAX &&
           is_before(&span, &thread->spans[thread->count - 1])) {
        inner[moved++] = thread->spans[--thread->count];
    }
    span_append(thread, &span);
    longest_try(thread);
    while (moved > 0) {
        span_append(thread, &inner[--moved]);
    }
}

void history_placed(struct history *history, uint32_t number)
{
    struct thread *thread = &history->threads[number];
    struct history_span *span = &thread->spans[thread->count];

    thread->is_seen = true;
    span_name(history, span);
    if (thread->count > 0 && is_before(span, span - 1)) {
        span_sort(thread);
        return;
    }
    span_close(thread);
    longest_try(thread);
}

bool history_call(const struct history *history,
                  uint32_t number,
                  uint32_t call,
                  ck_time_t *enter)
{
    const struct thread *thread = &history->threads[number];

    for (size_t i = thread->count; call != 0 && i-- > 0;) {
        if (thread->spans[i].call == call) {
            *enter = thread->spans[i].start;
            return true;
        }
        if (thread->spans[i].call != 0 && thread->spans[i].call < call) {
            break;
        }
    }
    if (call != 0 && call <= thread->gone_call) {
        *enter = INT64_MIN;
        return true;
    }
    return false;
}

/* Numbers of calls grow with their starts; ranges between them have none. */
const struct history_span *
history_call_span(const struct history *history, uint32_t number, uint32_t call)
{
    const struct thread *thread = &history->threads[number];
    size_t low = 0, high = thread->count;

    while (call != 0 && low < high) {
        size_t middle = low + (high - low) / 2;
        size_t at = middle;

        while (at > low && thread->spans[at].call == 0) {
            at--;
        }
        if (thread->spans[at].call == call) {
            return &thread->spans[at];
        }
        if (thread->spans[at].call != 0 && thread->spans[at].call > call) {
            high = at;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

void history_copied(struct history *history,
                    uint32_t number,
                    uint32_t call,
                    unsigned kind,
                    ck_time_t end)
{
    const struct thread *thread = &history->threads[number];
    const struct history_span *known = history_call_span(history, number, call);
    struct history_span *span;

    if (known == NULL || known->end < end ||
        (kind != CK_KIND_COPY_D2H && kind != CK_KIND_COPY_H2D) ||
        cause_of_call(known->kind, defs_name(history->defs, known->process,
                                             known->name)) != CAUSE_GPU_API) {
        return;
    }
    span = &thread->spans[known - thread->spans];
    span->kind = (uint16_t)kind;
    span_name(history, span);
    span->is_device_wait = true;
}

bool history_longest(const struct history *history,
                     uint32_t number,
                     struct history_span *call,
                     struct history_span *range)
{
    const struct thread *thread = &history->threads[number];

    *call = thread->longest;
    *range = thread->longest_range;
    return thread->longest.end > thread->longest.start;
}

/* The last span that began by then, HISTORY_NONE = none. */
static uint32_t span_at(const struct thread *thread, ck_time_t time)
{
    size_t begun =
        array_until(thread->spans, thread->count, sizeof(*thread->spans),
                    offsetof(struct history_span, start), time);

    return begun == 0 ? HISTORY_NONE : (uint32_t)begun - 1;
}

/* The call that was left last before `time`. */
static const struct history_span *
call_before(const struct thread *thread, uint32_t at, ck_time_t time)
{
    const struct history_span *best = NULL;

    for (uint32_t i = at; best == NULL && i != HISTORY_NONE;
         i = thread->spans[i].prior) {
        if (is_bracket(&thread->spans[i]) && thread->spans[i].end <= time) {
            best = &thread->spans[i];
        }
    }
    if (best == NULL) {
        return thread->has_gone ? &thread->gone : NULL;
    }
    for (uint32_t up = best->parent; up != HISTORY_NONE;
         up = thread->spans[up].parent) {
        if (is_bracket(&thread->spans[up]) && thread->spans[up].end <= time) {
            best = &thread->spans[up];
        }
    }
    return best;
}

/* Index of the first call behind `at`; the count when there is none. */
static size_t call_after(const struct thread *thread, uint32_t at)
{
    size_t i = at == HISTORY_NONE ? 0 : (size_t)at + 1;

    while (i < thread->count && !is_bracket(&thread->spans[i])) {
        i++;
    }
    return i;
}

/* Where a walk is. */
struct walk {
    uint32_t at; /* last span that began by then */
    size_t
        after; /* first call behind it, from an earlier step; 0 = not known */
};

/* What the thread does at `time`, and in *until for how long. */
static struct history_state state_at(const struct thread *thread,
                                     struct walk *walk,
                                     ck_time_t time,
                                     ck_time_t *until)
{
    uint32_t at = walk->at;
    struct history_state state = {.is_known = time >= thread->known_from};
    size_t next = at == HISTORY_NONE ? 0 : (size_t)at + 1;

    if (next < thread->count && thread->spans[next].start < *until) {
        *until = thread->spans[next].start;
    }
    for (uint32_t up = at; up != HISTORY_NONE; up = thread->spans[up].parent) {
        const struct history_span *span = &thread->spans[up];
        const struct history_span **slot =
            span->is_call ? &state.call : &state.range;

        if (span->end > time && *slot == NULL) {
            *slot = span;
            *until = span->end < *until ? span->end : *until;
        }
    }
    if (!state.is_known && thread->known_from < *until) {
        *until = thread->known_from;
    }
    if (state.call == NULL) {
        size_t first = at == HISTORY_NONE ? 0 : (size_t)at + 1;

        if (walk->after == 0 || walk->after < first) {
            walk->after = call_after(thread, at);
        }
        state.before = call_before(thread, at, time);
        state.after =
            walk->after < thread->count ? &thread->spans[walk->after] : NULL;
    }
    return state;
}

/* Has a thread that is between calls a CPU at `time`? */
static enum history_off off_at(const struct history *history,
                               uint32_t number,
                               ck_time_t time,
                               ck_time_t *until)
{
    size_t count;
    const struct timedfacts_fact *fact =
        timedfacts_from(history->offs, number, time, &count);

    if (count == 0) {
        return HISTORY_ON;
    }
    if (fact->start > time) {
        *until = fact->start < *until ? fact->start : *until;
        return HISTORY_ON;
    }
    *until = fact->end < *until ? fact->end : *until;
    return (enum history_off)fact->what;
}

void history_walk(const struct history *history,
                  uint32_t number,
                  struct region part,
                  history_take_f take,
                  void *state)
{
    const struct thread *thread = &history->threads[number];
    ck_time_t time = part.start;
    struct walk walk = {.at = span_at(thread, time)};

    while (time < part.end) {
        ck_time_t until = part.end;
        struct history_state did = state_at(thread, &walk, time, &until);

        did.thread = number;
        if (did.is_known && did.call == NULL) {
            did.off = off_at(history, number, time, &until);
        }
        take(state, (struct region){time, until}, &did);
        time = until;
        for (size_t next = walk.at == HISTORY_NONE ? 0 : (size_t)walk.at + 1;
             next < thread->count && thread->spans[next].start <= time;
             next++) {
            walk.at = (uint32_t)next;
        }
    }
}
