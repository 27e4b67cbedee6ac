/* openclbacklog.c - one look for many commands
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who holds the backlog alone looks at it. A callback that comes meanwhile, be
 * it within the call that asks for it, leaves its event's end behind and goes:
 * the holder, which asks for the next one if none is out, sees that when it has
 * let go, and looks again. A callback's own event is not asked for its status,
 * which a driver may have no answer to: each callback leads on. A child of
 * fork() has its parent's backlogs, and no callback comes: what it inherited is
 * forgotten.
 */
#include "agent/inject/opencl/openclbacklog.h"

#define FETCH_BYTES 64 /* a cache line */
#define ROOM_EACH 64   /* records between two looks at the room */

/* Whether the caller holds it now. */
static bool backlog_hold(struct backlog *backlog)
{
    uint32_t own = inject_ring.incarnation;
    uint32_t held = atomic_load(&backlog->holder);

    if (held == own ||
        !atomic_compare_exchange_strong(&backlog->holder, &held, own)) {
        return false;
    }
    if (backlog->incarnation != own) {
        backlog->incarnation = own;
        backlog->first = NULL;
        backlog->last = NULL;
        backlog->event = NULL;
        backlog->recorded = backlog->gathered;
    }
    return true;
}

static bool is_asked(struct backlog *backlog)
{
    return atomic_load(&backlog->asked) == inject_ring.incarnation;
}

/* Where the command of that number has its post. */
static struct pending **post_of(struct backlog *backlog, uint32_t number)
{
    return &backlog->posts[number / BACKLOG_STEP % BACKLOG_POSTS];
}

/* They have numbers in order; `first` is the oldest of those that came. */
static void posts_set(struct backlog *backlog, struct pending *first)
{
    for (; first != NULL; first = first->later) {
        if (backlog->gathered % BACKLOG_STEP == 0) {
            *post_of(backlog, backlog->gathered) = first;
        }
        backlog->gathered++;
    }
}

/* What was enqueued since the last look, oldest first, to the end. */
static void backlog_gather(struct backlog *backlog)
{
    struct pending *newer = atomic_exchange(&backlog->newest, NULL);
    struct pending *newest = NULL;
    struct pending *oldest = NULL;

    while (newer != NULL) {
        struct pending *pending = newer;

        newer = pending->later;
        if (pending->incarnation != inject_ring.incarnation) {
            continue;
        }
        newest = newest == NULL ? pending : newest;
        pending->later = oldest;
        oldest = pending;
    }
    if (oldest == NULL) {
        return;
    }
    posts_set(backlog, oldest);
    if (backlog->first == NULL) {
        backlog->first = oldest;
    } else {
        backlog->last->later = oldest;
    }
    backlog->last = newest;
}

/* How far one of its commands is. */
static cl_int status_of(struct backlog *backlog, struct pending *pending)
{
    return pending->event == backlog->event && !is_asked(backlog)
               ? atomic_load(&backlog->ended)
               : pending_status(pending);
}

/* The program enqueued these thousands of commands ago: have the next one's
 * event and the entry behind it near. */
static void backlog_fetch(const struct pending *pending)
{
    const struct pending *next = pending->later;
    const char *behind = next == NULL ? NULL : (const char *)next->later;

    if (behind == NULL) {
        return;
    }
    __builtin_prefetch(next->event);
    for (size_t at = 0; at < sizeof(*next); at += FETCH_BYTES) {
        __builtin_prefetch(behind + at, 1);
    }
}

/* Record those that are complete; for the program, while its slot has room.
 * Returns how many. */
static uint32_t backlog_record(struct backlog *backlog, bool is_program)
{
    uint32_t count = 0;

    while (backlog->first != NULL) {
        struct pending *pending = backlog->first;
        cl_int status = status_of(backlog, pending);

        if (status > CL_COMPLETE ||
            (is_program && count % ROOM_EACH == 0 && !pending_has_room())) {
            break;
        }
        backlog_fetch(pending);
        if (pending->event == backlog->event) {
            backlog->event = NULL;
        }
        backlog->first = pending->later;
        pending_done(pending, status);
        count++;
    }
    backlog->recorded += count;
    return count;
}

/* As far on as the pace of `count` commands since the last look allows. */
static void backlog_pace(struct backlog *backlog, uint32_t count)
{
    ck_time_t now = ck_time_raw();
    ck_time_t each =
        count == 0 ? BACKLOG_LATE : (now - backlog->looked) / count;
    uint32_t most = each <= BACKLOG_LATE / BACKLOG_AHEAD
                        ? BACKLOG_AHEAD
                        : (uint32_t)(BACKLOG_LATE / each);

    backlog->ahead = 2 * backlog->ahead < most ? 2 * backlog->ahead : most;
    if (backlog->ahead == 0) {
        backlog->ahead = 1;
    }
    backlog->looked = now;
}

/* The command so far on, or the last one; from BACKLOG_STEP on, the next but
 * one that has a post. */
static struct pending *backlog_far(struct backlog *backlog)
{
    struct pending *far = backlog->first;
    uint32_t number =
        backlog->recorded / BACKLOG_STEP * BACKLOG_STEP + BACKLOG_AHEAD;

    if (backlog->ahead > BACKLOG_STEP) {
        return number - backlog->recorded <
                       backlog->gathered - backlog->recorded
                   ? *post_of(backlog, number)
                   : backlog->last;
    }
    for (uint32_t i = 1; i < backlog->ahead && far->later != NULL; i++) {
        far = far->later;
    }
    return far;
}

/* The command whose end is the next look; the first is not complete. */
static struct pending *backlog_next(struct backlog *backlog)
{
    struct pending *next = backlog_far(backlog);

    return next == backlog->first || status_of(backlog, next) > CL_COMPLETE
               ? next
               : backlog->first;
}

/* The driver makes no callback: nothing here can be followed. */
static void backlog_drop(struct backlog *backlog)
{
    while (backlog->first != NULL) {
        struct pending *pending = backlog->first;

        backlog->first = pending->later;
        backlog->recorded++;
        pending_drop(pending);
    }
}

static void backlog_look(struct backlog *backlog, bool is_called);

/* It has ended, whatever status the driver gives. */
static void CL_CALLBACK backlog_call(cl_event event, cl_int status, void *data)
{
    struct backlog *backlog = data;

    (void)event;
    atomic_store(&backlog->ended, status < CL_COMPLETE ? status : CL_COMPLETE);
    atomic_store(&backlog->asked, 0);
    if (backlog_hold(backlog)) {
        backlog_look(backlog, true);
    }
}

/* Have the driver call. */
static void backlog_ask(struct backlog *backlog)
{
    backlog->event = backlog_next(backlog)->event;
    atomic_store(&backlog->asked, inject_ring.incarnation);
    if (opencl_driver->clSetEventCallback(
            backlog->event, CL_COMPLETE, backlog_call, backlog) != CL_SUCCESS) {
        atomic_store(&backlog->asked, 0);
        backlog->event = NULL;
        backlog_drop(backlog);
    }
}

/* For a callback: does the program itself look, and keep up? */
static bool is_looked_at(struct backlog *backlog)
{
    uint32_t looks =
        atomic_load_explicit(&backlog->looks, memory_order_relaxed);
    bool is_new = looks != backlog->seen;

    backlog->seen = looks;
    return is_new && (backlog->first == NULL ||
                      status_of(backlog, backlog_far(backlog)) > CL_COMPLETE);
}

/* By its holder, who no longer is that afterwards. */
static void backlog_look(struct backlog *backlog, bool is_called)
{
    bool is_left;

    do {
        backlog_gather(backlog);
        if (!is_called || !is_looked_at(backlog)) {
            uint32_t count = backlog_record(backlog, !is_called);

            if (is_called || count > 0) {
                backlog_pace(backlog, count);
            }
        }
        if (backlog->first != NULL && !is_asked(backlog)) {
            backlog_ask(backlog);
        }
        is_called = true;
        is_left = backlog->first != NULL;
        atomic_store(&backlog->holder, 0);
    } while (!is_asked(backlog) &&
             (is_left || atomic_load(&backlog->newest) != NULL) &&
             backlog_hold(backlog));
}

static void program_looks(struct backlog *backlog)
{
    atomic_fetch_add_explicit(&backlog->looks, 1, memory_order_relaxed);
}

void backlog_add(struct backlog *backlog, struct pending *pending)
{
    uint32_t added =
        atomic_load_explicit(&backlog->added, memory_order_relaxed) + 1;

    pending->later = atomic_load(&backlog->newest);
    while (!atomic_compare_exchange_weak(&backlog->newest, &pending->later,
                                         pending)) {
    }
    /* Not counted exactly where threads share the queue. */
    atomic_store_explicit(&backlog->added, added % BACKLOG_STRIDE,
                          memory_order_relaxed);
    if ((added < BACKLOG_STRIDE && is_asked(backlog)) ||
        !backlog_hold(backlog)) {
        return;
    }
    if (added >= BACKLOG_STRIDE) {
        program_looks(backlog);
    }
    backlog_look(backlog, false);
}

void backlog_record_ended(struct backlog *backlog)
{
    if (backlog_hold(backlog)) {
        program_looks(backlog);
        backlog_look(backlog, false);
    }
}

bool backlog_is_empty(struct backlog *backlog)
{
    bool is_empty;

    if (!backlog_hold(backlog)) {
        return false;
    }
    backlog_gather(backlog);
    (void)backlog_record(backlog, false);
    is_empty = backlog->first == NULL;
    backlog_look(backlog, false);
    return is_empty;
}

/* What threads wait for now, with a reference of theirs; 0 = nothing. */
static _Atomic uintptr_t waited[BACKLOG_WAITERS];

cl_uint backlog_held(cl_event event)
{
    cl_uint count = 0;

    for (int i = 0; event != NULL && i < BACKLOG_WAITERS; i++) {
        count += atomic_load(&waited[i]) == (uintptr_t)event;
    }
    return count;
}

/* Make one place that has `from` have `to`. Whether there was one. */
static bool waited_change(uintptr_t from, uintptr_t to)
{
    for (int i = 0; i < BACKLOG_WAITERS; i++) {
        uintptr_t held = from;

        if (atomic_compare_exchange_strong(&waited[i], &held, to)) {
            return true;
        }
    }
    return false;
}

/* Take a reference to an event that is to be waited for. */
static bool event_hold(cl_event event)
{
    if (opencl_driver->clRetainEvent(event) != CL_SUCCESS) {
        return false;
    }
    if (!waited_change(0, (uintptr_t)event)) {
        (void)opencl_driver->clReleaseEvent(event);
        return false;
    }
    return true;
}

static void event_leave(cl_event event)
{
    (void)waited_change((uintptr_t)event, 0);
    (void)opencl_driver->clReleaseEvent(event);
}

/* How far a thread waits. */
struct wait {
    uint32_t queue; /* for commands of this one only */
    bool has_end;
    uint32_t end; /* commands gathered when it began */
};

/* The event of the command that is to be waited for next, held; NULL = few are
 * left, or another thread looks. */
static cl_event wait_next(struct backlog *backlog, struct wait *wait)
{
    cl_event event = NULL;
    uint32_t left;

    if (!backlog_hold(backlog)) {
        return NULL;
    }
    program_looks(backlog);
    backlog_gather(backlog);
    if (!wait->has_end) {
        wait->end = backlog->gathered;
        wait->has_end = true;
    }
    backlog_pace(backlog, backlog_record(backlog, true));
    left = wait->end - backlog->recorded;
    /* Others may have recorded more than what is waited for. */
    if (backlog->first != NULL && (int32_t)left > (int32_t)backlog->ahead) {
        const struct pending *next = backlog_next(backlog);

        if (next->queue == wait->queue && event_hold(next->event)) {
            event = next->event;
        }
    }
    backlog_look(backlog, false);
    return event;
}

void backlog_wait(struct backlog *backlog, uint32_t queue)
{
    struct wait wait = {.queue = queue};
    cl_event waited_for = NULL;
    cl_event event = wait_next(backlog, &wait);

    /* The same one again: its end was no end for its status. */
    while (event != NULL && event != waited_for) {
        cl_int rc = opencl_driver->clWaitForEvents(1, &event);

        event_leave(event);
        waited_for = event;
        event = rc == CL_SUCCESS ? wait_next(backlog, &wait) : NULL;
    }
    if (event != NULL) {
        event_leave(event);
    }
}
