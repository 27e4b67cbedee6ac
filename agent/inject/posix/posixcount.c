/* posixcount.c - how often each thread called which function of libc
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that ends without a slot in the ring adds its counts to those of
 * the process; so short-lived threads need no slot.
 */
#include "agent/inject/posix/posixcount.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/inject/posix/posixcall.h"
#include "agent/inject/posix/posixsocket.h"
#include "schema/kernelask.h"

INJECT_NEAR __thread struct posix_counts *posix_mine;

static __thread bool is_ended;
static INJECT_NEAR __thread unsigned pauses;
static INJECT_NEAR __thread struct posix_counts
    *paused; /* this thread's, meanwhile */
static INJECT_ROOM struct posix_counts pool[POSIX_THREADS];
static _Atomic unsigned pool_used; /* blocks that were ever in use, from 0 on */
static _Atomic unsigned pool_from; /* those before it are of the parent */
static INJECT_ROOM _Atomic uint64_t
    others[POSIX_FUNCTIONS][3]; /* calls, ns, bytes */
static _Atomic bool has_others;
static _Atomic uint32_t uncounted; /* threads */
static pid_t counted_pid; /* not that of a child that shares our memory */
/* Weak as in floor.h. */
#pragma weak pthread_key_create
static pthread_key_t key;
static _Atomic int has_key;
static _Atomic bool is_loaded; /* what runs now may be the program */

static void counts_say_as(const struct posix_counts *counts, uint32_t tid)
{
    struct ck_ring_writer *writer = inject_writer();

    for (unsigned i = 0; writer != NULL && i < POSIX_FUNCTIONS; i++) {
        const struct posix_count *count = &counts->of[i];
        struct ck_counter *record;
        uint32_t name;

        if (count->calls == 0) {
            continue;
        }
        name = inject_label_id(&posix_labels[i]);
        record = ck_ring_begin(writer, inject_ring.clock, 2);
        if (record == NULL) {
            return;
        }
        *record = (struct ck_counter){
            .e = {.kind = CK_KIND_CALLS,
                  .units = 2,
                  .name = name,
                  .start = inject_now()},
            .value = (int64_t)count->calls,
            .enabled = (int64_t)count->ns,
            .running = (int64_t)count->bytes,
            .tid = tid,
        };
        ck_ring_commit(writer, 2);
    }
}

void posix_counts_say(void)
{
    if (posix_mine != NULL) {
        counts_say_as(posix_mine, posix_mine->tid);
    }
}

static void others_add(const struct posix_counts *counts)
{
    atomic_store(&has_others, true);
    for (unsigned i = 0; i < POSIX_FUNCTIONS; i++) {
        const struct posix_count *count = &counts->of[i];

        if (count->calls > 0) {
            atomic_fetch_add(&others[i][0], count->calls);
            atomic_fetch_add(&others[i][1], count->ns);
            atomic_fetch_add(&others[i][2], count->bytes);
        }
    }
}

static void block_free(struct posix_counts *counts)
{
    memset(counts->of, 0, sizeof(counts->of));
    /* release: pairs with the exchange in posix_counts_claim() */
    atomic_store_explicit(&counts->is_used, 0, memory_order_release);
}

static void thread_end(void *block)
{
    struct posix_counts *counts = block;
    bool is_mine = counts == posix_mine;

    is_ended = true;
    posix_mine = NULL;
    if (!is_mine) {
        return; /* of this thread in the parent, before a fork */
    }
    if (inject_thread.slot != NULL) {
        counts_say_as(counts, counts->tid);
    } else {
        others_add(counts);
    }
    block_free(counts);
}

INJECT_START void posix_counts_pause(bool is_on)
{
    if (is_on && pauses++ == 0) {
        paused = posix_mine;
        posix_mine = NULL;
    } else if (!is_on && pauses > 0 && --pauses == 0) {
        posix_mine = paused;
    }
}

bool posix_counts_is_paused(void)
{
    return pauses > 0;
}

/* Constructors of libraries run before our own, their threads beside them: no
 * line of the program made such a call, so it is not counted. */
static bool is_before_program(void)
{
    if (atomic_load_explicit(&is_loaded, memory_order_relaxed)) {
        return false;
    }
    is_ended = syscall(SYS_gettid) != getpid();
    return true;
}

/* So many blocks are in use, at least. */
static void pool_reach(unsigned count)
{
    unsigned used = atomic_load(&pool_used);

    while (used < count &&
           !atomic_compare_exchange_weak(&pool_used, &used, count)) {
    }
}

struct posix_counts *posix_counts_claim(void)
{
    int saved = errno;

    if (posix_mine != NULL || is_ended || pauses > 0 || posix_is_blind ||
        is_before_program() || !inject_slow_enter()) {
        return posix_mine;
    }
    for (unsigned i = atomic_load(&pool_from); i < POSIX_THREADS; i++) {
        struct posix_counts *counts = &pool[i];

        if (atomic_load_explicit(&counts->is_used, memory_order_relaxed) != 0) {
            continue;
        }
        pool_reach(i + 1);
        if (atomic_exchange_explicit(&counts->is_used, 1,
                                     memory_order_acquire) != 0) {
            continue;
        }
        counts->tid = (uint32_t)syscall(SYS_gettid);
        posix_mine = counts;
        if (atomic_load(&has_key)) {
            (void)pthread_setspecific(key, counts);
        }
        inject_slow_leave();
        errno = saved;
        return counts;
    }
    inject_slow_leave();
    atomic_fetch_add(&uncounted, 1);
    is_ended = true;
    errno = saved;
    return NULL;
}

static void blocks_forget(void)
{
    for (unsigned i = 0; i < atomic_load(&pool_used); i++) {
        if (atomic_load(&pool[i].is_used)) {
            block_free(&pool[i]);
        }
    }
    atomic_store(&pool_from, 0);
}

static void others_forget(void)
{
    atomic_store(&has_others, false);
    for (unsigned i = 0; i < POSIX_FUNCTIONS; i++) {
        for (unsigned j = 0; j < 3; j++) {
            atomic_store(&others[i][j], 0);
        }
    }
}

/* Not by the C library, whose function has a page of its own. */
INJECT_START static pid_t own_pid(void)
{
    return (pid_t)ck_kernel_ask(SYS_getpid, (long[6]){0});
}

/* A child has this thread only, and starts from nothing. Most children go on to
 * another program at once, and each page that they look at or write to costs
 * them a fault: where there are blocks enough, those of the parent stay as they
 * are. */
INJECT_START static void child_after_fork(void)
{
    atomic_store(&pool_from, atomic_load(&pool_used));
    if (atomic_load(&pool_from) > POSIX_THREADS / 2) {
        blocks_forget();
    }
    if (atomic_load(&has_others)) {
        others_forget();
    }
    atomic_store(&uncounted, 0);
    if (!inject_ring.is_closed) {
        counted_pid = own_pid();
    }
    posix_mine = NULL;
    paused = NULL;
}

INJECT_START void posix_counts_load(void)
{
    counted_pid = own_pid();
    /* Before inject.c's key: a thread's counts need its slot. */
    if (pthread_key_create != NULL &&
        pthread_key_create(&key, thread_end) == 0) {
        atomic_store(&has_key, 1);
    }
    (void)inject_at_fork(NULL, child_after_fork);
}

INJECT_START void posix_counts_begin(void)
{
    atomic_store(&is_loaded, true);
}

static void handlers_begin(void)
{
    posix_counts_pause(true);
}

static void handlers_end(void)
{
    posix_counts_pause(false);
}

/* Handlers run in turn, the last one first: those that were registered between
 * these two run between them. */
void ck_posix_handlers(bool is_behind)
{
    (void)atexit(is_behind ? handlers_begin : handlers_end);
}

/* Of all threads that are left. */
static void totals_say(void)
{
    struct posix_counts rest;

    if (inject_writer() == NULL) {
        return;
    }
    for (unsigned i = atomic_load(&pool_from); i < atomic_load(&pool_used);
         i++) {
        if (atomic_load(&pool[i].is_used)) {
            counts_say_as(&pool[i], pool[i].tid);
        }
    }
    memset(&rest, 0, sizeof(rest));
    for (unsigned i = 0; i < POSIX_FUNCTIONS; i++) {
        rest.of[i].calls = atomic_load(&others[i][0]);
        rest.of[i].ns = atomic_load(&others[i][1]);
        rest.of[i].bytes = atomic_load(&others[i][2]);
    }
    counts_say_as(&rest, 0);
    posix_pairs_say();
    if (atomic_load(&uncounted) > 0) {
        char text[120];

        (void)snprintf(text, sizeof(text),
                       "calls of libc by %u threads beyond %d at once are "
                       "not counted",
                       atomic_load(&uncounted), POSIX_THREADS);
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
    }
}

/* Most programs end here with nothing that is worth an entry: beside the code
 * of their start. */
INJECT_START void posix_counts_last(void)
{
    if (!posix_is_blind && posix_is_worth_it() &&
        (inject_ring.is_closed || own_pid() == counted_pid)) {
        totals_say();
    }
}

/* Destructors of libraries run behind our own, as their constructors before. */
__attribute__((destructor, section(".text.startup"))) static void
library_unload(void)
{
    posix_counts_last();
    posix_counts_pause(true);
}
