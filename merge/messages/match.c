/* match.c - which send each receive got
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A send goes straight to its channel (channel.h); so does a receive whose
 * source and tag are known, unless an earlier one of its process, still vague,
 * might get the same message: then it waits in the inbox (of a process and a
 * communicator) for that one.
 */
#include "merge/messages/match.h"

#include <stdlib.h>
#include <string.h>

#include "merge/messages/channel.h"
#include "merge/model/array.h"
#include "merge/model/comm.h"
#include "merge/model/memory.h"

/* MPI_COMM_WORLD's number in every process, and in the run where no process
 * described it. */
#define WORLD 1
#define WORLD_GLOBAL (DEFS_NONE - 1)
struct matcher *
matcher_create(const struct defs *defs, match_take_f take, void *state)
{
    struct matcher *matcher = xcalloc(1, sizeof(*matcher));

    matcher->defs = defs;
    matcher->take = take;
    matcher->state = state;
    matcher->spare = POST_NONE;
    matcher->channel_keys = table_create();
    matcher->inbox_keys = table_create();
    matcher->request_keys = table_create();
    matcher->is_lossy =
        xcalloc(defs->processes_count + 1, sizeof(*matcher->is_lossy));
    for (size_t i = 0; i < defs->processes_count; i++) {
        matcher->is_lossy[i] =
            defs->agents[defs->processes[i].agent].discarded.segments > 0;
    }
    return matcher;
}

void matcher_destroy(struct matcher *matcher)
{
    if (matcher == NULL) {
        return;
    }
    table_destroy(matcher->channel_keys);
    table_destroy(matcher->inbox_keys);
    table_destroy(matcher->request_keys);
    free(matcher->posts);
    free(matcher->channels);
    free(matcher->inboxes);
    free(matcher->requests);
    free(matcher->is_lossy);
    free(matcher);
}

struct match_counts matcher_counts(const struct matcher *matcher)
{
    return matcher->counts;
}

bool match_place(const struct defs *defs,
                 const struct timeline_event *event,
                 uint32_t id,
                 uint32_t *number,
                 int32_t *rank)
{
    return match_place_in(comm_find(defs, event->process, id), event, id,
                          number, rank);
}

bool match_place_in(const struct defs_comm *comm,
                    const struct timeline_event *event,
                    uint32_t id,
                    uint32_t *number,
                    int32_t *rank)
{
    *rank = comm != NULL ? comm->rank : event->rank;
    *number = comm != NULL ? comm->global : DEFS_NONE;
    if (comm == NULL && id == WORLD && event->rank >= 0) {
        *number = WORLD_GLOBAL;
    }
    return *number != DEFS_NONE;
}

/* ---- requests ----------------------------------------------------------- */

/* Number of a request of a process. */
static uint32_t
request_number(struct matcher *matcher, uint32_t process, uint64_t request)
{
    struct table_key key = {process, request, 0};
    int64_t number = table_number(matcher->request_keys, key);

    if ((size_t)number == matcher->requests_count) {
        array_grow(&matcher->requests, &matcher->requests_room,
                   matcher->requests_count, sizeof(*matcher->requests));
        matcher->requests[matcher->requests_count++] = POST_NONE;
    }
    return (uint32_t)number;
}

/* The handle is taken anew: its old request was freed unseen. */
static void request_take(struct matcher *matcher, uint32_t index)
{
    struct post *post = &matcher->posts[index];
    uint32_t old = matcher->requests[post->request];

    if (old != POST_NONE) {
        struct post *freed = &matcher->posts[old];
        uint32_t partner = freed->partner;

        freed->request = POST_NONE;
        freed->end.is_done = freed->is_send;
        if (partner != POST_NONE && freed->is_send &&
            matcher->posts[partner].end.is_done) {
            post_free(matcher, partner);
            post_free(matcher, old);
        }
    }
    matcher->requests[post->request] = index;
}

/* ---- inboxes ------------------------------------------------------------ */

static struct inbox *inbox_find(struct matcher *matcher,
                                uint32_t process,
                                uint32_t comm,
                                int32_t rank)
{
    struct table_key key = {process, comm, 0};
    int64_t number = table_number(matcher->inbox_keys, key);

    if ((size_t)number == matcher->inboxes_count) {
        struct inbox fresh = {{POST_NONE, POST_NONE}, rank, comm};

        array_grow(&matcher->inboxes, &matcher->inboxes_room,
                   matcher->inboxes_count, sizeof(fresh));
        matcher->inboxes[matcher->inboxes_count++] = fresh;
    }
    return &matcher->inboxes[number];
}

/* A vague post before `index` might have got what it got. */
static bool is_held(const struct matcher *matcher,
                    const struct inbox *inbox,
                    uint32_t index)
{
    const struct post *post = &matcher->posts[index];

    for (uint32_t at = inbox->queue.head; at != POST_NONE && at != index;
         at = matcher->posts[at].next) {
        const struct post *other = &matcher->posts[at];

        if (other->is_vague && (other->peer < 0 || other->peer == post->peer) &&
            (other->tag < 0 || other->tag == post->tag)) {
            return true;
        }
    }
    return false;
}

static void
recv_channel(struct matcher *matcher, const struct inbox *inbox, uint32_t index)
{
    const struct post *post = &matcher->posts[index];
    uint32_t channel =
        channel_find(matcher, inbox->comm, post->peer, inbox->rank, post->tag);

    if (channel == POST_NONE) {
        matcher->counts.unfit++;
        post_free(matcher, index);
        return;
    }
    channel_add(matcher, channel, index);
}

/* Hand on what nothing vague holds back any more. */
static void inbox_settle(struct matcher *matcher, struct inbox *inbox)
{
    struct queue kept = {POST_NONE, POST_NONE};
    uint32_t at = inbox->queue.head;
    uint32_t go = POST_NONE, last = POST_NONE;

    while (at != POST_NONE) {
        uint32_t next = matcher->posts[at].next;

        if (matcher->posts[at].is_gone) {
            post_free(matcher, at);
        } else if (matcher->posts[at].is_vague ||
                   is_held(matcher, &(struct inbox){.queue = kept}, at)) {
            queue_add(matcher, &kept, at);
        } else {
            matcher->posts[at].next = POST_NONE;
            if (last == POST_NONE) {
                go = at;
            } else {
                matcher->posts[last].next = at;
            }
            last = at;
        }
        at = next;
    }
    inbox->queue = kept;
    while (go != POST_NONE) {
        uint32_t next = matcher->posts[go].next;

        recv_channel(matcher, inbox, go);
        go = next;
    }
}

static void
inbox_add(struct matcher *matcher, struct inbox *inbox, uint32_t index)
{
    if (matcher->posts[index].is_vague ||
        (inbox->queue.head != POST_NONE && is_held(matcher, inbox, index))) {
        queue_add(matcher, &inbox->queue, index);
        return;
    }
    recv_channel(matcher, inbox, index);
}

/* ---- records ------------------------------------------------------------ */

/* In place of the request of a blocking MPI_Sendrecv's receive half. */
static uint64_t half_of(const struct timeline_event *event)
{
    return (uint64_t)event->thread << 32 | 1;
}

static struct post post_of(const struct timeline_event *event,
                           const struct ck_message *message,
                           int64_t mark)
{
    struct match_call call = {event->thread, message->call, message->e.name};
    struct post post = {
        .end = {.process = event->process,
                .posted = call,
                .post = event->start,
                .is_done = message->request == 0,
                .completed = call,
                .done = event->end,
                .mark = mark},
        .peer = message->peer,
        .tag = message->tag,
        .bytes = message->bytes,
        .request = POST_NONE,
    };

    return post;
}

/* Keep the post, under its request. POST_NONE: there are too many. */
static uint32_t
post_keep(struct matcher *matcher, struct post *post, uint64_t request)
{
    uint32_t index;

    if (request != 0) {
        post->request = request_number(matcher, post->end.process, request);
    }
    index = post_new(matcher, post);
    if (index != POST_NONE && request != 0) {
        request_take(matcher, index);
    }
    return index;
}

static void send_take(struct matcher *matcher,
                      const struct timeline_event *event,
                      int64_t mark)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    struct post post = post_of(event, message, mark);
    uint32_t comm, channel, index;
    int32_t rank;

    if (!match_place(matcher->defs, event, message->comm, &comm, &rank)) {
        return;
    }
    post.is_send = true;
    matcher->counts.sends++;
    channel = channel_find(matcher, comm, rank, message->peer, message->tag);
    if (channel == POST_NONE) {
        matcher->counts.unfit++;
        return;
    }
    index = post_keep(matcher, &post, message->request);
    if (index == POST_NONE) {
        matcher->channels[channel].counts[1]++;
        matcher->counts.unfit++;
        return;
    }
    channel_add(matcher, channel, index);
}

/* The receive of an MPI_Mprobe or MPI_Mrecv counts from the probe on. */
static bool is_matched_receive(const char *name)
{
    return name != NULL && (strncmp(name, "MPI_Mrecv", 9) == 0 ||
                            strncmp(name, "MPI_Imrecv", 10) == 0);
}

static void recv_take(struct matcher *matcher,
                      const struct timeline_event *event,
                      struct post *post,
                      uint64_t request)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    struct inbox *inbox;
    uint32_t comm, index;
    int32_t rank;

    if (!match_place(matcher->defs, event, message->comm, &comm, &rank)) {
        return;
    }
    inbox = inbox_find(matcher, event->process, comm, rank);
    matcher->counts.receives += !post->is_probe;
    post->is_vague = post->peer < 0 || post->tag < 0;
    index = post_keep(matcher, post, request);
    if (index == POST_NONE) {
        matcher->is_lossy[event->process] = true;
        matcher->counts.unfit++;
        return;
    }
    if (post->end.is_done && !post->is_probe) {
        post_completed(matcher, post);
    }
    inbox_add(matcher, inbox, index);
}

static void probe_take(struct matcher *matcher,
                       const struct timeline_event *event,
                       int64_t mark)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    struct post post = post_of(event, message, mark);
    const char *name =
        defs_name(matcher->defs, event->process, message->e.name);

    if (name == NULL || message->peer < 0 || message->tag < 0) {
        return;
    }
    if (message->request != 0) {
        /* It takes the message: the receive that follows is no other one. */
        post.end.is_done = true;
        recv_take(matcher, event, &post, 0);
        return;
    }
    if (strcmp(name, "MPI_Probe") != 0) {
        return;
    }
    post.end.is_done = true;
    post.is_probe = true;
    recv_take(matcher, event, &post, 0);
}

/* Where a receive was posted that this completes. */
static struct inbox *inbox_of(struct matcher *matcher,
                              const struct timeline_event *event)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    uint32_t comm;
    int32_t rank;

    if (!match_place(matcher->defs, event, message->comm, &comm, &rank)) {
        return NULL;
    }
    return inbox_find(matcher, event->process, comm, rank);
}

/* A receive that takes no message: canceled, or from MPI_PROC_NULL. */
static void recv_drop(struct matcher *matcher,
                      const struct timeline_event *event,
                      uint32_t index)
{
    struct post *post = &matcher->posts[index];
    struct inbox *inbox = inbox_of(matcher, event);

    if (post->channel != POST_NONE) {
        matcher->channels[post->channel].is_unfit = true;
        return;
    }
    post->is_gone = true;
    post->is_vague = false;
    if (inbox != NULL) {
        inbox_settle(matcher, inbox);
    }
}

static void recv_done(struct matcher *matcher,
                      const struct timeline_event *event,
                      uint32_t index)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    struct post *post = &matcher->posts[index];
    struct inbox *inbox;

    post_completed(matcher, post);
    post->bytes = message->bytes;
    if (post->is_gone) {
        post_free(matcher, index);
        return;
    }
    if (post->partner != POST_NONE) {
        channel_tell(matcher, index, true);
        return;
    }
    if (post->channel != POST_NONE || !post->is_vague) {
        return; /* its send, or a vague one before it, is to come */
    }
    inbox = inbox_of(matcher, event);
    if (message->peer < 0 || message->tag < 0 || inbox == NULL) {
        matcher->is_lossy[event->process] = true; /* it took anything */
        recv_drop(matcher, event, index);
        return;
    }
    post->peer = message->peer;
    post->tag = message->tag;
    post->is_vague = false;
    inbox_settle(matcher, inbox);
}

static void complete_take(struct matcher *matcher,
                          const struct timeline_event *event)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    uint32_t number = request_number(matcher, event->process,
                                     message->request != 0 ? message->request
                                                           : half_of(event));
    struct post *post;
    uint32_t index;

    index = matcher->requests[number];
    if (index == POST_NONE) {
        return; /* a collective's, or its post is not recorded */
    }
    post = &matcher->posts[index];
    matcher->requests[number] = POST_NONE;
    post->request = POST_NONE;
    if (!post->is_send &&
        ((message->e.flags & CK_FLAG_FAILED) != 0 || message->peer < -1)) {
        matcher->counts.receives -= !post->is_probe;
        recv_drop(matcher, event, index);
        return;
    }
    post->end.is_done = true;
    post->end.done = event->start;
    post->end.completed =
        (struct match_call){event->thread, message->call, message->e.name};
    if (!post->is_send) {
        recv_done(matcher, event, index);
        return;
    }
    post_completed(matcher, post);
    if (post->is_gone) {
        post_free(matcher, index);
        return;
    }
    if (post->partner != POST_NONE) {
        channel_tell(matcher, post->partner, false);
    }
}

/* Its send half, and a receive half that is not known as yet. */
static void sendrecv_take(struct matcher *matcher,
                          const struct timeline_event *event,
                          int64_t mark)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    struct post post = post_of(event, message, mark);
    struct ck_message half = *message;
    struct timeline_event send = *event;

    post.peer = post.tag = -1;
    post.bytes = 0;
    post.end.is_done = false;
    half.request = 0;
    send.record = &half.e;
    if (message->peer >= 0) {
        send_take(matcher, &send, mark);
    }
    recv_take(matcher, event, &post,
              message->request != 0 ? message->request : half_of(event));
}

void matcher_take(struct matcher *matcher,
                  const struct timeline_event *event,
                  int64_t mark)
{
    const struct ck_message *message = (const struct ck_message *)event->record;
    struct post post;

    if (event->record->kind == CK_KIND_LOST) {
        matcher->is_lossy[event->process] = true;
    }
    if (ck_kind_class(event->record->kind) != CK_CLASS_MESSAGE ||
        (event->record->flags & CK_FLAG_CUT) != 0 ||
        ((event->record->flags & CK_FLAG_FAILED) != 0 &&
         event->record->kind != CK_KIND_COMPLETE)) {
        return;
    }
    switch (event->record->kind) {
    case CK_KIND_SEND:
        if (message->peer >= 0) {
            send_take(matcher, event, mark);
        }
        return;
    case CK_KIND_SENDRECV:
        sendrecv_take(matcher, event, mark);
        return;
    case CK_KIND_PROBE:
        probe_take(matcher, event, mark);
        return;
    case CK_KIND_COMPLETE:
        complete_take(matcher, event);
        return;
    case CK_KIND_RECV:
        if (message->peer < -1 ||
            is_matched_receive(
                defs_name(matcher->defs, event->process, message->e.name))) {
            return;
        }
        post = post_of(event, message, mark);
        recv_take(matcher, event, &post, message->request);
        return;
    default:
        return;
    }
}
