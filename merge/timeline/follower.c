/* follower.c - consumers that follow the merge in threads of their own
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/follower.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/beside.h"
#include "merge/model/memory.h"
#include "merge/timeline/takers.h"

/* Together they are in a second-level cache. */
#define BLOCKS 8
#define BLOCK_BYTES ((size_t)128 << 10)
/* Who waits is woken for so many at once: waking costs as much as some hundred
 * events. Not all three can wait: those for which fewer are there leave as many
 * free. */
#define WAKE 3
/* More of a stack for each thread of the programs: what a wait cost rests on
 * the waits of the late thread, and so on. */
#define STACK_THREAD ((size_t)2 << 10)
/* Bytes of the longest record. */
#define RECORD_MOST ((size_t)UINT8_MAX * CK_UNIT_BYTES)

/* An event in a block; behind it its record. */
struct item {
    ck_time_t start;
    ck_time_t end;
    uint32_t process;
    uint32_t thread;
    int32_t rank;
    uint16_t bytes; /* with this */
    uint8_t cls;
    bool is_wanted;
};

/* A note in a block; behind it what is noted. */
struct note {
    follower_note_f f;
    void *state;
    uint32_t at;    /* of the event before which it is read */
    uint32_t bytes; /* with this */
};

static_assert(sizeof(struct item) == 32 && sizeof(struct note) % 8 == 0,
              "what is behind is aligned");
static_assert(sizeof(struct item) + RECORD_MOST <= UINT16_MAX &&
                  UINT16_MAX < BLOCK_BYTES,
              "a block has room for any");
static_assert(BLOCKS - 2 * (WAKE - 1) >= WAKE, "one of the three goes on");

struct block {
    uint8_t *bytes;
    size_t used;
    uint8_t *notes;
    size_t notes_used, notes_room;
};

enum { FIRST, SECOND, STAGES };

/* A thread and its consumers. */
struct stage {
    struct follower *follower;
    struct takers takers[CK_CLASS_LIMIT];
    pthread_t thread;
    bool has_thread;
    pthread_cond_t due; /* it has something to do */
    uint64_t done;      /* blocks; under the lock */
};

struct follower {
    struct stage stages[STAGES];
    struct block blocks[BLOCKS]; /* number n is n modulo BLOCKS */
    struct block *open;          /* the giver's */
    struct block *noted;         /* the first stage's, and where in it it is */
    size_t noted_at;
    pthread_mutex_t lock;   /* of all that follows */
    pthread_cond_t is_free; /* a block */
    uint64_t given;         /* blocks handed over */
    bool is_over;
    int error; /* of a consumer; 0 = none failed */
};

/* ---- taking ------------------------------------------------------------- */

/* 0, or -1 with errno. */
static inline int item_take(const struct stage *stage, const struct item *item)
{
    const struct timeline_event event = {
        .record = (const struct ck_event *)(item + 1),
        .start = item->start,
        .end = item->end,
        .rank = item->rank,
        .process = item->process,
        .thread = item->thread};

    return takers_give(&stage->takers[item->cls], &event, item->is_wanted);
}

/* Read the notes for the event at `at`; from the note at `next` on. Where the
 * next one is. */
static inline size_t
notes_take(const struct block *block, size_t next, size_t at)
{
    while (next < block->notes_used) {
        const struct note *note = (const struct note *)(block->notes + next);

        if (note->at > at) {
            break;
        }
        note->f(note->state, note + 1);
        next += note->bytes;
    }
    return next;
}

/* 0, or the errno of the consumer that failed: none is called again. */
static int block_take(struct stage *stage, struct block *block)
{
    struct follower *follower = stage->follower;
    bool is_first = stage == &follower->stages[FIRST];
    size_t next = 0;

    if (is_first) {
        follower->noted = block;
        block->notes_used = 0;
    }
    for (size_t at = 0; at < block->used;) {
        const struct item *item = (const struct item *)(block->bytes + at);

        if (is_first) {
            follower->noted_at = at;
        } else {
            next = notes_take(block, next, at);
        }
        if (item_take(stage, item) != 0) {
            return errno != 0 ? errno : EIO;
        }
        at += item->bytes;
    }
    return 0;
}

/* Blocks that are there for a stage; under the lock, as what follows. */
static uint64_t stage_waiting(const struct stage *stage)
{
    const struct follower *follower = stage->follower;

    return (stage == &follower->stages[FIRST] ? follower->given
                                              : follower->stages[FIRST].done) -
           stage->done;
}

/* One more is there for it. */
static void stage_wake(struct stage *stage)
{
    if (stage_waiting(stage) >= WAKE || stage->follower->is_over) {
        (void)pthread_cond_signal(&stage->due);
    }
}

static uint64_t blocks_free(const struct follower *follower)
{
    return BLOCKS - (follower->given - follower->stages[SECOND].done);
}

/* A block is done. */
static void stage_pass(struct stage *stage)
{
    struct follower *follower = stage->follower;

    stage->done++;
    if (stage == &follower->stages[FIRST]) {
        stage_wake(&follower->stages[SECOND]);
    } else if (blocks_free(follower) >= WAKE) {
        (void)pthread_cond_signal(&follower->is_free);
    }
}

static void *stage_work(void *state)
{
    struct stage *stage = state;
    struct follower *follower = stage->follower;

    (void)pthread_mutex_lock(&follower->lock);
    while (!follower->is_over || stage->done < follower->given) {
        if (stage_waiting(stage) > 0) {
            struct block *block = &follower->blocks[stage->done % BLOCKS];
            int error = follower->error;

            (void)pthread_mutex_unlock(&follower->lock);
            error = error == 0 ? block_take(stage, block) : error;
            (void)pthread_mutex_lock(&follower->lock);
            follower->error = error != 0 ? error : follower->error;
            stage_pass(stage);
        } else {
            (void)pthread_cond_wait(&stage->due, &follower->lock);
        }
    }
    (void)pthread_mutex_unlock(&follower->lock);
    return NULL;
}

/* ---- giving ------------------------------------------------------------- */

struct follower *follower_create(uint64_t records, size_t threads)
{
    struct follower *follower;

    if (records < FOLLOWER_RECORDS || !beside_has_cpu()) {
        return NULL;
    }
    follower = xcalloc(1, sizeof(*follower));
    for (size_t i = 0; i < BLOCKS; i++) {
        follower->blocks[i].bytes = xmalloc(BLOCK_BYTES);
    }
    follower->open = &follower->blocks[0];
    (void)pthread_mutex_init(&follower->lock, NULL);
    (void)pthread_cond_init(&follower->is_free, NULL);
    for (size_t i = 0; i < STAGES; i++) {
        follower->stages[i].follower = follower;
        (void)pthread_cond_init(&follower->stages[i].due, NULL);
    }
    for (size_t i = 0; i < STAGES; i++) {
        struct stage *stage = &follower->stages[i];

        stage->has_thread = beside_start(&stage->thread, stage_work, stage,
                                         BESIDE_STACK + threads * STACK_THREAD);
        if (!stage->has_thread) {
            follower_destroy(follower);
            return NULL;
        }
    }
    return follower;
}

void follower_consumer(struct follower *follower,
                       const struct timeline_consumer *consumer,
                       bool is_witness)
{
    size_t stage = consumer->is_behind ? SECOND : FIRST;

    takers_add(follower->stages[stage].takers, consumer, is_witness);
}

/* Hand the open block over, and wait for a free one. 0, or -1 with errno. */
static int block_give(struct follower *follower)
{
    int error;

    (void)pthread_mutex_lock(&follower->lock);
    follower->given++;
    stage_wake(&follower->stages[FIRST]);
    while (blocks_free(follower) == 0) {
        (void)pthread_cond_wait(&follower->is_free, &follower->lock);
    }
    follower->open = &follower->blocks[follower->given % BLOCKS];
    error = follower->error;
    (void)pthread_mutex_unlock(&follower->lock);
    follower->open->used = 0;
    errno = error;
    return error == 0 ? 0 : -1;
}

static inline bool has_taker(const struct takers *takers, bool is_wanted)
{
    return (is_wanted ? takers->count : takers->witnesses) > 0;
}

int follower_event(struct follower *follower,
                   const struct timeline_event *event,
                   enum ck_class cls,
                   bool is_wanted)
{
    const uint8_t *record = (const uint8_t *)event->record;
    size_t units = event->record->units;
    size_t bytes = sizeof(struct item) + units * CK_UNIT_BYTES;
    struct item *item;
    uint8_t *copy;
    int rc = 0;

    if (!has_taker(&follower->stages[FIRST].takers[cls], is_wanted) &&
        !has_taker(&follower->stages[SECOND].takers[cls], is_wanted)) {
        return 0;
    }
    if (follower->open->used + bytes > BLOCK_BYTES) {
        rc = block_give(follower);
    }
    item = (struct item *)(follower->open->bytes + follower->open->used);
    follower->open->used += bytes;
    *item = (struct item){.start = event->start,
                          .end = event->end,
                          .process = event->process,
                          .thread = event->thread,
                          .rank = event->rank,
                          .bytes = (uint16_t)bytes,
                          .cls = (uint8_t)cls,
                          .is_wanted = is_wanted};
    copy = (uint8_t *)(item + 1);
    for (size_t i = 0; i < units; i++) {
        memcpy(copy + i * CK_UNIT_BYTES, record + i * CK_UNIT_BYTES,
               CK_UNIT_BYTES);
    }
    return rc;
}

void *follower_note(struct follower *follower,
                    follower_note_f f,
                    void *state,
                    size_t bytes)
{
    size_t all = (sizeof(struct note) + bytes + 7) / 8 * 8;
    struct block *block = follower->noted;
    struct note *note;

    if (block->notes_used + all > block->notes_room) {
        block->notes_room += block->notes_room / 4 + 4096 + all;
        block->notes = xrealloc(block->notes, block->notes_room);
    }
    note = (struct note *)(block->notes + block->notes_used);
    *note = (struct note){.f = f,
                          .state = state,
                          .at = (uint32_t)follower->noted_at,
                          .bytes = (uint32_t)all};
    block->notes_used += all;
    return note + 1;
}

/* ---- the end ------------------------------------------------------------ */

int follower_finish(struct follower *follower)
{
    (void)pthread_mutex_lock(&follower->lock);
    if (!follower->is_over) {
        follower->given++;
        follower->is_over = true;
    }
    for (size_t i = 0; i < STAGES; i++) {
        (void)pthread_cond_signal(&follower->stages[i].due);
    }
    (void)pthread_mutex_unlock(&follower->lock);
    for (size_t i = 0; i < STAGES; i++) {
        struct stage *stage = &follower->stages[i];

        if (stage->has_thread) {
            (void)pthread_join(stage->thread, NULL);
            stage->has_thread = false;
        }
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
        free(follower->blocks[i].notes);
    }
    for (size_t i = 0; i < STAGES; i++) {
        (void)pthread_cond_destroy(&follower->stages[i].due);
    }
    (void)pthread_cond_destroy(&follower->is_free);
    (void)pthread_mutex_destroy(&follower->lock);
    free(follower);
}
