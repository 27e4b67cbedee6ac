/* delay.c - what a late rank did more than the one that waited for it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * tm_a and tm_b are summed up in one table by key, which a stamp empties. So
 * is what the waits of the late thread had cost, by source.
 */
#include "merge/analysis/delays/delay.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/delays/delaysyncs.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

/* Spans of the holder of a lock that are kept until who waits is looked at. */
#define HELD_SPANS_MAX ((size_t)1 << 13)

struct thread {
    struct delaysyncs syncs;
    uint32_t inside;   /* MPI calls that were not looked at */
    ck_time_t entered; /* the first of them */
    ck_time_t kept;    /* the lookback was asked to keep spans from there on */
    uint32_t next;     /* that its process looks at; DEFS_NONE */
    ck_time_t dropped; /* what it did while others waited for its lock until
                          then was not kept; 0 = none */
};

/* Time of a key in the interval that is looked at. */
struct sum {
    uint64_t stamp;
    ck_time_t late;
    ck_time_t waiting;
    uint32_t did; /* of the late thread */
    uint32_t source;
};

/* What waits of the late thread had cost because of a source, and d(k). */
struct weight {
    uint64_t stamp;
    double ns;
};

struct delay {
    struct lookback *lookback; /* borrowed */
    struct region region;
    struct delaykeys *keys;
    struct delayprofile *profile;
    struct delaysources *sources;
    struct thread *threads;
    uint32_t *firsts; /* by process: the thread looked at last; DEFS_NONE */
    struct sum *sums; /* by key */
    size_t sums_count, sums_room;
    uint32_t *touched; /* keys */
    size_t touched_count, touched_room;
    struct weight *weights; /* by source */
    size_t weights_count, weights_room;
    struct delay_cost *costs; /* of the wait that is looked at */
    size_t costs_count, costs_room;
    uint64_t stamp;
    double cut;    /* ns of costs that were left out, of all waits */
    double waited; /* ns, by all waits */
    struct report_delay_limits limits;
};

/* Walk a thread that others are looked at for, as far as what it did is known,
 * by `until` at the latest. */
static void waiter_extend(struct delay *delay, uint32_t thread, ck_time_t until)
{
    const struct thread *its = &delay->threads[thread];

    until = history_settled(lookback_history(delay->lookback), thread, until);
    if (its->inside > 0 && its->entered < until) {
        until = its->entered;
    }
    delayprofile_extend(delay->profile, thread, until);
}

/* What the thread did while others waited for its lock until then goes: count
 * the lock where one of its process is not walked over that far. */
static void held_drop(struct delay *delay, uint32_t thread, ck_time_t until)
{
    uint32_t process = lookback_defs(delay->lookback)->threads[thread].process;
    uint32_t waiter = delay->firsts[process];

    if (delay->threads[thread].dropped >= until) {
        return;
    }
    while (waiter != DEFS_NONE &&
           (waiter == thread ||
            delayprofile_walked(delay->profile, waiter) >= until)) {
        waiter = delay->threads[waiter].next;
    }
    if (waiter != DEFS_NONE) {
        delay->threads[thread].dropped = until;
        delay->limits.holders++;
    }
}

/* What a thread does while it holds a lock that others wait for is asked for
 * where these are walked over: until then it stays, unless it is too much. */
static void
held_from(struct delay *delay, uint32_t thread, size_t spans, ck_time_t *from)
{
    const struct history *host = lookback_history(delay->lookback);
    ck_time_t until = lookback_held(delay->lookback, thread);
    uint32_t process = lookback_defs(delay->lookback)->threads[thread].process;
    size_t worth = delayprofile_spans(delay->profile);

    if (until == INT64_MIN) {
        return;
    }
    if (spans != SIZE_MAX && spans > HELD_SPANS_MAX) {
        held_drop(delay, thread, until);
        return;
    }
    for (uint32_t waiter = delay->firsts[process]; waiter != DEFS_NONE;
         waiter = delay->threads[waiter].next) {
        ck_time_t walked = delayprofile_walked(delay->profile, waiter);

        if (waiter == thread || walked >= until) {
            continue;
        }
        if (spans >= worth) {
            waiter_extend(delay, waiter, history_last_start(host, thread));
        }
        walked = delayprofile_walked(delay->profile, waiter);
        *from = walked < *from ? walked : *from;
    }
}

/* Samples of a process are asked for where its other threads are walked over,
 * and those of the rank's other processes. */
static void
others_from(const struct delay *delay, uint32_t process, ck_time_t *from)
{
    uint32_t sibling = process;

    do {
        for (uint32_t waiter = delay->firsts[sibling]; waiter != DEFS_NONE;
             waiter = delay->threads[waiter].next) {
            ck_time_t walked = delayprofile_walked(delay->profile, waiter);

            *from = walked < *from ? walked : *from;
        }
        sibling = lookback_sibling(delay->lookback, sibling);
    } while (sibling != process);
}

/* What the lookback may let go of a thread: spans that were taken. */
static void
thread_from(void *state, uint32_t thread, size_t spans, ck_time_t *from)
{
    struct delay *delay = state;
    const struct defs *defs = lookback_defs(delay->lookback);
    struct thread *its;
    ck_time_t until;

    if (thread >= defs->threads_count) {
        others_from(delay, thread - (uint32_t)defs->threads_count, from);
        return;
    }
    if (spans == SIZE_MAX) {
        others_from(delay, defs->threads[thread].process, from);
    }
    its = &delay->threads[thread];
    until = history_last_start(lookback_history(delay->lookback), thread);
    if (delayprofile_cursor(delay->profile, thread) == INT64_MAX) {
        held_from(delay, thread, spans, from);
        return;
    }
    if (its->inside > 0 && its->entered < until) {
        until = its->entered;
    }
    if (spans >= delayprofile_spans(delay->profile) &&
        (its->kept == delayprofile_walked(delay->profile, thread) ||
         spans / 2 >= delayprofile_spans(delay->profile))) {
        delayprofile_extend(delay->profile, thread, until);
    }
    its->kept = delayprofile_walked(delay->profile, thread);
    *from = its->kept < *from ? its->kept : *from;
    held_from(delay, thread, spans, from);
}

/* Look at the thread from then on. */
static void thread_begin(struct delay *delay, uint32_t thread, ck_time_t at)
{
    uint32_t process = lookback_defs(delay->lookback)->threads[thread].process;

    if (delayprofile_cursor(delay->profile, thread) == INT64_MAX) {
        delay->threads[thread].next = delay->firsts[process];
        delay->firsts[process] = thread;
    }
    delayprofile_begin(delay->profile, thread, at);
}

struct delay *
delay_create(struct lookback *lookback, struct region region, size_t limit)
{
    struct delay *delay = xcalloc(1, sizeof(*delay));

    delay->lookback = lookback;
    delay->region = region;
    delay->keys = delaykeys_create(lookback);
    delay->profile = delayprofile_create(lookback, delay->keys, limit);
    delay->sources = delaysources_create(lookback, delay->keys);
    delay->threads = xcalloc(lookback_defs(lookback)->threads_count + 1,
                             sizeof(*delay->threads));
    delay->firsts = xmalloc((lookback_defs(lookback)->processes_count + 1) *
                            sizeof(*delay->firsts));
    for (size_t i = 0; i < lookback_defs(lookback)->processes_count; i++) {
        delay->firsts[i] = DEFS_NONE;
    }
    lookback_thread_client(lookback, thread_from, delay);
    return delay;
}

void delay_destroy(struct delay *delay)
{
    if (delay == NULL) {
        return;
    }
    for (size_t i = 0; delay->threads != NULL &&
                       i < lookback_defs(delay->lookback)->threads_count;
         i++) {
        delaysyncs_fini(&delay->threads[i].syncs);
    }
    free(delay->threads);
    free(delay->firsts);
    free(delay->sums);
    free(delay->touched);
    free(delay->weights);
    free(delay->costs);
    delaysources_destroy(delay->sources);
    delayprofile_destroy(delay->profile);
    delaykeys_destroy(delay->keys);
    free(delay);
}

struct report_delay_limits delay_limits(const struct delay *delay)
{
    struct report_delay_limits limits = delay->limits;

    limits.costs_ns = (ck_time_t)delay->cut;
    limits.waited_ns = (ck_time_t)delay->waited;
    limits.parts = delayprofile_full(delay->profile);
    limits.places = delaysources_full(delay->sources);
    return limits;
}

const struct delaysources *delay_sources(const struct delay *delay)
{
    return delay->sources;
}

/* ---- calls -------------------------------------------------------------- */

/* MPI_Init ends on each rank at another time: all begin where the region does.
 */
static ck_time_t begin_find(const struct delay *delay, struct region call)
{
    return call.start < delay->region.start && delay->region.start <= call.end
               ? delay->region.start
               : call.start;
}

void delay_enter(struct delay *delay, uint32_t thread, struct region call)
{
    struct thread *its = &delay->threads[thread];

    if (its->inside++ == 0) {
        its->entered = call.start;
    }
    thread_begin(delay, thread, begin_find(delay, call));
}

void delay_leave(struct delay *delay, uint32_t thread, struct region call)
{
    struct thread *its = &delay->threads[thread];

    delayprofile_cut(delay->profile, thread, call.start);
    its->inside -= its->inside > 0;
    /* Of calls that begin at once, or within another one, the next may wait
     * from where this one ended. */
    its->entered = call.end;
}

/* ---- sums --------------------------------------------------------------- */

/* The sum of a key. */
static struct sum *sum_of(struct delay *delay, uint32_t key)
{
    while (delay->sums_count <= key) {
        array_grow(&delay->sums, &delay->sums_room, delay->sums_count,
                   sizeof(*delay->sums));
        delay->sums[delay->sums_count++] = (struct sum){0};
    }
    if (delay->sums[key].stamp != delay->stamp) {
        array_grow(&delay->touched, &delay->touched_room, delay->touched_count,
                   sizeof(*delay->touched));
        delay->touched[delay->touched_count++] = key;
        delay->sums[key] =
            (struct sum){.stamp = delay->stamp, .source = DELAY_NONE};
    }
    return &delay->sums[key];
}

/* A cost of the wait that is looked at, before it is scaled. */
static void cost_add(struct delay *delay, uint32_t source, double ns)
{
    while (delay->weights_count <= source) {
        array_grow(&delay->weights, &delay->weights_room, delay->weights_count,
                   sizeof(*delay->weights));
        delay->weights[delay->weights_count++] = (struct weight){0};
    }
    if (delay->weights[source].stamp != delay->stamp) {
        array_grow(&delay->costs, &delay->costs_room, delay->costs_count,
                   sizeof(*delay->costs));
        delay->costs[delay->costs_count++].source = source;
        delay->weights[source] = (struct weight){delay->stamp, 0};
    }
    delay->weights[source].ns += ns;
}

/* The items of a thread from an instant on: the first, and up to which. */
struct stretch {
    const struct delay_item *items;
    size_t count;
};

static struct stretch
stretch_find(const struct delay *delay, uint32_t thread, struct region part)
{
    size_t count, first;
    const struct delay_item *items =
        delayprofile_items(delay->profile, thread, &count);

    first = part.start == INT64_MIN
                ? 0
                : array_until_late(items, count, sizeof(*items),
                                   offsetof(struct delay_item, start),
                                   part.start - 1);
    while (count > first && items[count - 1].end > part.end) {
        count--;
    }
    if (count == first) {
        return (struct stretch){NULL, 0};
    }
    return (struct stretch){items + first, count - first};
}

/* A stretch of one of the two. */
struct side {
    uint32_t thread;
    bool is_late;
    struct stretch stretch;
    double unexplained; /* of its waits */
};

static void parts_add(struct delay *delay,
                      const struct side *side,
                      const struct delay_item *item)
{
    const struct delay_part *parts =
        delayprofile_parts(delay->profile, side->thread, item);

    for (uint32_t i = 0; i < item->count; i++) {
        struct sum *sum;

        if (parts[i].is_line) {
            continue;
        }
        sum = sum_of(delay, parts[i].key);
        if (side->is_late) {
            sum->late += parts[i].ns;
            sum->did = parts[i].did;
        } else {
            sum->waiting += parts[i].ns;
        }
    }
}

/* What the waits of a side had cost: those of the late one for, those of the
 * other one against. */
static void
waits_add(struct delay *delay, struct side *side, const struct delay_item *item)
{
    const struct delay_cost *costs =
        delayprofile_costs(delay->profile, side->thread, item);

    side->unexplained += (double)(item->end - item->start);
    for (uint32_t i = 0; i < item->count; i++) {
        side->unexplained -= costs[i].ns;
        cost_add(delay, costs[i].source,
                 side->is_late ? costs[i].ns : -costs[i].ns);
    }
}

static void side_add(struct delay *delay, struct side *side)
{
    for (size_t i = 0; i < side->stretch.count; i++) {
        const struct delay_item *item = &side->stretch.items[i];

        if (item->is_wait) {
            waits_add(delay, side, item);
        } else {
            parts_add(delay, side, item);
        }
    }
}

/* What one of the two did more than the other, as a cost for or against it. The
 * late one's is a source from now on; what the other one did more counts only
 * where the late one waited because of that. */
static void key_cost(struct delay *delay,
                     const struct side *late,
                     const struct side *waiting,
                     uint32_t key)
{
    struct sum *sum = &delay->sums[key];
    ck_time_t more = sum->late - sum->waiting;
    struct delay_source its = {more > 0 ? late->thread : waiting->thread, key};
    int64_t number;

    if (more > 0) {
        number = delaysources_find(delay->sources, &its, sum->did);
        sum->source = (uint32_t)number;
    } else {
        uint32_t known = delaysources_known(delay->sources, &its);

        if (more == 0 || known == DELAY_NONE) {
            return;
        }
        number = known;
    }
    cost_add(delay, (uint32_t)number, (double)more);
}

/* The differences of all keys among the costs; *unknown is the excess of what
 * is not known. */
static void keys_add(struct delay *delay,
                     const struct side *late,
                     const struct side *waiting,
                     double *unknown)
{
    *unknown = late->unexplained > waiting->unexplained
                   ? late->unexplained - waiting->unexplained
                   : 0;
    for (size_t i = 0; i < delay->touched_count; i++) {
        uint32_t key = delay->touched[i];
        const struct sum *sum = &delay->sums[key];

        if (key != DELAY_UNKNOWN && key != DELAY_REST) {
            key_cost(delay, late, waiting, key);
        } else if (sum->late > sum->waiting) {
            *unknown += (double)(sum->late - sum->waiting);
        }
    }
}

/* What a side has of the parts of keys that the late one had more of. */
static void
side_weigh(struct delay *delay, const struct side *side, double scale)
{
    for (size_t i = 0; i < side->stretch.count; i++) {
        const struct delay_item *item = &side->stretch.items[i];
        const struct delay_part *parts =
            delayprofile_parts(delay->profile, side->thread, item);

        for (uint32_t j = 0; !item->is_wait && j < item->count; j++) {
            const struct sum *sum = &delay->sums[parts[j].key];
            double ns = (double)parts[j].ns * scale;

            if (sum->stamp == delay->stamp && sum->source != DELAY_NONE &&
                (parts[j].is_line ||
                 delaykeys_is_between(delay->keys, parts[j].key))) {
                delaysources_weigh(delay->sources, sum->source, &parts[j],
                                   side->is_late ? ns : -ns);
            }
        }
    }
}

CK_ORDER(by_cost, struct delay_cost, CK_DOWN(ns) ?: CK_UP(source))

/* Keep what counts for the late one; returns the sum of that. */
static double costs_settle(struct delay *delay)
{
    size_t kept = 0;
    double sum = 0;

    for (size_t i = 0; i < delay->costs_count; i++) {
        struct delay_cost cost = delay->costs[i];

        cost.ns = delay->weights[cost.source].ns;
        if (cost.ns > 0) {
            delay->costs[kept++] = cost;
            sum += cost.ns;
        }
    }
    delay->costs_count = kept;
    return sum;
}

/* Leave out the smallest of many costs of a wait so long: they are unexplained
 * now. It is a limit that was reached only where they matter. */
static void costs_cut(struct delay *delay, double length)
{
    double cut = 0;

    if (delay->costs_count <= DELAY_COSTS_MAX) {
        return;
    }
    qsort(delay->costs, delay->costs_count, sizeof(*delay->costs), by_cost);
    while (delay->costs_count > DELAY_COSTS_MAX) {
        cut += delay->costs[--delay->costs_count].ns;
    }
    delay->cut += cut;
    delay->limits.costs += cut * DELAY_COSTS_CUT > length;
}

/* Scale the costs to a wait so long. */
static void costs_scale(struct delay *delay, double scale, double length)
{
    for (size_t i = 0; i < delay->costs_count; i++) {
        delay->costs[i].ns *= scale;
    }
    delay->waited += length;
    costs_cut(delay, length);
}

/* Sum up both sides; returns what the costs and what is not known are together.
 */
static double
sides_add(struct delay *delay, struct side *late, struct side *waiting)
{
    double unknown;

    delay->stamp++;
    delay->touched_count = delay->costs_count = 0;
    side_add(delay, late);
    side_add(delay, waiting);
    keys_add(delay, late, waiting, &unknown);
    return costs_settle(delay) + unknown;
}

/* Count a wait whose threads are compared from then on, where that is not their
 * last common instant, or not all since then is kept. */
static void bounds_count(struct delay *delay,
                         const struct side *late,
                         const struct side *waiting,
                         ck_time_t from)
{
    if (from == INT64_MIN && (delay->threads[late->thread].syncs.is_cut ||
                              delay->threads[waiting->thread].syncs.is_cut)) {
        delay->limits.syncs++;
    } else if (delayprofile_kept(delay->profile, late->thread) > from ||
               delayprofile_kept(delay->profile, waiting->thread) > from) {
        delay->limits.history++;
    }
}

/* Fill `costs` of a wait of `part` until the late thread came. */
static void costs_find(struct delay *delay,
                       uint32_t thread,
                       uint32_t late,
                       struct region part)
{
    ck_time_t from = delaysyncs_find(&delay->threads[late].syncs,
                                     &delay->threads[thread].syncs, part.start);
    struct side one = {.thread = late, .is_late = true};
    struct side other = {.thread = thread};
    double length = (double)region_length(part);
    double whole, scale;

    delayprofile_settle(delay->profile, late);
    delayprofile_settle(delay->profile, thread);
    bounds_count(delay, &one, &other, from);
    one.stretch = stretch_find(delay, late, (struct region){from, part.end});
    other.stretch =
        stretch_find(delay, thread, (struct region){from, part.start});
    whole = sides_add(delay, &one, &other);
    scale = length / (whole > length ? whole : length);
    costs_scale(delay, scale, length);
    side_weigh(delay, &one, scale);
    side_weigh(delay, &other, scale);
}

/* Cut the late thread where it came, as far as its time is known. */
static void late_cut(struct delay *delay, uint32_t late, ck_time_t at)
{
    const struct thread *its = &delay->threads[late];

    if (its->inside > 0 && its->entered < at) {
        at = its->entered;
    }
    thread_begin(delay, late, at);
    if (!(delayprofile_cursor(delay->profile, late) > at)) {
        delayprofile_cut(delay->profile, late, at);
    }
}

void delay_wait(struct delay *delay,
                uint32_t thread,
                struct region part,
                const struct wait *wait)
{
    struct delaysync sync = {part.end, wait->thread};

    thread_begin(delay, thread, part.start);
    delayprofile_cut(delay->profile, thread, part.start);
    if (wait->thread == DEFS_NONE || wait->thread == thread) {
        return;
    }
    late_cut(delay, wait->thread, part.end);
    part.start = delayprofile_cursor(delay->profile, thread);
    if (part.start >= part.end) {
        return;
    }
    costs_find(delay, thread, wait->thread, part);
    delayprofile_wait(delay->profile, thread, part.end, delay->costs,
                      delay->costs_count);
    delaysyncs_add(&delay->threads[thread].syncs, sync);
    delaysyncs_add(&delay->threads[wait->thread].syncs, sync);
}

struct delay_of
delay_find(const struct delay *delay, uint32_t thread, struct region part)
{
    size_t count, at;
    const struct delay_item *items =
        delayprofile_items(delay->profile, thread, &count);

    at = array_until_late(items, count, sizeof(*items),
                          offsetof(struct delay_item, end), part.start);
    for (; at < count && items[at].start < part.end; at++) {
        if (items[at].is_wait) {
            return (struct delay_of){
                items[at].end - items[at].start,
                delayprofile_costs(delay->profile, thread, &items[at]),
                items[at].count};
        }
    }
    return (struct delay_of){0};
}
