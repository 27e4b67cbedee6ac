/* delayprofile.c - what each thread did between the points where ranks wait
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a thread is cut is noted first. What it did is walked over when
 * another thread waits for it, when it waits itself, or when the host is to let
 * it go: without waits for as long as items are kept, nothing is walked over.
 *
 * Items are in order of time, their parts and costs one behind the other in two
 * arrays of the thread. Where one is full the older half of the items goes.
 */
#include "merge/analysis/delays/delayprofile.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/delays/shortcalls.h"
#include "merge/analysis/history/kernelwait.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"

#define PARTS_PER_ITEM 16
#define SPANS_PER_ITEM 4 /* that the host keeps until they are walked over */
#define INDEX 256        /* slots of an open item's index: of one byte */

/* The item of a thread that is being made. */
struct open {
    ck_time_t start; /* INT64_MAX = not begun */
    struct delay_part *parts;
    size_t count, room;
    bool is_full; /* something found no room of its own */
};

/* Finds the parts of the one open item that was added to last. */
struct index {
    uint32_t thread;
    uint8_t slots[INDEX];          /* number of a part + 1; 0 = free */
    uint8_t used[DELAY_PARTS_MAX]; /* slot, by part */
    size_t count;
};

struct thread {
    ck_time_t cursor;  /* taken up to here; INT64_MAX = not begun */
    ck_time_t walked;  /* walked over up to here */
    ck_time_t cut;     /* the last one */
    ck_time_t sampled; /* its last sample, or the end of a call behind it */
    ck_time_t kept;    /* items from here on; INT64_MIN = all */
    uint32_t between;  /* key of the computation that it is in, short calls of
                          libc left out; DELAY_UNKNOWN = in none */
    struct open open;
    ck_time_t *cuts; /* behind `walked`, in order */
    size_t cuts_count, cuts_room;
    struct delay_item *items;
    size_t items_count, items_room;
    struct delay_part *parts;
    size_t parts_count, parts_room;
    struct delay_cost *costs;
    size_t costs_count, costs_room;
};

struct delayprofile {
    struct lookback *lookback; /* borrowed */
    struct delaykeys *keys;    /* borrowed */
    size_t limit;              /* items of one thread */
    struct index index;
    struct shortcalls *shorts;
    struct thread *threads;
    size_t count;
    uint64_t full; /* items that became so */
};

uint64_t delayprofile_full(const struct delayprofile *profile)
{
    return profile->full;
}

struct delayprofile *delayprofile_create(struct lookback *lookback,
                                         struct delaykeys *keys,
                                         size_t limit)
{
    struct delayprofile *profile = xcalloc(1, sizeof(*profile));

    profile->lookback = lookback;
    profile->keys = keys;
    profile->shorts = shortcalls_create();
    profile->count = lookback_defs(lookback)->threads_count;
    profile->limit = DELAY_ITEMS_ALL / (profile->count + 1);
    if (profile->limit < DELAY_ITEMS_MIN) {
        profile->limit = DELAY_ITEMS_MIN;
    } else if (profile->limit > DELAY_ITEMS_MAX) {
        profile->limit = DELAY_ITEMS_MAX;
    }
    profile->limit = limit > 0 ? limit : profile->limit;
    profile->threads = xcalloc(profile->count + 1, sizeof(*profile->threads));
    for (size_t i = 0; i < profile->count; i++) {
        profile->threads[i].cursor = profile->threads[i].walked =
            profile->threads[i].open.start = INT64_MAX;
        profile->threads[i].kept = INT64_MIN;
    }
    return profile;
}

void delayprofile_destroy(struct delayprofile *profile)
{
    if (profile == NULL) {
        return;
    }
    for (size_t i = 0; i < profile->count; i++) {
        free(profile->threads[i].open.parts);
        free(profile->threads[i].cuts);
        free(profile->threads[i].items);
        free(profile->threads[i].parts);
        free(profile->threads[i].costs);
    }
    shortcalls_destroy(profile->shorts);
    free(profile->threads);
    free(profile);
}

static bool is_begun(const struct thread *its)
{
    return its->open.start != INT64_MAX;
}

void delayprofile_begin(struct delayprofile *profile,
                        uint32_t thread,
                        ck_time_t at)
{
    struct thread *its = &profile->threads[thread];

    if (!is_begun(its)) {
        its->cursor = its->walked = its->cut = its->open.start = at;
        its->sampled = at;
    }
}

/* ---- the open item ------------------------------------------------------ */

/* Slot of a part of the open item, or the free one where it belongs. */
static size_t index_slot(const struct index *index,
                         const struct open *open,
                         const struct delay_part *what)
{
    size_t slot = (what->key * 31 + what->part * 7 + what->is_line) % INDEX;

    for (; index->slots[slot] != 0; slot = (slot + 1) % INDEX) {
        const struct delay_part *part = &open->parts[index->slots[slot] - 1];

        if (part->key == what->key && part->part == what->part &&
            part->is_line == what->is_line) {
            break;
        }
    }
    return slot;
}

static void index_put(struct index *index, size_t slot)
{
    index->used[index->count] = (uint8_t)slot;
    index->slots[slot] = (uint8_t)++index->count;
}

static void index_clear(struct index *index)
{
    while (index->count > 0) {
        index->slots[index->used[--index->count]] = 0;
    }
}

/* From now on the index is of the open item of the thread. */
static void index_aim(struct delayprofile *profile, uint32_t thread)
{
    struct index *index = &profile->index;
    const struct open *open = &profile->threads[thread].open;

    if (index->thread == thread) {
        return;
    }
    index_clear(index);
    index->thread = thread;
    for (size_t i = 0; i < open->count; i++) {
        index_put(index, index_slot(index, open, &open->parts[i]));
    }
}

/* Begin the item anew. */
static void
open_clear(struct delayprofile *profile, uint32_t thread, ck_time_t start)
{
    if (profile->index.thread == thread) {
        index_clear(&profile->index);
    }
    profile->threads[thread].open.count = 0;
    profile->threads[thread].open.is_full = false;
    profile->threads[thread].open.start = start;
}

/* To the item that the index is of. */
static void open_add(struct delayprofile *profile,
                     const struct delay_part *what)
{
    struct index *index = &profile->index;
    struct open *open = &profile->threads[index->thread].open;
    size_t slot = index_slot(index, open, what);

    if (index->slots[slot] != 0) {
        open->parts[index->slots[slot] - 1].ns += what->ns;
        return;
    }
    if (open->count + 1 >= DELAY_PARTS_MAX && what->key != DELAY_REST) {
        struct delay_part rest = {
            .key = DELAY_REST, .did = DELAY_NONE, .ns = what->ns};

        profile->full += !open->is_full;
        open->is_full = true;
        if (!what->is_line) {
            open_add(profile, &rest);
        }
        return;
    }
    array_grow(&open->parts, &open->room, open->count, sizeof(*open->parts));
    open->parts[open->count++] = *what;
    index_put(index, slot);
}

/* A walk over what a thread did. */
struct walk {
    struct delayprofile *profile;
    uint32_t thread;
    struct delay_deed deed; /* of the piece whose samples are looked at */
    bool is_met;            /* it was by one */
};

/* Where the sample of a thread of the process was met. */
static void line_of(const struct walk *walk,
                    const struct history_sample *sample,
                    struct delay_line *line)
{
    struct delayprofile *profile = walk->profile;
    const struct defs *defs = lookback_defs(profile->lookback);

    delaykeys_line(profile->keys, defs->threads[walk->thread].process, sample,
                   line);
}

static void
line_add(struct walk *walk, uint32_t line, const struct history_sample *sample)
{
    struct delay_part part = {.key = walk->deed.key,
                              .part = line,
                              .did = DELAY_NONE,
                              .is_line = true,
                              .ns = sample->weight};

    open_add(walk->profile, &part);
}

/* Another thread of the process or rank, while this one waited for the team or
 * for something that no call shows; one that waits for the team itself is none.
 */
static void
other_take(void *state, uint32_t process, const struct history_sample *sample)
{
    struct walk *walk = state;
    struct delay_line line;

    delaykeys_line(walk->profile->keys, process, sample, &line);
    if (line.number != DELAY_NONE && !line.is_team) {
        line_add(walk, line.number, sample);
    }
}

/* A team has no threads of other processes. */
static void others_add(struct walk *walk, struct region part, bool is_team)
{
    const struct lookback_others others = {.thread = walk->thread,
                                           .has_processes = !is_team,
                                           .take = other_take,
                                           .state = walk};

    lookback_others(walk->profile->lookback, &others, part);
}

/* Where the thread itself left the CPU. */
static void wait_take(void *state, const struct history_sample *wait)
{
    struct walk *walk = state;
    struct delay_line line;

    line_of(walk, wait, &line);
    if (line.number != DELAY_NONE) {
        line_add(walk, line.number, wait);
    }
}

/* A thread that spins in an OpenMP runtime waits for what others of the process
 * compute, if they do: since its last sample. */
static void line_take(void *state, const struct history_sample *sample)
{
    struct walk *walk = state;
    struct thread *its = &walk->profile->threads[walk->thread];
    struct region since = {its->sampled, sample->time};
    struct delay_line line;

    its->sampled = sample->time;
    line_of(walk, sample, &line);
    if (line.is_team) {
        others_add(walk, since, true);
    }
    if (line.number != DELAY_NONE) {
        line_add(walk, line.number, sample);
    }
}

static void deed_add(struct walk *walk,
                     const struct history_state *did,
                     enum history_off off,
                     ck_time_t ns)
{
    struct delayprofile *profile = walk->profile;
    struct delay_part part = {.ns = ns};

    if (ns <= 0) {
        return;
    }
    delaykeys_deed(profile->keys, did, off, &walk->deed);
    part.key = walk->deed.key;
    part.part = walk->deed.part;
    part.did = walk->deed.did;
    open_add(profile, &part);
}

/* Only long calls of libc record what they were made on. */
static void call_weigh(struct walk *walk,
                       struct region piece,
                       const struct history_state *did)
{
    if (did->call->path == 0 && did->call->holder == 0) {
        return;
    }
    lookback_did(walk->profile->lookback, walk->thread, piece, did);
}

/* May it wait for other threads of its process: without a CPU between calls
 * (one that yields until they are there is ready to run), or in a call on a
 * lock whose owner is not known? */
static bool is_joining(const struct walk *walk, const struct history_state *did)
{
    const struct lookback *lookback = walk->profile->lookback;

    if (did->call == NULL) {
        return did->off != HISTORY_ON;
    }
    return did->call->kind == CK_KIND_POSIX && did->call->holder == 0 &&
           lookback_activity_cause(
               lookback, lookback_activity_call(lookback, walk->deed.did)) ==
               CAUSE_LOCK;
}

static void joined_add(struct walk *walk,
                       struct region piece,
                       const struct history_state *did)
{
    if (is_joining(walk, did)) {
        others_add(walk, piece, false);
    }
}

/* A sample of a short call of libc. */
static void short_take(void *state, const struct history_sample *sample)
{
    struct walk *walk = state;
    uint32_t key = walk->deed.key;
    struct delay_line line;

    walk->is_met = true;
    line_of(walk, sample, &line);
    if (line.number == DELAY_NONE ||
        !shortcalls_meet(walk->profile->shorts, walk->thread, key,
                         sample->weight)) {
        return;
    }
    walk->deed.key = walk->profile->threads[walk->thread].between;
    line_add(walk, line.number, sample);
    walk->deed.key = key;
}

/* A call within a computation: the samples in it may be of that. */
static void short_add(struct walk *walk,
                      struct region piece,
                      const struct history_span *call)
{
    struct thread *its = &walk->profile->threads[walk->thread];
    const struct history *host = lookback_history(walk->profile->lookback);

    if (its->between == DELAY_UNKNOWN) {
        return;
    }
    if (!shortcalls_is_one(call)) {
        its->between =
            call->kind == CK_KIND_POSIX ? its->between : DELAY_UNKNOWN;
        return;
    }
    walk->is_met = false;
    history_samples(host, walk->thread, piece, short_take, walk);
    if (!walk->is_met) {
        shortcalls_pass(walk->profile->shorts, walk->thread, walk->deed.key,
                        region_length(piece));
    }
}

static void call_take(struct walk *walk,
                      struct region piece,
                      const struct history_state *did)
{
    const struct history *host = lookback_history(walk->profile->lookback);
    ck_time_t preempted = history_preempted(host, walk->thread, piece);

    walk->profile->threads[walk->thread].sampled = piece.end;
    deed_add(walk, did, HISTORY_PREEMPTED, preempted);
    deed_add(walk, did, HISTORY_ON, region_length(piece) - preempted);
    short_add(walk, piece, did->call);
    joined_add(walk, piece, did);
    call_weigh(walk, piece, did);
}

static void
part_take(void *state, struct region piece, const struct history_state *did)
{
    struct walk *walk = state;
    struct thread *its = &walk->profile->threads[walk->thread];
    const struct history *host = lookback_history(walk->profile->lookback);

    if (!did->is_known) {
        its->between = DELAY_UNKNOWN;
        deed_add(walk, did, HISTORY_ON, region_length(piece));
        return;
    }
    if (did->call != NULL) {
        call_take(walk, piece, did);
        return;
    }
    deed_add(walk, did, did->off, region_length(piece));
    if (did->off == HISTORY_ON) {
        its->between = walk->deed.key;
        history_samples(host, walk->thread, piece, line_take, walk);
        return;
    }
    joined_add(walk, piece, did);
    if (did->off == HISTORY_BLOCKED) {
        history_stacked_waits(host, walk->thread, piece, wait_take, walk);
    }
}

static void
piece_take(void *state, struct region piece, const struct history_state *did)
{
    struct walk *walk = state;

    kernelwait_walk(walk->profile->lookback, walk->thread, piece, did,
                    (struct history_taker){part_take, walk});
}

/* Behind the end of its process a thread did nothing. */
static void ended_add(struct delayprofile *profile, ck_time_t ns)
{
    struct delay_part part = {
        .key = DELAY_UNKNOWN, .did = DELAY_NONE, .ns = ns};

    if (ns > 0) {
        open_add(profile, &part);
    }
}

/* Walk on to `at`. */
static void
thread_walk(struct delayprofile *profile, uint32_t thread, ck_time_t at)
{
    struct thread *its = &profile->threads[thread];
    struct walk walk = {.profile = profile, .thread = thread};
    ck_time_t end = lookback_ended(profile->lookback, thread);
    struct region part = {its->walked, at < end ? at : end};

    if (at <= its->walked) {
        return;
    }
    end = its->walked > end ? its->walked : end;
    its->walked = at;
    index_aim(profile, thread);
    if (part.start < part.end) {
        history_walk(lookback_history(profile->lookback), thread, part,
                     piece_take, &walk);
    }
    if (end < at) {
        ended_add(profile, at - end);
    }
}

/* ---- items -------------------------------------------------------------- */

/* Let the older half of the items go. */
static void items_trim(struct thread *its)
{
    size_t gone = its->items_count / 2;
    uint32_t parts = 0, costs = 0;

    for (size_t i = 0; i < gone; i++) {
        const struct delay_item *item = &its->items[i];

        parts += item->is_wait ? 0 : item->count;
        costs += item->is_wait ? item->count : 0;
    }
    its->items_count -= gone;
    memmove(its->items, its->items + gone,
            its->items_count * sizeof(*its->items));
    its->parts_count -= parts;
    if (its->parts_count > 0) { /* else there may be no array yet */
        memmove(its->parts, its->parts + parts,
                its->parts_count * sizeof(*its->parts));
    }
    its->costs_count -= costs;
    if (its->costs_count > 0) {
        memmove(its->costs, its->costs + costs,
                its->costs_count * sizeof(*its->costs));
    }
    for (size_t i = 0; i < its->items_count; i++) {
        its->items[i].first -= its->items[i].is_wait ? costs : parts;
    }
    its->kept = gone > 0 ? its->items[0].start : its->kept;
}

/* Room for one item and as many parts or costs. */
static void items_room(struct delayprofile *profile, struct thread *its)
{
    if (its->items_count >= profile->limit ||
        its->parts_count >= profile->limit * PARTS_PER_ITEM ||
        its->costs_count >= profile->limit * PARTS_PER_ITEM) {
        items_trim(its);
    }
    array_grow(&its->items, &its->items_room, its->items_count,
               sizeof(*its->items));
}

/* End the open item at a cut. */
static void
item_end(struct delayprofile *profile, uint32_t thread, ck_time_t at)
{
    struct thread *its = &profile->threads[thread];
    const struct open *open = &its->open;

    thread_walk(profile, thread, at);
    items_room(profile, its);
    its->items[its->items_count++] =
        (struct delay_item){.start = open->start,
                            .end = at,
                            .first = (uint32_t)its->parts_count,
                            .count = (uint32_t)open->count};
    for (size_t i = 0; i < open->count; i++) {
        array_grow(&its->parts, &its->parts_room, its->parts_count,
                   sizeof(*its->parts));
        its->parts[its->parts_count++] = open->parts[i];
    }
    open_clear(profile, thread, at);
}

void delayprofile_settle(struct delayprofile *profile, uint32_t thread)
{
    struct thread *its = &profile->threads[thread];

    for (size_t i = 0; i < its->cuts_count; i++) {
        item_end(profile, thread, its->cuts[i]);
    }
    its->cuts_count = 0;
}

/* More items are to be made than are kept: the older half is not looked at. */
static void cuts_trim(struct delayprofile *profile, uint32_t thread)
{
    struct thread *its = &profile->threads[thread];
    size_t gone = its->cuts_count / 2;

    its->walked = its->kept = its->cuts[gone - 1];
    open_clear(profile, thread, its->walked);
    its->items_count = its->parts_count = its->costs_count = 0;
    its->cuts_count -= gone;
    memmove(its->cuts, its->cuts + gone, its->cuts_count * sizeof(*its->cuts));
}

void delayprofile_cut(struct delayprofile *profile,
                      uint32_t thread,
                      ck_time_t at)
{
    struct thread *its = &profile->threads[thread];

    if (!is_begun(its) || at < its->cursor) {
        return;
    }
    its->cursor = at;
    if (its->cut >= at) {
        return;
    }
    if (its->cuts_count >= profile->limit) {
        cuts_trim(profile, thread);
    }
    array_grow(&its->cuts, &its->cuts_room, its->cuts_count,
               sizeof(*its->cuts));
    its->cuts[its->cuts_count++] = its->cut = at;
}

void delayprofile_extend(struct delayprofile *profile,
                         uint32_t thread,
                         ck_time_t at)
{
    struct thread *its = &profile->threads[thread];

    if (!is_begun(its)) {
        return;
    }
    if (at > its->cursor) {
        its->cursor = at;
    }
    delayprofile_settle(profile, thread);
    thread_walk(profile, thread, its->cursor);
}

ck_time_t delayprofile_walked(const struct delayprofile *profile,
                              uint32_t thread)
{
    return profile->threads[thread].walked;
}

size_t delayprofile_spans(const struct delayprofile *profile)
{
    return profile->limit > DELAY_ITEMS_MIN ? profile->limit * SPANS_PER_ITEM
                                            : 0; /* of many threads none */
}

void delayprofile_wait(struct delayprofile *profile,
                       uint32_t thread,
                       ck_time_t until,
                       const struct delay_cost *costs,
                       size_t count)
{
    struct thread *its = &profile->threads[thread];

    if (!is_begun(its) || until <= its->cursor) {
        return;
    }
    delayprofile_extend(profile, thread, its->cursor);
    items_room(profile, its);
    its->items[its->items_count++] =
        (struct delay_item){.start = its->cursor,
                            .end = until,
                            .is_wait = true,
                            .first = (uint32_t)its->costs_count,
                            .count = (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        array_grow(&its->costs, &its->costs_room, its->costs_count,
                   sizeof(*its->costs));
        its->costs[its->costs_count++] = costs[i];
    }
    its->cursor = its->walked = its->cut = until;
    its->open.start = until;
}

ck_time_t delayprofile_cursor(const struct delayprofile *profile,
                              uint32_t thread)
{
    return profile->threads[thread].cursor;
}

ck_time_t delayprofile_kept(const struct delayprofile *profile, uint32_t thread)
{
    return profile->threads[thread].kept;
}

const struct delay_item *delayprofile_items(const struct delayprofile *profile,
                                            uint32_t thread,
                                            size_t *count)
{
    *count = profile->threads[thread].items_count;
    return profile->threads[thread].items;
}

const struct delay_part *delayprofile_parts(const struct delayprofile *profile,
                                            uint32_t thread,
                                            const struct delay_item *item)
{
    const struct delay_part *parts = profile->threads[thread].parts;

    return parts == NULL ? NULL : parts + item->first;
}

const struct delay_cost *delayprofile_costs(const struct delayprofile *profile,
                                            uint32_t thread,
                                            const struct delay_item *item)
{
    const struct delay_cost *costs = profile->threads[thread].costs;

    return costs == NULL ? NULL : costs + item->first;
}
