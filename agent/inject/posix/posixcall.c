/* posixcall.c - stamps, records and the next definition of a symbol
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process attaches when it makes its first long call after LIFE_MIN, so
 * that the short-lived helpers of a script take no entry of the ring. One that
 * has its entry by another library of ours attaches at once: else the threads
 * that MPI_Init makes would have no process, where they end soon. Until a
 * thread has a slot its calls carry RAW stamps.
 */
#include "agent/inject/posix/posixcall.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "agent/inject/posix/posixpath.h"
#include "agent/inject/posix/posixsocket.h"
#include "agent/inject/symbol.h"

#define LIFE_MIN (100 * CK_TIME_MS)
#define SAY_EACH CK_TIME_S

/* A wait for 10 us is two switches on a machine of today; recording it costs
 * 0.5 % of that. Shorter ones are below the scheduler's noise. */
#define THRESHOLD_NS 10000

int64_t posix_threshold = THRESHOLD_NS;

INJECT_ROOM struct inject_label posix_labels[POSIX_FUNCTIONS];

static int64_t loaded_raw;
static int64_t loaded_ticks;
static int64_t born_raw; /* as loaded_raw; of a forked child, about its fork */
static _Atomic uint64_t tick_scale; /* ns of a tick << 32; 0 = not known */

__thread bool posix_is_blind;
bool posix_has_no_clocks;
static INJECT_NEAR __thread int64_t forked_raw; /* before the last fork */
static INJECT_NEAR __thread int64_t said_at;    /* RAW, totals of this thread */
static __thread bool is_attaching;
static INJECT_NEAR __thread int8_t
    is_our_own; /* 1 a thread of ours, -1 not, 0 unknown */

posix_next_f posix_next_find(_Atomic(posix_next_f) *known, const char *symbol)
{
    union {
        void *object;
        posix_next_f call;
    } found = {symbol_next(symbol)};

    atomic_store_explicit(known, found.call, memory_order_relaxed);
    return found.call;
}

/* How long the process lives. Many end without a look at the clock but this. */
INJECT_START static int64_t age(void)
{
    int64_t now;

    if (ck_time_is_skewed || !inject_slow_enter()) {
        return ck_time_raw() - born_raw;
    }
    now = ck_time_raw_asked();
    inject_slow_leave();
    return now - born_raw;
}

INJECT_START bool posix_is_worth_it(void)
{
    return loaded_raw != 0 && !posix_may_not_look() &&
           (inject_thread.slot != NULL ||
            atomic_load(&inject_ring.incarnation) != 0 || age() >= LIFE_MIN);
}

/* Over the whole life so far: from LIFE_MIN on the error of the two pairs of
 * reads is below 1e-5. */
static void scale_find(void)
{
    int64_t ticks = ck_time_ticks() - loaded_ticks;
    int64_t ns = ck_time_raw() - loaded_raw;
    bool is_known =
        atomic_load_explicit(&tick_scale, memory_order_relaxed) != 0;

    if (ticks > 0 && ns > (is_known ? LIFE_MIN : 0)) {
        atomic_store_explicit(
            &tick_scale,
            (uint64_t)(((unsigned __int128)ns << 32) / (uint64_t)ticks),
            memory_order_relaxed);
    }
}

int64_t posix_elapsed(const struct posix_call *call, int64_t *end)
{
    uint64_t scale;

    if (call->is_raw) {
        *end = posix_now_raw();
        return *end - call->start;
    }
    *end = inject_now();
    if (inject_ring.clock != CK_CLOCK_TSC) {
        return *end - call->start;
    }
    scale = atomic_load_explicit(&tick_scale, memory_order_relaxed);
    return (int64_t)((unsigned __int128)(uint64_t)(*end - call->start) *
                         scale >>
                     32);
}

/* Threads of our own libraries wait, too: their names begin with "ck-". */
static bool is_own_thread(void)
{
    char name[17] = "";

    if (is_our_own == 0 && inject_slow_enter()) {
        (void)prctl(PR_GET_NAME, name);
        is_our_own = strncmp(name, "ck-", 3) == 0 ? 1 : -1;
        inject_slow_leave();
    }
    return is_our_own > 0;
}

/* Pointers that the loader would have to place in each program. Threads may
 * come here at once: all write the same. */
static void labels_fill(void)
{
#define POSIX_FUNCTION(name) posix_labels[POSIX_##name].text = #name;
#include "agent/inject/posix/posix.def"
}

/* Whichever part of this library asks for the slot: calls of libc have stamps
 * of the ring as soon as the thread has it. */
static void thread_claiming(bool is_done)
{
    posix_counts_pause(!is_done);
    if (is_done) {
        return;
    }
    labels_fill();
    scale_find();
    if (inject_ring.header->posix_threshold_ns != 0) {
        posix_threshold = inject_ring.header->posix_threshold_ns;
    }
}

/* What a signal handler ends while its thread is at this is in the totals and
 * no loss. Threads that wake each other come here together, with what may be a
 * long wait for one of them: none of them is turned away. */
static struct ck_ring_writer *writer_first(void)
{
    struct ck_ring_writer *writer;

    if (is_attaching) {
        return NULL;
    }
    is_attaching = true;
    writer = inject_writer();
    is_attaching = false;
    return writer;
}

/* For ckmpi: the thread has a slot, look at what it is in from now on. */
__attribute__((visibility("default"))) void ck_posix_attach(void);
void ck_posix_attach(void)
{
    if (inject_thread.slot == NULL && !is_own_thread()) {
        (void)writer_first();
    }
}

/* This thread's writer, unless it is inside another call or ours. */
static struct ck_ring_writer *writer_find(void)
{
    struct ck_ring_writer *writer;

    if (inject_thread.slot != NULL) {
        return &inject_thread;
    }
    if (!posix_is_worth_it() || is_own_thread()) {
        return NULL;
    }
    writer = writer_first();
    return writer == NULL || posix_is_inside() ? NULL : writer;
}

static void record_write(const struct posix_call *call,
                         const struct posix_entry *entry,
                         int64_t end,
                         const void *site,
                         const struct posix_object *object)
{
    uint32_t name = inject_label_id(&posix_labels[entry->function]);
    uint32_t related = object->related;
    uint64_t place = call_site(site);
    struct ck_call *record;

    if (object->number != 0) {
        posix_socket_look((int)object->number - 1);
        related = posix_path_id((int)object->number - 1);
    }
    record = ck_ring_begin(&inject_thread, inject_ring.clock, 2);
    if (record == NULL) {
        return;
    }
    *record = (struct ck_call){
        .e = {.kind = CK_KIND_POSIX,
              .units = 2,
              .flags = (uint8_t)((call->is_raw ? CK_FLAG_RAW : 0) |
                                 (object->is_failed ? CK_FLAG_FAILED : 0)),
              .name = name,
              .start = call->start},
        .dur = end - call->start,
        .site = place,
        .object = object->number,
        .bytes = object->bytes,
        .arg = object->address,
        .extra = related,
    };
    ck_ring_commit(&inject_thread, 2);
}

void posix_record(const struct posix_call *call,
                  const struct posix_entry *entry,
                  int64_t end,
                  const void *site,
                  const struct posix_object *object)
{
    int saved = errno;
    int64_t now;

    if (posix_is_blind || posix_counts_is_paused()) {
        return;
    }
    if (posix_is_wait(entry->function)) {
        posix_has_waited = true;
    } else if (object->bytes > 0 && posix_is_read(entry->function)) {
        posix_has_waited = false;
    }
    if (writer_find() != NULL) {
        record_write(call, entry, end, site, object);
        now = ck_time_raw();
        if (now - said_at >= SAY_EACH) {
            said_at = now;
            scale_find();
            posix_counts_say();
        }
    }
    errno = saved;
}

/* Before the program forbids system calls: the thread that does it records on
 * in its slot, if it has lived that long. */
static void call_close(enum inject_closing how)
{
    if (how != INJECT_CLOSE_PROCESS) {
        posix_counts_say();
        posix_is_blind = true;
        posix_has_no_clocks |= how == INJECT_CLOSE_CLOCKS;
    } else if (!is_own_thread()) {
        (void)posix_counts_claim();
        (void)writer_first();
    }
}

/* Most children are another program at once. The pages of the clock are mapped
 * here; for a child each would be a fault. */
static void parent_before_fork(void)
{
    forked_raw = posix_now_raw();
}

INJECT_START static void child_after_fork(void)
{
    if (forked_raw != 0 && inject_slow_enter()) {
        /* After unshare(CLONE_NEWTIME). */
        (void)ck_time_space_look(forked_raw, inject_ring.raw_space);
        inject_slow_leave();
    }
    born_raw = forked_raw;
    said_at = 0;
    is_our_own = 0;
}

INJECT_START void posix_call_load(void)
{
    loaded_raw = inject_ring.mapped_raw;
    loaded_ticks = inject_ring.mapped_ticks;
    born_raw = loaded_raw;
    inject_closing = call_close;
    inject_claiming = thread_claiming;
    (void)inject_at_fork(parent_before_fork, child_after_fork);
}
