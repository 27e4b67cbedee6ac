/* waits.c - until when each MPI call had to wait, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call has one fact about the messages that it completed, and one for each
 * collective. They are in order of the calls' numbers, by thread.
 */
#include "merge/analysis/history/waits.h"

#include <stdlib.h>
#include <string.h>

#include "merge/messages/epochs.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* Few networks take this long for a small message, and for each byte of a large
 * one. */
#define STALLED (20 * CK_TIME_US)
#define BYTE_SLOW 5

/* Who was last (or first, where any would do) of one kind of partners. */
struct partner {
    uint32_t thread; /* DEFS_NONE = none */
    ck_time_t until;
    int64_t mark;
};

struct fact {
    uint32_t call;
    uint32_t expected; /* receives that it completed */
    uint32_t known;    /* those of them whose send is known */
    bool is_collective;
    bool is_epoch;  /* of a window */
    ck_time_t left; /* return of the call, or its enter if not known */
    struct partner sender;
    struct partner receiver;
    ck_time_t doubt; /* it may have waited until then: for a small send, or for
                        the progress of others in what is non-blocking */
    uint64_t bytes;  /* that took their time of that */
    struct collective_call collective;
};

struct thread {
    struct fact *facts;
    size_t count, room;
    uint32_t gone; /* highest number of a call whose facts are forgotten */
};

/* The collective behind a request. */
struct pending {
    bool is_set;
    struct collective_call call;
};

struct waits {
    const struct defs *defs;   /* borrowed */
    const struct align *align; /* borrowed */
    uint64_t eager_bytes;
    struct collective *collective;
    struct matcher *matcher;
    struct epochs *epochs;
    struct thread *threads;
    size_t limit; /* facts of one thread */
    struct table *request_keys;
    struct pending *pending;
    size_t pending_count, pending_room;
    waits_horizon_f horizon;
    const void *horizon_state;
    waits_find_f others; /* NULL = no other source */
    const void *others_state;
    ck_time_t now;
};

/* ---- facts -------------------------------------------------------------- */

static void facts_trim(struct thread *thread, ck_time_t horizon, size_t limit)
{
    size_t kept = 0;
    size_t from = 0;

    for (size_t i = 0; i < thread->count; i++) {
        if (thread->facts[i].left > horizon) {
            thread->facts[kept++] = thread->facts[i];
        }
    }
    if (kept >= limit) {
        from = kept / 2;
        thread->gone = thread->facts[from].call;
        memmove(thread->facts, thread->facts + from,
                (kept - from) * sizeof(*thread->facts));
    }
    thread->count = kept - from;
}

/* The first fact of a call or a later one. */
static size_t fact_at(const struct thread *thread, uint32_t call)
{
    size_t low = 0, high = thread->count;

    /* Mostly it is one of the last. */
    for (unsigned i = 0; i < 4 && high > 0; i++, high--) {
        if (thread->facts[high - 1].call < call) {
            return high;
        }
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (thread->facts[middle].call < call) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* One about messages: what a collective has beside that is set by its own. */
static inline void fact_init(struct fact *fact, uint32_t call, ck_time_t left)
{
    fact->call = call;
    fact->expected = fact->known = 0;
    fact->is_collective = fact->is_epoch = false;
    fact->left = left;
    fact->sender = (struct partner){DEFS_NONE, INT64_MIN, INT64_MIN};
    fact->receiver = (struct partner){DEFS_NONE, INT64_MIN, INT64_MIN};
    fact->doubt = INT64_MIN;
    fact->bytes = 0;
}

/* A fresh fact of a call, behind those that it has. */
static struct fact *
fact_new(struct waits *waits, uint32_t number, uint32_t call, ck_time_t left)
{
    struct thread *thread = &waits->threads[number];
    size_t at;

    if (thread->count == thread->room) {
        ck_time_t horizon =
            waits->horizon != NULL
                ? waits->horizon(waits->horizon_state, waits->now)
                : INT64_MIN;

        facts_trim(thread, horizon, waits->limit);
        if (thread->count > thread->room / 2 || thread->room == 0) {
            size_t count = thread->room;

            array_grow(&thread->facts, &thread->room, count,
                       sizeof(*thread->facts));
        }
    }
    at = thread->count;
    while (at > 0 && thread->facts[at - 1].call > call) {
        at--;
    }
    if (at < thread->count) {
        memmove(&thread->facts[at + 1], &thread->facts[at],
                (thread->count - at) * sizeof(*thread->facts));
    }
    thread->count++;
    fact_init(&thread->facts[at], call, left);
    return &thread->facts[at];
}

/* The fact about messages of a call, made when it has none; NULL: out of
 * memory, or the thread is not known (errno 0). */
static struct fact *
fact_find(struct waits *waits, const struct match_call *call, ck_time_t left)
{
    struct thread *thread;

    if (call->thread >= waits->defs->threads_count) {
        return NULL;
    }
    thread = &waits->threads[call->thread];
    for (size_t i = fact_at(thread, call->number);
         i < thread->count && thread->facts[i].call == call->number; i++) {
        if (!thread->facts[i].is_collective) {
            return &thread->facts[i];
        }
    }
    return fact_new(waits, call->thread, call->number, left);
}

static bool is_forgotten(const struct waits *waits,
                         const struct match_call *call)
{
    return call->thread >= waits->defs->threads_count || call->number == 0 ||
           call->number <= waits->threads[call->thread].gone;
}

static void partner_add(struct partner *partner,
                        enum wait_rule rule,
                        uint32_t thread,
                        ck_time_t until,
                        int64_t mark)
{
    if (partner->thread == DEFS_NONE ||
        (rule == WAIT_RULE_ALL ? mark > partner->mark : mark < partner->mark)) {
        partner->mark = mark;
    }
    if (partner->thread == DEFS_NONE ||
        (rule == WAIT_RULE_ALL ? until > partner->until
                               : until < partner->until)) {
        partner->until = until;
        partner->thread = thread;
    }
}

/* ---- messages ----------------------------------------------------------- */

/* Was it posted by a call that does not wait for it? The receiving half of one
 * that sends, too, is done when that returns. */
static bool is_posted(const struct waits *waits, const struct match_end *end)
{
    const char *name = defs_name(waits->defs, end->process, end->posted.name);

    if (end->is_done) {
        return end->completed.number != end->posted.number;
    }
    return name == NULL || strncmp(name, "MPI_Sendrecv", 12) != 0;
}

/* A large message goes on only while both ranks are in MPI: one that did not
 * block there may have kept the other. */
static void progress_doubt(const struct waits *waits,
                           struct fact *fact,
                           const struct match *match,
                           const struct match_end *other,
                           ck_time_t done)
{
    if (match->bytes <= waits->eager_bytes || !is_posted(waits, other)) {
        return;
    }
    fact->doubt = done > fact->doubt ? done : fact->doubt;
    fact->bytes += match->bytes;
}

static void received_add(struct waits *waits,
                         enum match_news news,
                         const struct match *match,
                         enum wait_rule rule)
{
    const struct match_end *send = &match->send;
    struct fact *fact =
        fact_find(waits, &match->recv.completed, match->recv.done);

    if (fact == NULL) {
        return;
    }
    if (news == MATCH_COMPLETED) {
        fact->expected++;
        return;
    }
    partner_add(&fact->sender, rule, send->posted.thread, send->post,
                send->mark);
    if (news == MATCH_RECEIVED) {
        fact->known++;
        progress_doubt(waits, fact, match, send, match->recv.done);
    }
}

/* A send that does not end before its receive is posted. */
static bool is_synchronous(const struct waits *waits, const struct match *match)
{
    const char *name =
        defs_name(waits->defs, match->send.process, match->send.posted.name);

    return match->bytes > waits->eager_bytes ||
           (name != NULL && (strncmp(name, "MPI_Ssend", 9) == 0 ||
                             strncmp(name, "MPI_Issend", 10) == 0));
}

/* One that was over before its receive was posted waited for none. Whether a
 * small one did depends on the MPI library: with Open MPI a persistent one ends
 * when the receiver has taken it. */
static void
sent_add(struct waits *waits, const struct match *match, enum wait_rule rule)
{
    const struct match_end *recv = &match->recv;
    bool is_small = !is_synchronous(waits, match);
    struct fact *fact;

    if (match->send.done <= recv->post ||
        (is_small && recv->post <= match->send.post)) {
        return;
    }
    fact = fact_find(waits, &match->send.completed, match->send.done);
    if (fact == NULL) {
        return;
    }
    if (is_small) {
        fact->doubt = recv->post > fact->doubt ? recv->post : fact->doubt;
        return;
    }
    partner_add(&fact->receiver, rule, recv->posted.thread, recv->post,
                recv->mark);
    progress_doubt(waits, fact, match, recv, match->send.done);
}

static void
match_take(void *state, enum match_news news, const struct match *match)
{
    struct waits *waits = state;
    bool is_send =
        news == MATCH_SENT || (news == MATCH_COMPLETED && match->send.is_done);
    const struct match_end *end = is_send ? &match->send : &match->recv;
    enum wait_rule rule =
        wait_rule_of(defs_name(waits->defs, end->process, end->completed.name));

    if (rule == WAIT_RULE_NONE || is_forgotten(waits, &end->completed)) {
        return;
    }
    if (news == MATCH_SENT) {
        sent_add(waits, match, rule);
        return;
    }
    if (is_send) {
        /* It may have waited for none: then that is known. */
        (void)fact_find(waits, &end->completed, end->done);
        return;
    }
    received_add(waits, news, match, rule);
}

/* One whose call had returned by then waited for it elsewhere. */
static void epoch_take(void *state,
                       const struct epochs_wait *wait,
                       const struct epochs_gift *gift)
{
    struct waits *waits = state;
    struct fact *fact;

    if (is_forgotten(waits, &wait->call)) {
        return;
    }
    fact = fact_find(waits, &wait->call, wait->exit);
    if (fact == NULL) {
        return;
    }
    if (gift == NULL) {
        fact->expected++;
        return;
    }
    fact->known++;
    fact->is_epoch = true;
    if (gift->enter < wait->exit) {
        partner_add(&fact->sender, WAIT_RULE_ALL, gift->thread, gift->enter,
                    gift->mark);
    }
}

/* ---- collectives -------------------------------------------------------- */

/* The request's entry. */
static struct pending *
pending_find(struct waits *waits, uint32_t process, uint64_t request)
{
    struct table_key key = {process, request, 0};
    int64_t number = table_number(waits->request_keys, key);

    if ((size_t)number == waits->pending_count) {
        array_grow(&waits->pending, &waits->pending_room, waits->pending_count,
                   sizeof(*waits->pending));
        waits->pending[waits->pending_count++].is_set = false;
    }
    return &waits->pending[number];
}

static void collective_add(struct waits *waits,
                           const struct match_call *call,
                           ck_time_t left,
                           ck_time_t doubt,
                           const struct collective_call *what)
{
    struct fact *fact;

    if (is_forgotten(waits, call)) {
        return;
    }
    fact = fact_new(waits, call->thread, call->number, left);
    fact->is_collective = true;
    fact->collective = *what;
    fact->doubt = doubt;
}

static void collective_take(struct waits *waits,
                            const struct timeline_event *event,
                            int64_t mark)
{
    const struct ck_collective *record =
        (const struct ck_collective *)event->record;
    struct match_call call = {event->thread, record->call, record->e.name};
    struct collective_call what;
    struct pending *pending;

    collective_enter(waits->collective, event, mark, &what);
    if (record->e.kind == CK_KIND_COLLECTIVE) {
        what.is_heavy = record->bytes_out > waits->eager_bytes;
        if (!(what.role == COLLECTIVE_OTHER)) {
            collective_add(waits, &call, event->end, INT64_MIN, &what);
        }
        return;
    }
    if (record->request == 0) {
        return;
    }
    pending = pending_find(waits, event->process, record->request);
    pending->is_set = true;
    pending->call = what;
}

/* A request is complete: if it is of a collective, its call waited for
 * that. Once all have posted it, it may still have to wait until those that
 * went on outside of MPI come back and take part. */
static void complete_take(struct waits *waits,
                          const struct timeline_event *event)
{
    const struct ck_message *record = (const struct ck_message *)event->record;
    struct match_call call = {event->thread, record->call, record->e.name};
    struct pending *pending;

    if (record->request == 0) {
        return;
    }
    pending = pending_find(waits, event->process, record->request);
    if (!pending->is_set) {
        return;
    }
    pending->is_set = false;
    if (wait_rule_of(defs_name(waits->defs, event->process, record->e.name)) ==
        WAIT_RULE_NONE) {
        return;
    }
    collective_add(waits, &call, event->start, event->start, &pending->call);
}

/* A blocking call that sends has a fact even if it did not wait. A small
 * message that took long may have waited until there was room for it. */
static void send_take(struct waits *waits, const struct timeline_event *event)
{
    const struct ck_message *record = (const struct ck_message *)event->record;
    struct match_call call = {event->thread, record->call, record->e.name};
    struct fact *fact;

    if (record->request != 0 || is_forgotten(waits, &call)) {
        return;
    }
    fact = fact_find(waits, &call, event->end);
    if (fact == NULL) {
        return;
    }
    if (record->e.kind == CK_KIND_SEND && record->bytes <= waits->eager_bytes &&
        event->end - event->start > STALLED) {
        fact->doubt = event->end;
    }
}

/* ---- the whole ---------------------------------------------------------- */

struct waits *waits_create(const struct defs *defs,
                           const struct align *align,
                           uint64_t eager_bytes)
{
    struct waits *waits = xcalloc(1, sizeof(*waits));

    waits->defs = defs;
    waits->align = align;
    waits->eager_bytes = eager_bytes;
    waits->limit = WAITS_MAX / (defs->threads_count + 1);
    waits->limit = waits->limit < WAITS_MIN ? WAITS_MIN : waits->limit;
    waits->collective = collective_create(defs, NULL, NULL);
    waits->matcher = matcher_create(defs, match_take, waits);
    waits->epochs = epochs_create(defs, epoch_take, waits);
    waits->threads = xcalloc(defs->threads_count + 1, sizeof(*waits->threads));
    waits->request_keys = table_create();
    return waits;
}

void waits_destroy(struct waits *waits)
{
    if (waits == NULL) {
        return;
    }
    for (size_t i = 0; waits->threads != NULL && i < waits->defs->threads_count;
         i++) {
        free(waits->threads[i].facts);
    }
    free(waits->threads);
    free(waits->pending);
    table_destroy(waits->request_keys);
    matcher_destroy(waits->matcher);
    epochs_destroy(waits->epochs);
    collective_destroy(waits->collective);
    free(waits);
}

void waits_horizon(struct waits *waits, waits_horizon_f f, const void *state)
{
    waits->horizon = f;
    waits->horizon_state = state;
}

struct match_counts waits_counts(const struct waits *waits)
{
    return matcher_counts(waits->matcher);
}

void waits_take(struct waits *waits,
                const struct timeline_event *event,
                int64_t mark)
{
    waits->now = event->start;
    if ((event->record->flags & (CK_FLAG_CUT | CK_FLAG_FAILED)) != 0 &&
        event->record->kind != CK_KIND_COMPLETE) {
        return;
    }
    switch (event->record->kind) {
    case CK_KIND_COLLECTIVE:
    case CK_KIND_ICOLLECTIVE:
        collective_take(waits, event, mark);
        return;
    case CK_KIND_COMPLETE:
        complete_take(waits, event);
        break;
    case CK_KIND_SEND:
    case CK_KIND_SENDRECV:
        send_take(waits, event);
        break;
    default:
        break;
    }
    epochs_take(waits->epochs, event, mark);
    matcher_take(waits->matcher, event, mark);
}

bool waits_error(const struct waits *waits,
                 uint32_t thread,
                 ck_time_t start,
                 struct wait *wait)
{
    const struct defs *defs = waits->defs;
    uint32_t agent = defs->processes[defs->threads[thread].process].agent;
    uint32_t its = defs->processes[defs->threads[wait->thread].process].agent;
    ck_time_t early;

    if (align_pair_bound(waits->align, agent, its, start, &early) != 0 ||
        align_pair_bound(waits->align, agent, its, wait->until, &wait->error) !=
            0) {
        return false;
    }
    wait->error = early > wait->error ? early : wait->error;
    return true;
}

static void wait_widen(struct wait *wait,
                       enum wait_kind kind,
                       const struct partner *partner)
{
    if (partner->thread == DEFS_NONE) {
        return;
    }
    wait->mark = partner->mark > wait->mark ? partner->mark : wait->mark;
    if (partner->until > wait->until) {
        wait->until = partner->until;
        wait->thread = partner->thread;
        wait->kind = kind;
    }
}

/* Until when a call may have waited, and for how long that is usual. */
struct doubt {
    ck_time_t until; /* INT64_MIN = it did not */
    ck_time_t usual;
};

static void doubt_widen(struct doubt *doubt, const struct fact *fact)
{
    if (fact->doubt != INT64_MIN) {
        doubt->until = fact->doubt > doubt->until ? fact->doubt : doubt->until;
        doubt->usual += BYTE_SLOW * (ck_time_t)fact->bytes;
    }
}

/* What is behind the known wait of a call, up to when it may have waited, is in
 * doubt. False: of all its time nothing is known. */
static bool doubt_settle(const struct doubt *doubt,
                         const struct history_span *call,
                         struct wait *wait)
{
    bool is_wait = wait->until > call->start;
    ck_time_t from = is_wait ? wait->until : call->start;
    ck_time_t until = doubt->until < call->end ? doubt->until : call->end;

    if (doubt->until <= from + doubt->usual) {
        return true;
    }
    wait->doubt = until > from ? until - from : 0;
    return is_wait;
}

/* What one fact shows of a call entered at `enter`. False: not known. */
static bool fact_tell(const struct waits *waits,
                      const struct fact *fact,
                      ck_time_t enter,
                      struct wait *wait)
{
    struct collective_wait what;
    struct partner partner;

    if (!fact->is_collective) {
        if (fact->known < fact->expected) {
            return false;
        }
        wait_widen(wait, fact->is_epoch ? WAIT_WINDOW : WAIT_LATE_SENDER,
                   &fact->sender);
        if (wait->until <= enter) {
            wait_widen(wait, WAIT_LATE_RECEIVER, &fact->receiver);
        } else if (fact->receiver.thread != DEFS_NONE &&
                   fact->receiver.mark > wait->mark) {
            wait->mark = fact->receiver.mark;
        }
        return true;
    }
    if (!collective_wait(waits->collective, &fact->collective, &what)) {
        return false;
    }
    partner = (struct partner){what.thread, what.until, what.mark};
    wait_widen(wait, wait_kind_of(fact->collective.role), &partner);
    return true;
}

void waits_others(struct waits *waits, waits_find_f f, const void *state)
{
    waits->others = f;
    waits->others_state = state;
}

/* By the messages and collectives that the call completed. */
static bool facts_find(const struct waits *waits,
                       uint32_t number,
                       const struct history_span *call,
                       struct wait *wait)
{
    const struct thread *thread = &waits->threads[number];
    struct doubt doubt = {INT64_MIN, STALLED};
    bool is_found = false;

    *wait = (struct wait){
        .until = INT64_MIN, .thread = DEFS_NONE, .mark = INT64_MIN};
    for (size_t i = fact_at(thread, call->call);
         i < thread->count && thread->facts[i].call == call->call; i++) {
        if (!fact_tell(waits, &thread->facts[i], call->start, wait)) {
            return false;
        }
        doubt_widen(&doubt, &thread->facts[i]);
        is_found = true;
    }
    return is_found && doubt_settle(&doubt, call, wait) &&
           (wait->thread == DEFS_NONE ||
            waits_error(waits, number, call->start, wait));
}

bool waits_find(const struct waits *waits,
                uint32_t number,
                const struct history_span *call,
                struct wait *wait)
{
    if (number >= waits->defs->threads_count || call->call == 0) {
        return false;
    }
    return facts_find(waits, number, call, wait) ||
           (waits->others != NULL &&
            waits->others(waits->others_state, number, call, wait));
}
