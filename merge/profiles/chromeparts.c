/* chromeparts.c - the events of one Chrome trace, read by several threads
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/chromeparts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/profiles/chromepart.h"

/* More would wait for the one that takes the events over. */
#define THREADS_MAX 8
/* Parts that are read ahead, for each thread. */
#define AHEAD 2

struct slot {
    struct chromepart part;
    bool is_done;
};

struct chromeparts {
    struct chromeparts_plan plan;
    uint64_t parts_count;
    struct slot *slots; /* of part n: n modulo slots_count */
    size_t slots_count;
    struct chromepart_reader *readers[THREADS_MAX];
    pthread_t threads[THREADS_MAX]; /* [0] is not used: the caller's */
    unsigned readers_count;
    unsigned threads_count; /* that run, the caller's among them */
    pthread_mutex_t lock;   /* of what follows, and of each is_done */
    pthread_cond_t changed;
    uint64_t taken; /* parts that a thread reads or has read */
    uint64_t given; /* parts that were handed on */
    bool is_over;
    /* The caller's alone. */
    const struct chromepart *current;
    size_t at; /* in it */
    uint64_t offset;
};

/* For a thread to begin with, one after the other. */
struct beginner {
    struct chromeparts *parts;
    struct chromepart_reader *reader;
};

static uint64_t part_end(const struct chromeparts *parts, uint64_t number)
{
    uint64_t end = parts->plan.from + (number + 1) * parts->plan.part_bytes;

    return end < parts->plan.to ? end : parts->plan.to;
}

static struct slot *slot_of(const struct chromeparts *parts, uint64_t number)
{
    return &parts->slots[number % parts->slots_count];
}

/* Under the lock: the next part is free, and there is room for it. */
static bool may_take(const struct chromeparts *parts)
{
    return parts->taken < parts->parts_count &&
           parts->taken < parts->given + parts->slots_count;
}

/* Under the lock, which is given up meanwhile: read the next part. */
static void part_take(struct chromeparts *parts,
                      struct chromepart_reader *reader)
{
    uint64_t number = parts->taken++;
    struct slot *slot = slot_of(parts, number);
    uint64_t from = parts->plan.from + number * parts->plan.part_bytes;
    uint64_t to = part_end(parts, number);

    slot->is_done = false;
    (void)pthread_mutex_unlock(&parts->lock);
    slot->part.start = number == 0 ? from : chromepart_find(reader, from, to);
    slot->part.stop = CHROMEPART_NOWHERE;
    if (slot->part.start != CHROMEPART_NOWHERE) {
        chromepart_read(reader, &slot->part, to);
    }
    (void)pthread_mutex_lock(&parts->lock);
    slot->is_done = true;
    (void)pthread_cond_broadcast(&parts->changed);
}

static void *thread_work(void *state)
{
    struct beginner beginner = *(struct beginner *)state;
    struct chromeparts *parts = beginner.parts;

    free(state);
    (void)pthread_mutex_lock(&parts->lock);
    while (!parts->is_over && parts->taken < parts->parts_count) {
        if (may_take(parts)) {
            part_take(parts, beginner.reader);
        } else {
            (void)pthread_cond_wait(&parts->changed, &parts->lock);
        }
    }
    (void)pthread_mutex_unlock(&parts->lock);
    return NULL;
}

/* One that cannot be started leaves its work to the others. */
static void thread_start(struct chromeparts *parts)
{
    struct beginner *beginner = xmalloc(sizeof(*beginner));

    beginner->parts = parts;
    beginner->reader = parts->readers[parts->threads_count];
    if (pthread_create(&parts->threads[parts->threads_count], NULL, thread_work,
                       beginner) != 0) {
        free(beginner);
        return;
    }
    parts->threads_count++;
}

struct chromeparts *chromeparts_create(const struct chromeparts_plan *plan,
                                       const struct json *json)
{
    struct chromeparts *parts = xcalloc(1, sizeof(*parts));

    parts->plan = *plan;
    parts->offset = plan->from;
    parts->threads_count = 1;
    parts->parts_count =
        (plan->to - plan->from + plan->part_bytes - 1) / plan->part_bytes;
    (void)pthread_mutex_init(&parts->lock, NULL);
    (void)pthread_cond_init(&parts->changed, NULL);
    if (parts->plan.threads > THREADS_MAX) {
        parts->plan.threads = THREADS_MAX;
    }
    parts->slots_count = (size_t)(parts->plan.threads + 1) * AHEAD;
    parts->slots = xcalloc(parts->slots_count, sizeof(*parts->slots));
    while (parts->readers_count < parts->plan.threads) {
        parts->readers[parts->readers_count] =
            chromepart_reader_create(plan->fd, json, plan->depth);
        parts->readers_count++;
    }
    if (parts->readers_count < parts->plan.threads) {
        chromeparts_destroy(parts);
        return NULL;
    }
    for (unsigned i = 1; i < parts->plan.threads; i++) {
        thread_start(parts);
    }
    return parts;
}

void chromeparts_destroy(struct chromeparts *parts)
{
    if (parts == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&parts->lock);
    parts->is_over = true;
    (void)pthread_cond_broadcast(&parts->changed);
    (void)pthread_mutex_unlock(&parts->lock);
    for (unsigned i = 1; i < parts->threads_count; i++) {
        (void)pthread_join(parts->threads[i], NULL);
    }
    for (unsigned i = 0; i < parts->readers_count; i++) {
        chromepart_reader_destroy(parts->readers[i]);
    }
    for (size_t i = 0; parts->slots != NULL && i < parts->slots_count; i++) {
        chromepart_fini(&parts->slots[i].part);
    }
    free(parts->slots);
    (void)pthread_cond_destroy(&parts->changed);
    (void)pthread_mutex_destroy(&parts->lock);
    free(parts);
}

/* Until part `given` is read; the caller reads parts as well meanwhile. */
static struct chromepart *part_wait(struct chromeparts *parts)
{
    struct slot *slot = slot_of(parts, parts->given);

    (void)pthread_mutex_lock(&parts->lock);
    while (parts->taken <= parts->given || !slot->is_done) {
        if (may_take(parts)) {
            part_take(parts, parts->readers[0]);
        } else {
            (void)pthread_cond_wait(&parts->changed, &parts->lock);
        }
    }
    (void)pthread_mutex_unlock(&parts->lock);
    return &slot->part;
}

static void part_give_back(struct chromeparts *parts)
{
    (void)pthread_mutex_lock(&parts->lock);
    slot_of(parts, parts->given)->is_done = false;
    parts->given++;
    (void)pthread_cond_broadcast(&parts->changed);
    (void)pthread_mutex_unlock(&parts->lock);
    parts->current = NULL;
}

/* To the next part. False: it is for one thread to read. */
static bool part_next(struct chromeparts *parts)
{
    struct chromepart *part;
    uint64_t end;

    if (parts->given == parts->parts_count) {
        return false;
    }
    part = part_wait(parts);
    end = part_end(parts, parts->given);
    if (parts->offset >= end) {
        /* An event reaches over all of it. */
        part->start = part->stop = parts->offset;
        part->used = 0;
    } else if (part->start != parts->offset) {
        part->start = parts->offset;
        chromepart_read(parts->readers[0], part, end);
    }
    if (part->stop == CHROMEPART_NOWHERE) {
        return false;
    }
    parts->current = part;
    parts->at = 0;
    return true;
}

bool chromeparts_next(struct chromeparts *parts, struct chrome_event *event)
{
    for (;;) {
        if (parts->current == NULL && !part_next(parts)) {
            return false;
        }
        if (chromepart_event(parts->current, &parts->at, event)) {
            return true;
        }
        parts->offset = parts->current->stop;
        part_give_back(parts);
    }
}

uint64_t chromeparts_offset(const struct chromeparts *parts)
{
    return parts->offset;
}
