/* reply.c - what ckagg answers to a peer or a client
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/jobs/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reply {
    struct agg *agg; /* borrowed */
    struct ck_batch_writer *writer;
    struct ck_ack *acks; /* room for CK_CONTROL_ACKS_MAX */
    uint64_t dropped;
};

struct reply *reply_create(struct agg *agg)
{
    struct reply *reply = calloc(1, sizeof(*reply));

    if (!reply) {
        return NULL;
    }
    reply->agg = agg;
    reply->writer = ck_batch_writer_create();
    reply->acks = calloc(CK_CONTROL_ACKS_MAX, sizeof(*reply->acks));
    if (!reply->writer || !reply->acks) {
        reply_destroy(reply);
        return NULL;
    }
    return reply;
}

void reply_destroy(struct reply *reply)
{
    int saved = errno;

    if (reply) {
        ck_batch_writer_destroy(reply->writer);
        free(reply->acks);
        free(reply);
    }
    errno = saved;
}

static int reply_send(struct reply *reply,
                      const struct route *to,
                      const struct ck_control *control)
{
    const void *bytes;
    size_t length;

    if (ck_control_encode(reply->writer, control, &bytes, &length, NULL) != 0 ||
        agg_send(reply->agg, to, bytes, length) != 0) {
        reply->dropped++;
        return -1;
    }
    return 0;
}

int reply_text(struct reply *reply,
               const struct route *to,
               enum ck_control_type type,
               const char *text)
{
    struct ck_control control = {
        .type = type,
        .version = CK_FRAME_VERSION,
        .text = text,
        .text_length = strlen(text),
    };

    return reply_send(reply, to, &control);
}

int reply_welcome(struct reply *reply,
                  const struct peer *peer,
                  const char *lines)
{
    struct ck_control control = {
        .type = CK_CONTROL_WELCOME,
        .version = CK_FRAME_VERSION,
        .text = lines,
        .text_length = strlen(lines),
        .acks = reply->acks,
    };

    control.acks_count = peer_acks_all(peer, reply->acks, CK_CONTROL_ACKS_MAX);
    memcpy(control.agent, peer_agent(peer), sizeof(control.agent));
    return reply_send(reply, peer_route(peer), &control);
}

int reply_acks(struct reply *reply, struct peer *peer)
{
    struct ck_control control = {
        .type = CK_CONTROL_ACK,
        .version = CK_FRAME_VERSION,
        .text = "",
        .acks = reply->acks,
    };

    if (!peer_route(peer)) {
        return 0;
    }
    control.acks_count = peer_acks_due(peer, reply->acks, CK_CONTROL_ACKS_MAX);
    memcpy(control.agent, peer_agent(peer), sizeof(control.agent));
    if (reply_send(reply, peer_route(peer), &control) != 0) {
        peer_acks_failed(peer);
        return -1;
    }
    return 0;
}

uint64_t reply_dropped(const struct reply *reply)
{
    return reply->dropped;
}
