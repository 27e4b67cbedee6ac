/* channel.c - the posts of messages, and the channels in which they meet
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/messages/channel.h"

#include <stdlib.h>

#include "merge/model/array.h"

/* ---- posts and queues --------------------------------------------------- */

/* POST_NONE when there are too many. */
uint32_t post_new(struct matcher *matcher, const struct post *what)
{
    uint32_t index = matcher->spare;

    if (index != POST_NONE) {
        matcher->spare = matcher->posts[index].next;
    } else if (matcher->posts_count == MATCH_POSTS_MAX) {
        return POST_NONE;
    } else {
        array_grow(&matcher->posts, &matcher->posts_room, matcher->posts_count,
                   sizeof(*what));
        index = (uint32_t)matcher->posts_count++;
    }
    matcher->posts[index] = *what;
    matcher->posts[index].partner = matcher->posts[index].next = POST_NONE;
    matcher->posts[index].channel = POST_NONE;
    return index;
}

void post_free(struct matcher *matcher, uint32_t index)
{
    struct post *post = &matcher->posts[index];

    if (post->request != POST_NONE &&
        matcher->requests[post->request] == index) {
        matcher->requests[post->request] = POST_NONE;
    }
    post->next = matcher->spare;
    matcher->spare = index;
}

void queue_add(struct matcher *matcher, struct queue *queue, uint32_t index)
{
    matcher->posts[index].next = POST_NONE;
    if (queue->head == POST_NONE) {
        queue->head = index;
    } else {
        matcher->posts[queue->tail].next = index;
    }
    queue->tail = index;
}

static uint32_t queue_pop(const struct matcher *matcher, struct queue *queue)
{
    uint32_t index = queue->head;

    queue->head = matcher->posts[index].next;
    return index;
}

/* ---- news --------------------------------------------------------------- */

static struct match match_of(const struct matcher *matcher,
                             const struct post *send,
                             const struct post *recv)
{
    const struct channel *channel = &matcher->channels[recv->channel];
    struct match match = {.comm = channel->comm,
                          .source = channel->source,
                          .destination = channel->destination,
                          .tag = channel->tag,
                          .bytes = send->bytes,
                          .send = send->end,
                          .recv = recv->end};

    return match;
}

void post_completed(struct matcher *matcher, const struct post *post)
{
    struct match match = {.comm = DEFS_NONE,
                          .source = -1,
                          .destination = -1,
                          .tag = post->tag,
                          .bytes = post->bytes};

    if (post->is_send) {
        match.send = post->end;
    } else {
        match.recv = post->end;
    }
    matcher->take(matcher->state, MATCH_COMPLETED, &match);
}

/* The sizes are one, and nothing is received before it is sent. */
static bool
is_fit(const struct matcher *matcher, const struct match *match, uint64_t bytes)
{
    const struct defs *defs = matcher->defs;
    const struct defs_process *sender = &defs->processes[match->send.process];
    const struct defs_process *taker = &defs->processes[match->recv.process];

    return (match->bytes == 0 || bytes == 0 || match->bytes == bytes) &&
           (match->recv.done >= match->send.post ||
            defs->agents[sender->agent].domain !=
                defs->agents[taker->agent].domain);
}

/* Report what is known of a pair; parts with it when both ends are over. */
void channel_tell(struct matcher *matcher,
                  uint32_t recv_index,
                  bool is_recv_news)
{
    struct post *recv = &matcher->posts[recv_index];
    uint32_t send_index = recv->partner;
    struct post *send = &matcher->posts[send_index];
    struct channel *channel = &matcher->channels[recv->channel];
    struct match match = match_of(matcher, send, recv);

    if (recv->end.is_done && !is_fit(matcher, &match, recv->bytes)) {
        channel->is_unfit = true;
    }
    if (channel->is_unfit || matcher->is_lossy[match.send.process] ||
        matcher->is_lossy[match.recv.process]) {
        matcher->counts.unfit++;
    } else {
        matcher->counts.matched += is_recv_news;
        matcher->take(matcher->state,
                      is_recv_news ? MATCH_RECEIVED : MATCH_SENT, &match);
    }
    if (send->end.is_done && recv->end.is_done) {
        post_free(matcher, send_index);
        post_free(matcher, recv_index);
    }
}

static void pair_make(struct matcher *matcher, uint32_t send, uint32_t recv)
{
    bool is_done = matcher->posts[recv].end.is_done;

    matcher->posts[send].partner = recv;
    matcher->posts[recv].partner = send;
    if (matcher->posts[send].end.is_done) {
        /* It may go with its second end: report it first. */
        matcher->posts[recv].end.is_done = false;
        channel_tell(matcher, recv, false);
        matcher->posts[recv].end.is_done = is_done;
    }
    if (is_done) {
        channel_tell(matcher, recv, true);
    }
}

static void
probe_tell(struct matcher *matcher, const struct post *send, uint32_t index)
{
    const struct post *probe = &matcher->posts[index];
    struct match match = match_of(matcher, send, probe);

    if (!matcher->channels[probe->channel].is_unfit &&
        !matcher->is_lossy[match.send.process]) {
        matcher->take(matcher->state, MATCH_PROBED, &match);
    }
    post_free(matcher, index);
}

/* ---- channels ----------------------------------------------------------- */

/* POST_NONE = too many. */
uint32_t channel_find(struct matcher *matcher,
                      uint32_t comm,
                      int32_t source,
                      int32_t destination,
                      int32_t tag)
{
    struct table_key key = {
        comm, (uint64_t)(uint32_t)source << 32 | (uint32_t)destination,
        (uint32_t)tag};
    int64_t number = table_number(matcher->channel_keys, key);

    if ((size_t)number >= MATCH_CHANNELS_MAX) {
        return POST_NONE;
    }
    if ((size_t)number == matcher->channels_count) {
        struct channel fresh = {
            .comm = comm,
            .source = source,
            .destination = destination,
            .tag = tag,
            .queues = {{POST_NONE, POST_NONE}, {POST_NONE, POST_NONE}}};

        array_grow(&matcher->channels, &matcher->channels_room,
                   matcher->channels_count, sizeof(fresh));
        matcher->channels[matcher->channels_count++] = fresh;
    }
    return (uint32_t)number;
}

/* Let the heads of the queues meet. */
static void channel_settle(struct matcher *matcher, uint32_t index)
{
    struct queue *recvs = &matcher->channels[index].queues[0];
    struct queue *sends = &matcher->channels[index].queues[1];

    while (recvs->head != POST_NONE && sends->head != POST_NONE) {
        struct post *recv = &matcher->posts[recvs->head];
        struct post *send = &matcher->posts[sends->head];

        if (recv->number < send->number) {
            /* Its send is not kept. */
            uint32_t gone = queue_pop(matcher, recvs);

            recv->is_gone = true;
            if (recv->end.is_done || recv->is_probe) {
                post_free(matcher, gone);
            }
        } else if (recv->number > send->number) {
            uint32_t gone = queue_pop(matcher, sends);

            send->is_gone = true;
            if (send->end.is_done) {
                post_free(matcher, gone);
            }
        } else if (recv->is_probe) {
            probe_tell(matcher, send, queue_pop(matcher, recvs));
        } else {
            uint32_t sent = queue_pop(matcher, sends);

            pair_make(matcher, sent, queue_pop(matcher, recvs));
        }
    }
}

/* Give the post a number in its channel; of a probe the next one's. */
void channel_add(struct matcher *matcher,
                 uint32_t channel_index,
                 uint32_t index)
{
    struct channel *channel = &matcher->channels[channel_index];
    struct post *post = &matcher->posts[index];

    post->channel = channel_index;
    post->number = channel->counts[post->is_send] + 1;
    channel->counts[post->is_send] += !post->is_probe;
    queue_add(matcher, &channel->queues[post->is_send], index);
    channel_settle(matcher, channel_index);
}
