/* openclbacklog.c - one callback for many commands
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who holds the backlog gives it on to the callback that it asks for: after
 * that it touches nothing of it, unless the driver calls back inside the call
 * that asks: the caller looks again then, as who looks in there would be called
 * within again and again. A callback's own event is not asked for its status,
 * which a driver may have no answer to: each callback leads on. A child of
 * fork() has its parent's backlogs, and no callback comes: what it inherited is
 * forgotten.
 */
#include "agent/inject/opencl/openclbacklog.h"

/* The event of a callback, and how it ended. */
struct ended {
    cl_event event; /* NULL = none */
    cl_int status;
};

/* What this thread asks the driver for just now. */
static __thread struct asking {
    struct backlog *backlog; /* NULL = nothing */
    struct ended ended;      /* it was called back for that meanwhile */
} asking;

/* Whether the caller holds it now. */
static bool backlog_hold(struct backlog *backlog)
{
    uint32_t own = inject_ring.incarnation;
    uint32_t held = atomic_load(&backlog->holder);

    if (held == own ||
        !atomic_compare_exchange_strong(&backlog->holder, &held, own)) {
        return false;
    }
    if (held != 0) {
        backlog->first = NULL;
        backlog->last = NULL;
    }
    return true;
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
    if (backlog->first == NULL) {
        backlog->first = oldest;
    } else {
        backlog->last->later = oldest;
    }
    backlog->last = newest;
}

/* Record those that are complete. Returns how many. */
static uint32_t backlog_record(struct backlog *backlog,
                               const struct ended *ended)
{
    uint32_t count = 0;

    while (backlog->first != NULL) {
        struct pending *pending = backlog->first;
        cl_int status = pending->event == ended->event
                            ? ended->status
                            : pending_status(pending);

        if (status > CL_COMPLETE) {
            break;
        }
        backlog->first = pending->later;
        pending_done(pending, status);
        count++;
    }
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

/* The command whose end is the next look; the first is not complete. */
static struct pending *backlog_next(const struct backlog *backlog)
{
    struct pending *next = backlog->first;

    for (uint32_t i = 1; i < backlog->ahead && next->later != NULL; i++) {
        next = next->later;
    }
    return next == backlog->first || pending_status(next) > CL_COMPLETE
               ? next
               : backlog->first;
}

/* The driver makes no callback: nothing here can be followed. */
static void backlog_drop(struct backlog *backlog)
{
    while (backlog->first != NULL) {
        struct pending *pending = backlog->first;

        backlog->first = pending->later;
        pending_drop(pending);
    }
}

static void backlog_look(struct backlog *backlog, struct ended ended);

/* It has ended, whatever status the driver gives. */
static void CL_CALLBACK backlog_call(cl_event event, cl_int status, void *data)
{
    const struct ended ended = {event,
                                status < CL_COMPLETE ? status : CL_COMPLETE};

    if (asking.backlog == data) {
        asking.ended = ended;
    } else {
        backlog_look(data, ended);
    }
}

/* Have the driver call. What it was called back for inside of that, and then
 * the backlog is still the caller's; {NULL} = nothing, and it is no more.
 * False: it makes no callback. */
static bool backlog_ask(struct backlog *backlog, struct ended *ended)
{
    const struct asking outer = asking;
    bool is_asked;

    asking = (struct asking){.backlog = backlog};
    is_asked = opencl_driver->clSetEventCallback(backlog_next(backlog)->event,
                                                 CL_COMPLETE, backlog_call,
                                                 backlog) == CL_SUCCESS;
    *ended = asking.ended;
    asking = outer;
    return is_asked;
}

/* By its holder, who may no longer be that afterwards. */
static void backlog_look(struct backlog *backlog, struct ended ended)
{
    for (;;) {
        backlog_gather(backlog);
        backlog_pace(backlog, backlog_record(backlog, &ended));
        ended.event = NULL;
        if (backlog->first == NULL) {
            atomic_store(&backlog->holder, 0);
            if (atomic_load(&backlog->newest) == NULL ||
                !backlog_hold(backlog)) {
                return;
            }
        } else if (!backlog_ask(backlog, &ended)) {
            backlog_drop(backlog);
            ended.event = NULL;
        } else if (ended.event == NULL) {
            return;
        }
    }
}

void backlog_add(struct backlog *backlog, struct pending *pending)
{
    pending->later = atomic_load(&backlog->newest);
    while (!atomic_compare_exchange_weak(&backlog->newest, &pending->later,
                                         pending)) {
    }
    if (backlog_hold(backlog)) {
        backlog_look(backlog, (struct ended){NULL, CL_COMPLETE});
    }
}
