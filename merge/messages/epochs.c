/* epochs.c - who lets whom go on in windows of one-sided communication
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/messages/epochs.h"

#include <stdlib.h>
#include <string.h>

#include "merge/messages/match.h"
#include "merge/model/array.h"
#include "merge/model/comm.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* Gifts or waits of one queue that are without the other; more are forgotten,
 * and with them what follows. */
#define QUEUE_MAX 65536

/* What is waited for: a post by MPI_Win_start, the same by MPI_Win_complete,
 * that itself by MPI_Win_wait. */
enum stream { STREAM_START, STREAM_COMPLETE, STREAM_WAIT, STREAMS };

/* The ranks of the window that a call was given. */
struct group {
    uint32_t call;
    int32_t *ranks;
    size_t count, room;
};
/* Of one process in one window. */
struct window {
    struct group post, start;
};

/* From one rank of a window to another, in one stream: gifts that no call has
 * waited for yet, or waits that no call has ended; never both. */
struct queue {
    struct epochs_gift *gifts;
    struct epochs_wait *waits;
    size_t first, gifts_count, gifts_room;
    size_t waits_count, waits_room;
};

struct epochs {
    const struct defs *defs; /* borrowed */
    epochs_take_f take;
    void *state;
    bool is_lossy;
    struct table *window_keys;
    struct window *windows;
    size_t windows_count, windows_room;
    struct table *queue_keys;
    struct queue *queues;
    size_t queues_count, queues_room;
};

/* The window that a record is about, as this rank sees it. */
struct here {
    uint32_t comm; /* of the run */
    int32_t rank;  /* in it */
    struct window *window;
    struct epochs_wait wait;
    struct epochs_gift gift;
};

struct epochs *
epochs_create(const struct defs *defs, epochs_take_f take, void *state)
{
    struct epochs *epochs = xcalloc(1, sizeof(*epochs));

    epochs->defs = defs;
    epochs->take = take;
    epochs->state = state;
    epochs->window_keys = table_create();
    epochs->queue_keys = table_create();
    return epochs;
}

void epochs_destroy(struct epochs *epochs)
{
    if (epochs == NULL) {
        return;
    }
    for (size_t i = 0; i < epochs->windows_count; i++) {
        free(epochs->windows[i].post.ranks);
        free(epochs->windows[i].start.ranks);
    }
    for (size_t i = 0; i < epochs->queues_count; i++) {
        free(epochs->queues[i].gifts);
        free(epochs->queues[i].waits);
    }
    table_destroy(epochs->window_keys);
    table_destroy(epochs->queue_keys);
    free(epochs->windows);
    free(epochs->queues);
    free(epochs);
}

static struct window *
window_find(struct epochs *epochs, uint32_t process, uint32_t comm)
{
    struct table_key key = {process, comm, 0};
    size_t number = (size_t)table_number(epochs->window_keys, key);

    if (number == epochs->windows_count) {
        array_grow(&epochs->windows, &epochs->windows_room, number,
                   sizeof(*epochs->windows));
        epochs->windows[epochs->windows_count++] = (struct window){0};
    }
    return &epochs->windows[number];
}

static struct queue *queue_find(struct epochs *epochs,
                                enum stream stream,
                                uint32_t comm,
                                int32_t from,
                                int32_t to)
{
    struct table_key key = {(uint64_t)comm * STREAMS + stream, (uint64_t)from,
                            (uint64_t)to};
    size_t number = (size_t)table_number(epochs->queue_keys, key);

    if (number == epochs->queues_count) {
        array_grow(&epochs->queues, &epochs->queues_room, number,
                   sizeof(*epochs->queues));
        epochs->queues[epochs->queues_count++] = (struct queue){0};
    }
    return &epochs->queues[number];
}

/* The oldest is taken out of `count` items of `size` bytes. */
static void
queue_pop(struct queue *queue, void *items, size_t *count, size_t size)
{
    queue->first++;
    if (queue->first == *count) {
        queue->first = *count = 0;
    } else if (queue->first >= QUEUE_MAX / 2) {
        memmove(items, (char *)items + queue->first * size,
                (*count - queue->first) * size);
        *count -= queue->first;
        queue->first = 0;
    }
}

static void gift_add(struct epochs *epochs,
                     struct queue *queue,
                     const struct epochs_gift *gift)
{
    if (queue->waits_count > 0) {
        struct epochs_wait wait = queue->waits[queue->first];

        queue_pop(queue, queue->waits, &queue->waits_count, sizeof(wait));
        epochs->take(epochs->state, &wait, gift);
        return;
    }
    if (queue->gifts_count - queue->first >= QUEUE_MAX) {
        epochs->is_lossy = true;
        return;
    }
    array_grow(&queue->gifts, &queue->gifts_room, queue->gifts_count,
               sizeof(*gift));
    queue->gifts[queue->gifts_count++] = *gift;
}

static void wait_add(struct epochs *epochs,
                     struct queue *queue,
                     const struct epochs_wait *wait)
{
    epochs->take(epochs->state, wait, NULL);
    if (queue->gifts_count > 0) {
        struct epochs_gift gift = queue->gifts[queue->first];

        queue_pop(queue, queue->gifts, &queue->gifts_count, sizeof(gift));
        epochs->take(epochs->state, wait, &gift);
        return;
    }
    if (queue->waits_count - queue->first >= QUEUE_MAX) {
        epochs->is_lossy = true;
        return;
    }
    array_grow(&queue->waits, &queue->waits_room, queue->waits_count,
               sizeof(*wait));
    queue->waits[queue->waits_count++] = *wait;
}

static void gift_to(struct epochs *epochs,
                    const struct here *here,
                    enum stream stream,
                    int32_t peer)
{
    gift_add(epochs, queue_find(epochs, stream, here->comm, here->rank, peer),
             &here->gift);
}

static void wait_for(struct epochs *epochs,
                     const struct here *here,
                     enum stream stream,
                     int32_t peer)
{
    wait_add(epochs, queue_find(epochs, stream, here->comm, peer, here->rank),
             &here->wait);
}

static void group_add(struct group *group, uint32_t call, int32_t peer)
{
    if (group->call != call) {
        group->call = call;
        group->count = 0;
    }
    array_grow(&group->ranks, &group->room, group->count,
               sizeof(*group->ranks));
    group->ranks[group->count++] = peer;
}

static bool here_find(struct epochs *epochs,
                      const struct timeline_event *event,
                      uint32_t id,
                      struct here *here)
{
    if (!match_place(epochs->defs, event, id, &here->comm, &here->rank)) {
        return false;
    }
    here->window = window_find(epochs, event->process, id);
    here->wait.exit = event->end;
    here->gift.thread = here->wait.call.thread = event->thread;
    here->gift.enter = event->start;
    return true;
}

/* One rank of the group that MPI_Win_post or MPI_Win_start was given. */
static void member_take(struct epochs *epochs,
                        const struct timeline_event *event,
                        int64_t mark)
{
    const struct ck_message *record = (const struct ck_message *)event->record;
    const char *name = defs_name(epochs->defs, event->process, record->e.name);
    struct here here = {.wait.call = {0, record->call, record->e.name},
                        .gift.mark = mark};

    if (name == NULL || record->peer < 0 ||
        !here_find(epochs, event, record->comm, &here)) {
        return;
    }
    if (strcmp(name, "MPI_Win_post") == 0) {
        group_add(&here.window->post, record->call, record->peer);
        gift_to(epochs, &here, STREAM_START, record->peer);
        gift_to(epochs, &here, STREAM_COMPLETE, record->peer);
    } else if (strcmp(name, "MPI_Win_start") == 0) {
        group_add(&here.window->start, record->call, record->peer);
        wait_for(epochs, &here, STREAM_START, record->peer);
    }
}

/* MPI_Win_test ends its epoch where arg is 1. */
static void call_take(struct epochs *epochs,
                      const struct timeline_event *event,
                      int64_t mark)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    const char *name = defs_name(epochs->defs, event->process, record->e.name);
    struct here here = {.wait.call = {0, record->call, record->e.name},
                        .gift.mark = mark};
    struct group *group;

    if (name == NULL || strncmp(name, "MPI_Win_", 8) != 0) {
        return;
    }
    if (strcmp(name, "MPI_Win_complete") == 0 &&
        here_find(epochs, event, record->object, &here)) {
        group = &here.window->start;
        for (size_t i = 0; i < group->count; i++) {
            wait_for(epochs, &here, STREAM_COMPLETE, group->ranks[i]);
            gift_to(epochs, &here, STREAM_WAIT, group->ranks[i]);
        }
        group->count = 0;
    } else if ((strcmp(name, "MPI_Win_wait") == 0 ||
                (strcmp(name, "MPI_Win_test") == 0 && record->arg == 1)) &&
               here_find(epochs, event, record->object, &here)) {
        group = &here.window->post;
        for (size_t i = 0; i < group->count; i++) {
            wait_for(epochs, &here, STREAM_WAIT, group->ranks[i]);
        }
        group->count = 0;
    }
}

void epochs_take(struct epochs *epochs,
                 const struct timeline_event *event,
                 int64_t mark)
{
    switch (event->record->kind) {
    case CK_KIND_LOST:
        epochs->is_lossy = true;
        break;
    case CK_KIND_EPOCH:
        if (!epochs->is_lossy) {
            member_take(epochs, event, mark);
        }
        break;
    case CK_KIND_MPI_CALL:
        if (!epochs->is_lossy) {
            call_take(epochs, event, mark);
        }
        break;
    default:
        break;
    }
}
