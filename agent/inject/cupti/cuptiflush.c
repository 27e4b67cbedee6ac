/* cuptiflush.c - periodic and last flush
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's own period returns full buffers only, which is too late for a
 * process that is killed. A forced flush may hang (a kernel that waits for a
 * dead peer), so it is done here and this thread is never joined.
 */
#include "agent/inject/cupti/cuptiflush.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/inject/cupti/cuptibuffer.h"
#include "agent/inject/cupti/cupticlock.h"
#include "agent/inject/cupti/cuptilink.h"
#include "agent/inject/cupti/cuptilost.h"
#include "agent/inject/cupti/cuptirecord.h"
#include "agent/inject/cupti/cuptitable.h"
#include "agent/inject/cupti/cuptitaken.h"

#define FLUSH_EXIT_POLL ((long)CK_TIME_MS)
/* Longest that the last losses wait for room in the ring. */
#define FLUSH_TELL_MS 200

enum flush_state {
    FLUSH_IDLE = 0, /* no thread, or a forked child */
    FLUSH_RUNNING = 1,
    FLUSH_ENDING = 2, /* the last flush is asked for */
    FLUSH_ENDED = 3,
};

static _Atomic uint32_t state; /* also the futex that the thread sleeps on */
static _Atomic int is_on;
/* The program has made a call that CUPTI reports: CUDA is started. */
static _Atomic int is_heard;
static bool is_shared; /* another client may take over for good */
/* Flushes that were asked for, and those that were done since. */
static _Atomic uint32_t asked, answered;
/* Flush thread only. */
static ck_time_t last_flush;
static uint64_t bad_said;
static __thread int is_own;

bool flush_is_on(void)
{
    return atomic_load_explicit(&is_on, memory_order_relaxed) != 0;
}

void flush_hear(void)
{
    if (atomic_load_explicit(&is_heard, memory_order_relaxed) == 0) {
        atomic_store_explicit(&is_heard, 1, memory_order_relaxed);
    }
}

bool flush_is_own_thread(void)
{
    return is_own != 0;
}

void flush_stop(const char *why)
{
    if (atomic_exchange(&is_on, 0) != 0 && why != NULL) {
        link_decide(CUDA_BY_DRIVER);
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0, why);
    }
}

/* CUPTI forgets the count with each question. */
static void drops_say(void)
{
    static bool is_refused;
    size_t dropped = 0;
    ck_time_t now = ck_time_raw();
    int rc = cupti_api.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);

    if (rc == CUPTI_OK && dropped > 0) {
        lost_tell(CK_LOST_DEVICE, (int64_t)dropped, last_flush, now);
    }
    if (rc != CUPTI_OK && !is_refused) {
        is_refused = true;
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "CUPTI does not report how many records it dropped: "
                         "device events may be missing");
    }
    last_flush = now;
}

/* Another client that registers its own clock has taken CUPTI over: with its
 * buffers, or without. */
static void clock_check(void)
{
    ck_time_t before = last_flush;

    if (clock_pair()) {
        return;
    }
    if (is_shared && !link_is_open()) {
        flush_stop("CUPTI was taken over by another tool of this process: "
                   "device events end here");
    } else {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "CUPTI's clock was taken over by another tool of "
                         "this process: device times are mapped from it");
    }
    lost_tell(CK_LOST_DEVICE, is_shared && !link_is_open(), before,
              ck_time_raw());
}

static void flush_sleep(void)
{
    const struct timespec period = {0, FLUSH_PERIOD};

    if (atomic_load(&asked) == atomic_load(&answered)) {
        (void)syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, FLUSH_RUNNING,
                      &period, NULL, 0);
    }
}

/* Noted when there are some, and again each time there are ten times more. */
static void bad_times_say(bool is_end)
{
    uint64_t bad = record_bad_times();
    char text[160];

    if (bad == bad_said || (!is_end && bad_said > 0 && bad < 10 * bad_said)) {
        return;
    }
    bad_said = bad;
    (void)snprintf(text, sizeof(text),
                   "CUPTI %u gave %llu records without usable times: what "
                   "the device did then is unknown",
                   cupti_api.version, (unsigned long long)bad);
    (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
}

/* What is complete, and all that there is to look at. */
static void flush_once(void)
{
    uint32_t wanted = atomic_load(&asked);

    clock_check();
    if (flush_is_on()) {
        (void)cupti_api.cuptiActivityFlushAll(0);
    }
    atomic_store(&answered, wanted);
    if (!flush_is_on()) {
        return;
    }
    drops_say();
    bad_times_say(false);
    table_devices_ask();
    buffer_refill();
    taken_check();
}

/* Until the collector made room for all of them, within a limit. */
static void losses_wait(void)
{
    const struct timespec pause = {0, FLUSH_EXIT_POLL};

    for (int i = 0; i < FLUSH_TELL_MS && !lost_tell_kept(); i++) {
        (void)nanosleep(&pause, NULL);
    }
}

static void *flush_main(void *unused)
{
    /* By this name ckposix leaves the thread out. */
    (void)prctl(PR_SET_NAME, "ck-flush");
    is_own = 1;
    while (atomic_load(&state) == FLUSH_RUNNING) {
        flush_sleep();
        if (flush_is_on() && atomic_load(&is_heard) != 0) {
            flush_once();
        }
        (void)lost_tell_kept();
    }
    if (flush_is_on()) {
        clock_check();
        (void)cupti_api.cuptiActivityFlushAll(CUPTI_FLUSH_FORCED);
        drops_say();
        bad_times_say(true);
    }
    losses_wait();
    atomic_store(&state, FLUSH_ENDED);
    return unused;
}

/* CUDA does not work in a forked child, and its CUPTI is dead. */
static void child_after_fork(void)
{
    atomic_store(&is_on, 0);
    atomic_store(&state, FLUSH_IDLE);
}

int flush_start(bool is_sharing)
{
    sigset_t all, old;
    pthread_t thread;
    int rc;

    if (inject_at_fork(NULL, child_after_fork) != 0) {
        return -1;
    }
    /* The program's signals are for its own threads. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    is_shared = is_sharing;
    last_flush = ck_time_raw();
    atomic_store(&is_on, 1);
    atomic_store(&state, FLUSH_RUNNING);
    rc = pthread_create(&thread, NULL, flush_main, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        child_after_fork();
        return -1;
    }
    (void)pthread_detach(thread);
    return 0;
}

void flush_end(void)
{
    const struct timespec pause = {0, FLUSH_EXIT_POLL};
    ck_time_t limit = ck_time_raw() + FLUSH_LIMIT;
    uint32_t running = FLUSH_RUNNING;

    if (!atomic_compare_exchange_strong(&state, &running, FLUSH_ENDING)) {
        return;
    }
    (void)syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while (atomic_load(&state) != FLUSH_ENDED) {
        if (ck_time_raw() > limit) {
            flush_stop("CUPTI did not give its last records within 4 s: "
                       "device events of the end are missing");
            lost_tell(CK_LOST_UNDONE, 1, ck_time_raw() - FLUSH_LIMIT,
                      ck_time_raw());
            break;
        }
        (void)nanosleep(&pause, NULL);
    }
    flush_stop(NULL);
    lost_end();
}

void flush_now(void)
{
    const struct timespec pause = {0, FLUSH_EXIT_POLL};
    ck_time_t limit = ck_time_raw() + FLUSH_CONTEXT_LIMIT;
    uint32_t mine;

    if (!flush_is_on() || is_own || atomic_load(&state) != FLUSH_RUNNING) {
        return;
    }
    mine = atomic_fetch_add(&asked, 1) + 1;
    (void)syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while ((int32_t)(atomic_load(&answered) - mine) < 0) {
        if (!flush_is_on() || atomic_load(&state) != FLUSH_RUNNING) {
            return;
        }
        if (ck_time_raw() > limit) {
            (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                             "CUPTI did not give its records before a context "
                             "ended: device events may be missing");
            lost_tell(CK_LOST_UNDONE, 1, limit - FLUSH_CONTEXT_LIMIT,
                      ck_time_raw());
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
}
