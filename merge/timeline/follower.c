/* follower.c - consumers that follow the merge in a thread of their own
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/follower.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/timeline/takers.h"

/* Together they are in a second-level cache. */
#define BLOCKS 4
#define BLOCK_BYTES ((size_t)256 << 10)
/* For its consumers alone: they write rows and names. */
#define STACK_BYTES ((size_t)1 << 20)
/* Bytes of the longest record. */
#define RECORD_MOST ((size_t)UINT8_MAX * CK_UNIT_BYTES)

/* What is in a block: an event, and behind it its record; or a note. */
struct item {
    uint32_t bytes; /* with this */
    uint8_t cls;
    bool is_wanted;
    bool is_note;
};

struct event_item {
    struct item item;
    struct timeline_event event;
};

struct note_item {
    struct item item;
    follower_note_f f;
    void *state;
};

static_assert(sizeof(struct event_item) % 8 == 0 &&
                  sizeof(struct note_item) % 8 == 0,
              "what is behind is aligned");
static_assert(sizeof(struct event_item) + RECORD_MOST < BLOCK_BYTES &&
                  sizeof(struct note_item) + FOLLOWER_NOTE < BLOCK_BYTES,
              "a block has room for any");

struct block {
    uint8_t *bytes;
    size_t used;
};

struct follower {
    struct takers takers[CK_CLASS_LIMIT];
    struct block blocks[BLOCKS]; /* number n is n modulo BLOCKS */
    struct block *open;          /* the giver's */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    uint64_t given; /* blocks handed over */
    uint64_t taken; /* of these, given back */
    bool is_over;
    int error; /* of a consumer; 0 = none failed */
};

/* ---- taking ------------------------------------------------------------- */

/* 0, or -1 with errno. */
static int item_take(const struct follower *follower, uint8_t *at)
{
    const struct item *item = (const struct item *)at;

    if (item->is_note) {
        struct note_item *note = (struct note_item *)at;

        note->f(note->state, note + 1);
        return 0;
    }
    struct event_item *event = (struct event_item *)at;

    event->event.record = (const struct ck_event *)(event + 1);
    return takers_give(&follower->takers[item->cls], &event->event,
                       item->is_wanted);
}

/* 0, or the errno of the consumer that failed: none is called again. */
static int block_take(const struct follower *follower,
                      const struct block *block)
{
    for (size_t at = 0; at < block->used;
         at += ((const struct item *)(block->bytes + at))->bytes) {
        if (item_take(follower, block->bytes + at) != 0) {
            return errno;
        }
    }
    return 0;
}

static void *thread_work(void *state)
{
    struct follower *follower = state;

    (void)pthread_mutex_lock(&follower->lock);
    while (!follower->is_over || follower->taken < follower->given) {
        if (follower->taken < follower->given) {
            struct block *block = &follower->blocks[follower->taken % BLOCKS];
            int error = follower->error;

            (void)pthread_mutex_unlock(&follower->lock);
            error = error == 0 ? block_take(follower, block) : error;
            (void)pthread_mutex_lock(&follower->lock);
            follower->error = error;
            follower->taken++;
            (void)pthread_cond_signal(&follower->changed);
        } else {
            (void)pthread_cond_wait(&follower->changed, &follower->lock);
        }
    }
    (void)pthread_mutex_unlock(&follower->lock);
    return NULL;
}

/* ---- giving ------------------------------------------------------------- */

static bool has_second_cpu(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}

/* Signals are for the thread that merges. */
static bool thread_start(struct follower *follower)
{
    sigset_t all, before;
    pthread_attr_t attr;

    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGBUS);
    (void)sigdelset(&all, SIGSEGV);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    follower->has_thread =
        pthread_create(&follower->thread, &attr, thread_work, follower) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return follower->has_thread;
}

struct follower *follower_create(uint64_t records)
{
    struct follower *follower;

    if (records < FOLLOWER_RECORDS || !has_second_cpu()) {
        return NULL;
    }
    /* One heap: what one thread frees is there for the other. */
    (void)mallopt(M_ARENA_MAX, 1);
    follower = xcalloc(1, sizeof(*follower));
    for (size_t i = 0; i < BLOCKS; i++) {
        follower->blocks[i].bytes = xmalloc(BLOCK_BYTES);
    }
    follower->open = &follower->blocks[0];
    (void)pthread_mutex_init(&follower->lock, NULL);
    (void)pthread_cond_init(&follower->changed, NULL);
    if (!thread_start(follower)) {
        follower_destroy(follower);
        return NULL;
    }
    return follower;
}

void follower_consumer(struct follower *follower,
                       const struct timeline_consumer *consumer,
                       bool is_witness)
{
    takers_add(follower->takers, consumer, is_witness);
}

/* Hand the open block over, and wait for a free one. 0, or -1 with errno. */
static int block_give(struct follower *follower)
{
    int error;

    (void)pthread_mutex_lock(&follower->lock);
    follower->given++;
    (void)pthread_cond_signal(&follower->changed);
    while (follower->given - follower->taken == BLOCKS) {
        (void)pthread_cond_wait(&follower->changed, &follower->lock);
    }
    follower->open = &follower->blocks[follower->given % BLOCKS];
    error = follower->error;
    (void)pthread_mutex_unlock(&follower->lock);
    follower->open->used = 0;
    errno = error;
    return error == 0 ? 0 : -1;
}

/* Room for so many bytes in the open block. *rc = -1 with errno: a consumer
 * failed. */
static inline uint8_t *room(struct follower *follower, size_t bytes, int *rc)
{
    uint8_t *at;

    *rc = 0;
    if (follower->open->used + bytes > BLOCK_BYTES) {
        *rc = block_give(follower);
    }
    at = follower->open->bytes + follower->open->used;
    follower->open->used += bytes;
    return at;
}

int follower_event(struct follower *follower,
                   const struct timeline_event *event,
                   enum ck_class cls,
                   bool is_wanted)
{
    const struct takers *takers = &follower->takers[cls];
    const uint8_t *record = (const uint8_t *)event->record;
    size_t units = event->record->units;
    size_t bytes = sizeof(struct event_item) + units * CK_UNIT_BYTES;
    struct event_item *to;
    uint8_t *copy;
    int rc;

    if ((is_wanted ? takers->count : takers->witnesses) == 0) {
        return 0;
    }
    to = (struct event_item *)room(follower, bytes, &rc);
    to->item.bytes = (uint32_t)bytes;
    to->item.cls = (uint8_t)cls;
    to->item.is_wanted = is_wanted;
    to->item.is_note = false;
    to->event.start = event->start;
    to->event.end = event->end;
    to->event.rank = event->rank;
    to->event.process = event->process;
    to->event.thread = event->thread;
    copy = (uint8_t *)(to + 1);
    for (size_t i = 0; i < units; i++) {
        memcpy(copy + i * CK_UNIT_BYTES, record + i * CK_UNIT_BYTES,
               CK_UNIT_BYTES);
    }
    return rc;
}

void follower_note(struct follower *follower,
                   follower_note_f f,
                   void *state,
                   const void *note,
                   size_t bytes)
{
    size_t all = (sizeof(struct note_item) + bytes + 7) / 8 * 8;
    struct note_item *to;
    int failed; /* the next event returns it */

    assert(bytes <= FOLLOWER_NOTE);
    to = (struct note_item *)room(follower, all, &failed);
    to->item.bytes = (uint32_t)all;
    to->item.is_note = true;
    to->f = f;
    to->state = state;
    memcpy(to + 1, note, bytes);
}

/* ---- the end ------------------------------------------------------------ */

int follower_finish(struct follower *follower)
{
    if (follower->has_thread) {
        (void)pthread_mutex_lock(&follower->lock);
        follower->given++;
        follower->is_over = true;
        (void)pthread_cond_signal(&follower->changed);
        (void)pthread_mutex_unlock(&follower->lock);
        (void)pthread_join(follower->thread, NULL);
        follower->has_thread = false;
    }
    errno = follower->error;
    return follower->error == 0 ? 0 : -1;
}

void follower_destroy(struct follower *follower)
{
    if (follower == NULL) {
        return;
    }
    (void)follower_finish(follower);
    for (size_t i = 0; i < BLOCKS; i++) {
        free(follower->blocks[i].bytes);
    }
    (void)pthread_cond_destroy(&follower->changed);
    (void)pthread_mutex_destroy(&follower->lock);
    free(follower);
}
