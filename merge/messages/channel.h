/* channel.h - the posts of messages, and the channels in which they meet
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Within match.c and channel.c only. A post is one end of a message. A channel
 * is (communicator, source, destination, tag); its posts have numbers, and the
 * heads of its two queues meet when their numbers are equal.
 */
#ifndef CK_MERGE_MESSAGES_CHANNEL_H
#define CK_MERGE_MESSAGES_CHANNEL_H

#include "merge/messages/matched.h"
#include "merge/model/defs.h"
#include "merge/model/table.h"

/* Ends of messages that are not over, and channels: of more none is kept. */
#define MATCH_POSTS_MAX ((uint32_t)1 << 17)
#define MATCH_CHANNELS_MAX ((size_t)1 << 20)

#define POST_NONE UINT32_MAX

struct post {
    struct match_end end;
    int32_t peer; /* -1 = any, as yet */
    int32_t tag;
    uint64_t bytes;
    uint64_t number; /* in its channel */
    uint32_t channel;
    uint32_t partner;
    uint32_t next;    /* in its queue or inbox; of free ones */
    uint32_t request; /* number of its key, POST_NONE */
    bool is_send;
    bool is_vague; /* source or tag not known */
    bool is_probe;
    bool is_gone; /* of no further interest once it is out of its queue */
};

struct queue {
    uint32_t head, tail;
};

struct channel {
    uint32_t comm;
    int32_t source, destination, tag;
    uint64_t counts[2]; /* receives, sends */
    struct queue queues[2];
    bool is_unfit;
};

/* Receives of a process on a communicator that wait for vague ones. */
struct inbox {
    struct queue queue;
    int32_t rank;
    uint32_t comm;
};

struct matcher {
    const struct defs *defs; /* borrowed */
    match_take_f take;
    void *state;
    struct post *posts;
    size_t posts_count, posts_room;
    uint32_t spare;
    struct table *channel_keys;
    struct channel *channels;
    size_t channels_count, channels_room;
    struct table *inbox_keys;
    struct inbox *inboxes;
    size_t inboxes_count, inboxes_room;
    struct table *request_keys;
    uint32_t *requests; /* post, POST_NONE */
    size_t requests_count, requests_room;
    bool *is_lossy; /* by process */
    struct match_counts counts;
};

/* Keep a post. POST_NONE when there are too many, or out of memory. */
uint32_t post_new(struct matcher *matcher, const struct post *what);
void post_free(struct matcher *matcher, uint32_t index);
/* Report that an end is complete. */
void post_completed(struct matcher *matcher, const struct post *post);
void queue_add(struct matcher *matcher, struct queue *queue, uint32_t index);

/* POST_NONE = too many, or out of memory. */
uint32_t channel_find(struct matcher *matcher,
                      uint32_t comm,
                      int32_t source,
                      int32_t destination,
                      int32_t tag);
/* Give the post a number in its channel, of a probe the next one's, and let
 * it meet its partner. */
void channel_add(struct matcher *matcher,
                 uint32_t channel_index,
                 uint32_t index);
/* Report what is known of a pair; it goes when both ends are over. */
void channel_tell(struct matcher *matcher, uint32_t recv_index, bool is_recv);

#endif
