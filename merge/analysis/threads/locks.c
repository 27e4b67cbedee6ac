/* locks.c - locks that threads wait for, one behind the other
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/threads/locks.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/evidence.h"
#include "merge/analysis/threads/lockplaces.h"
#include "merge/analysis/threads/lockserial.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* Threads that wait for one lock, of a damaged run: more are not looked at. */
#define WAITERS_MAX 65536

struct waiter {
    ck_time_t end;
    uint32_t thread;
    bool is_failed; /* it did not get the lock */
};

struct lock {
    uint32_t process;
    uint64_t address;
    uint32_t holder; /* thread; DEFS_NONE = not known */
    uint32_t next;   /* of its process that is active; DEFS_NONE = none */
    bool is_active;
    ck_time_t passed;                /* time before it is in `by` */
    ck_time_t by[LOCKS_WAITERS + 1]; /* so many waited; [0] is not kept */
    struct waiter *waiting;          /* by end */
    size_t waiting_count, waiting_room;
    uint32_t users;
    uint64_t count;
    ck_time_t ns;
};

/* The latest call of a thread. */
struct doing {
    struct region part;
    uint32_t name;
    uint64_t site;
};

struct locks {
    const struct defs *defs;       /* borrowed */
    const struct history *history; /* borrowed */
    struct region region;
    struct table *keys; /* process, address */
    struct lock *items;
    size_t count, room;
    struct table *user_keys; /* lock, thread */
    struct lockplaces *places;
    struct doing *doings; /* by thread */
    /* By process the first of the locks that were waited for lately, in which a
     * holder may be looked for; DEFS_NONE = none. */
    uint32_t *active;
    struct evidence *evidence;
    struct lockserial *serial;
    uint64_t left_out;
};

struct locks *locks_create(const struct defs *defs,
                           const struct history *history,
                           struct region region)
{
    struct locks *locks = xcalloc(1, sizeof(*locks));

    locks->defs = defs;
    locks->history = history;
    locks->region = region;
    locks->keys = table_create();
    locks->user_keys = table_create();
    locks->places = lockplaces_create(defs);
    locks->doings = xcalloc(defs->threads_count + 1, sizeof(*locks->doings));
    locks->active = xcalloc(defs->processes_count + 1, sizeof(*locks->active));
    for (size_t i = 0; i < defs->processes_count; i++) {
        locks->active[i] = DEFS_NONE;
    }
    locks->evidence = evidence_create(defs);
    locks->serial = lockserial_create(defs);
    return locks;
}

void locks_destroy(struct locks *locks)
{
    if (locks == NULL) {
        return;
    }
    for (size_t i = 0; i < locks->count; i++) {
        free(locks->items[i].waiting);
    }
    free(locks->items);
    table_destroy(locks->keys);
    table_destroy(locks->user_keys);
    lockplaces_destroy(locks->places);
    free(locks->doings);
    free(locks->active);
    evidence_destroy(locks->evidence);
    lockserial_destroy(locks->serial);
    free(locks);
}

/* ---- one lock ----------------------------------------------------------- */

/* The part of a wait in which the holder was in a call. */
static void
held_add(struct locks *locks, const struct lock *lock, struct region part)
{
    const struct doing *its;

    if (lock->holder == DEFS_NONE) {
        return;
    }
    its = &locks->doings[lock->holder];
    if (region_clip(its->part, &part.start, &part.end) &&
        part.end > part.start) {
        const struct lockplaces_call call = {(uint32_t)(lock - locks->items),
                                             lock->process, its->name,
                                             its->site};

        lockplaces_held(locks->places, &call, part.end - part.start);
    }
}

static void count_time(struct locks *locks, struct lock *lock, ck_time_t until)
{
    struct region part = {lock->passed, until};
    size_t waiting = lock->waiting_count < LOCKS_WAITERS ? lock->waiting_count
                                                         : LOCKS_WAITERS;

    if (until <= lock->passed) {
        return;
    }
    lock->passed = until;
    if (waiting > 0 && region_clip(locks->region, &part.start, &part.end)) {
        lock->by[waiting] += part.end - part.start;
        lockserial_waited(locks->serial, (uint32_t)(lock - locks->items), part,
                          (uint32_t)lock->waiting_count);
        held_add(locks, lock, part);
    }
}

/* Waits that end by `now`: each has the lock then. */
static void lock_pass(struct locks *locks, struct lock *lock, ck_time_t now)
{
    size_t done = 0;

    while (done < lock->waiting_count && lock->waiting[0].end <= now) {
        struct waiter first = lock->waiting[0];

        count_time(locks, lock, first.end);
        lock->waiting_count--;
        memmove(lock->waiting, lock->waiting + 1,
                lock->waiting_count * sizeof(*lock->waiting));
        if (!first.is_failed) {
            lock->holder = first.thread;
        }
    }
    count_time(locks, lock, now);
}

static void user_add(struct locks *locks, uint32_t lock, uint32_t thread)
{
    size_t before = table_count(locks->user_keys);

    (void)table_number(locks->user_keys, (struct table_key){lock, thread, 0});
    if (table_count(locks->user_keys) > before) {
        locks->items[lock].users++;
        lockserial_user(locks->serial, lock, thread);
    }
}

static void waiter_add(struct lock *lock, struct waiter waiter)
{
    size_t at = lock->waiting_count;

    if (at == WAITERS_MAX) {
        return;
    }
    array_grow(&lock->waiting, &lock->waiting_room, lock->waiting_count,
               sizeof(*lock->waiting));
    while (at > 0 && lock->waiting[at - 1].end > waiter.end) {
        lock->waiting[at] = lock->waiting[at - 1];
        at--;
    }
    lock->waiting[at] = waiter;
    lock->waiting_count++;
}

/* ---- waits -------------------------------------------------------------- */

/* A wait for a lock, whoever recorded it. */
struct lock_event {
    const struct timeline_event *event;
    uint64_t address;
    uint64_t site;
    uint32_t holder; /* tid, 0 = not known */
};

static struct lock *lock_find(struct locks *locks, const struct lock_event *of)
{
    struct table_key key = {of->event->process, of->address, 0};
    int64_t number = table_find(locks->keys, key);

    if (number < 0) {
        if (locks->count == LOCKS_MAX) {
            locks->left_out++;
            return NULL;
        }
        number = table_number(locks->keys, key);
        array_grow(&locks->items, &locks->room, locks->count,
                   sizeof(*locks->items));
        locks->items[locks->count++] =
            (struct lock){.process = of->event->process,
                          .address = of->address,
                          .holder = DEFS_NONE,
                          .passed = INT64_MIN};
    }
    return &locks->items[number];
}

static void activate(struct locks *locks, uint32_t number)
{
    struct lock *lock = &locks->items[number];

    if (!lock->is_active) {
        lock->is_active = true;
        lock->next = locks->active[lock->process];
        locks->active[lock->process] = number;
    }
}

static void wait_take(struct locks *locks, const struct lock_event *of)
{
    const struct timeline_event *event = of->event;
    struct lock *lock = lock_find(locks, of);
    struct region part = {event->start, event->end};
    struct lockplaces_call call = {0, event->process, event->record->name,
                                   of->site};
    ck_time_t ns = 0;
    uint32_t number;

    if (lock == NULL) {
        return;
    }
    number = (uint32_t)(lock - locks->items);
    lock_pass(locks, lock, event->start);
    if (lock->holder == event->thread) {
        lock->holder = DEFS_NONE; /* it let it go, and another one took it */
    }
    if (of->holder != 0) {
        uint32_t holder =
            history_thread(locks->history, event->process, of->holder);

        if (holder != HISTORY_NONE) {
            lock->holder = holder;
            user_add(locks, number, holder);
            lockserial_seen(locks->serial, holder, part, false);
        }
    }
    user_add(locks, number, event->thread);
    waiter_add(lock,
               (struct waiter){event->end, event->thread,
                               (event->record->flags & CK_FLAG_FAILED) != 0});
    activate(locks, number);
    if (region_clip(locks->region, &part.start, &part.end) &&
        part.end > part.start) {
        ns = part.end - part.start;
        lock->count++;
        lock->ns += ns;
    }
    call.lock = number;
    lockplaces_waited(locks->places, &call, event->thread, ns);
}

/* ---- holders ------------------------------------------------------------ */

/* The lock that a thread holds while others wait for it; DEFS_NONE. Locks
 * without a waiter are no longer looked at. */
static uint32_t held_by(struct locks *locks, uint32_t thread, ck_time_t now)
{
    uint32_t *at = &locks->active[locks->defs->threads[thread].process];
    uint32_t held = DEFS_NONE;

    while (*at != DEFS_NONE) {
        struct lock *lock = &locks->items[*at];

        lock_pass(locks, lock, now);
        if (lock->waiting_count == 0) {
            lock->is_active = false;
            *at = lock->next;
            continue;
        }
        if (lock->holder == thread) {
            held = *at;
        }
        at = &lock->next;
    }
    return held;
}

/* Time up to now is counted before the thread is in another call. */
static void deed_take(struct locks *locks, const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;

    (void)held_by(locks, event->thread, event->start);
    locks->doings[event->thread] =
        (struct doing){.part = {event->start, event->end},
                       .name = event->record->name,
                       .site = call->site};
}

/* The time of a sample; a damaged one's ends with all time. */
static struct region sampled_part(const struct timeline_event *event)
{
    ck_time_t weight = ((const struct ck_sample *)event->record)->weight;

    return (struct region){event->start, weight < INT64_MAX - event->start
                                             ? event->start + weight
                                             : INT64_MAX};
}

static void sample_take(struct locks *locks, const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    uint32_t thread, lock;

    if (record->weight <= 0 || event->start < locks->region.start ||
        event->start >= locks->region.end) {
        return;
    }
    thread = history_told(locks->history, locks->defs, event, record->tid);
    if (thread == HISTORY_NONE) {
        return;
    }
    lockserial_seen(locks->serial, thread, sampled_part(event), true);
    lock = held_by(locks, thread, event->start);
    if (lock != DEFS_NONE) {
        evidence_add(
            locks->evidence,
            &(struct evidence_item){.kind = EVIDENCE_SAMPLE,
                                    .activity = lock,
                                    .a = locks->defs->threads[thread].process,
                                    .b = (uint32_t)record->stack,
                                    .weight = record->weight});
    }
}

/* ---- events ------------------------------------------------------------- */

static bool is_lock_call(const char *name)
{
    return name != NULL && (strncmp(name, "pthread_mutex_", 14) == 0 ||
                            strncmp(name, "pthread_rwlock_", 15) == 0);
}

static void call_take(struct locks *locks, const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;
    const char *name =
        defs_name(locks->defs, event->process, event->record->name);

    if (call->arg != 0 && is_lock_call(name)) {
        /* A runtime's own: what it is about is recorded there. */
        if (!defs_is_team(locks->defs, event->process, call->site)) {
            wait_take(locks, &(struct lock_event){event, call->arg, call->site,
                                                  (uint32_t)call->extra});
        }
        return;
    }
    deed_take(locks, event);
}

bool locks_is_wait(const struct defs *defs, const struct timeline_event *event)
{
    return event->record->kind == CK_KIND_TEAM_LOCK ||
           (event->record->kind == CK_KIND_POSIX &&
            is_lock_call(defs_name(defs, event->process, event->record->name)));
}

void locks_take(void *state, const struct timeline_event *event)
{
    struct locks *locks = state;
    const struct ck_team *team = (const struct ck_team *)event->record;
    unsigned kind = event->record->kind;

    if (event->thread >= locks->defs->threads_count) {
        return;
    }
    if (kind != CK_KIND_SAMPLE) {
        lockserial_seen(locks->serial, event->thread,
                        (struct region){event->start, event->end}, false);
    }
    if (kind == CK_KIND_POSIX) {
        call_take(locks, event);
    } else if (kind == CK_KIND_TEAM_LOCK && team->object != 0) {
        wait_take(locks,
                  &(struct lock_event){event, team->object, team->site, 0});
    } else if (kind == CK_KIND_SAMPLE) {
        sample_take(locks, event);
    }
}

/* ---- the report   ------------------------------------------------------- */

static ck_time_t time_from(const struct lock *lock, uint32_t waiters)
{
    ck_time_t sum = 0;

    for (uint32_t i = waiters < 1 ? 1 : waiters; i <= LOCKS_WAITERS; i++) {
        sum += lock->by[i];
    }
    return sum;
}

/* With all its threads there all the time. */
static ck_time_t serial_of_all(const struct lock *lock)
{
    uint32_t others = lock->users < 2 ? 0 : lock->users - 1;

    return others == 0
               ? 0
               : time_from(lock,
                           others < LOCKS_WAITERS ? others : LOCKS_WAITERS);
}

static struct report_lock row_of(const struct locks *locks, uint32_t number)
{
    const struct lock *lock = &locks->items[number];
    struct lockserial_sum sum;
    struct report_lock row = {
        .address = lock->address,
        .rank = locks->defs->processes[lock->process].rank,
        .ranks = 1,
        .threads = lock->users,
        .count = lock->count,
        .ns = lock->ns,
        .wall = time_from(lock, 1),
        .at_once = lock->users,
        .serial = serial_of_all(lock),
        .did = evidence_sampled(locks->evidence, number),
    };

    if (lockserial_find(locks->serial, number, &sum)) {
        row.at_once = sum.at_once;
        row.serial = sum.serial;
    }
    lockplaces_fill(locks->places, number, &row);
    return row;
}

static int by_serial(const void *a, const void *b)
{
    const struct report_lock *left = a;
    const struct report_lock *right = b;

    if (left->serial != right->serial) {
        return left->serial < right->serial ? 1 : -1;
    }
    return (left->ns < right->ns) - (left->ns > right->ns);
}

static bool is_same(const struct report_lock *a, const struct report_lock *b)
{
    return a->place.line == b->place.line && a->place.file == b->place.file &&
           a->place.function == b->place.function && a->what == b->what &&
           (a->place.function != NULL || a->place.file != NULL);
}

/* Of locks that several ranks wait for at one line, the one with the most
 * represents all: its times are of its rank. */
static void row_add(struct report_threads *threads,
                    const struct report_lock *row)
{
    for (size_t i = 0; i < threads->locks_count; i++) {
        struct report_lock *kept = &threads->locks[i];

        if (is_same(kept, row) && kept->rank != row->rank) {
            kept->ranks++;
            kept->count += row->count;
            kept->ns += row->ns;
            return;
        }
    }
    threads->locks[threads->locks_count++] = *row;
}

/* Locks of a report; those with the least waits are left out. */
#define LISTED_MAX 256

static int by_waits(const void *a, const void *b)
{
    const struct lock *left = *(const struct lock *const *)a;
    const struct lock *right = *(const struct lock *const *)b;

    return (left->ns < right->ns) - (left->ns > right->ns);
}

void locks_report(struct locks *locks, struct report *report)
{
    struct report_threads *threads = &report->threads;
    const struct lock **order = xcalloc(locks->count + 1, sizeof(*order));
    struct report_lock *rows;
    size_t count = 0;

    for (size_t i = 0; i < locks->count; i++) {
        lock_pass(locks, &locks->items[i], INT64_MAX);
        if (locks->items[i].count > 0 &&
            defs_is_wanted(
                locks->defs,
                locks->defs->processes[locks->items[i].process].rank)) {
            order[count++] = &locks->items[i];
        }
    }
    lockserial_close(locks->serial);
    qsort(order, count, sizeof(*order), by_waits);
    threads->left_out =
        locks->left_out + (count > LISTED_MAX ? count - LISTED_MAX : 0);
    count = count > LISTED_MAX ? LISTED_MAX : count;
    rows = xcalloc(count + 1, sizeof(*rows));
    threads->locks = xcalloc(count + 1, sizeof(*threads->locks));
    for (size_t i = 0; i < count; i++) {
        rows[i] = row_of(locks, (uint32_t)(order[i] - locks->items));
    }
    qsort(rows, count, sizeof(*rows), by_serial);
    for (size_t i = 0; i < count; i++) {
        row_add(threads, &rows[i]);
    }
    free(rows);
    free(order);
}

ck_time_t locks_thread(const struct locks *locks,
                       uint32_t thread,
                       const char **what,
                       struct place *place,
                       ck_time_t *most)
{
    return lockplaces_thread(locks->places, thread, what, place, most);
}
