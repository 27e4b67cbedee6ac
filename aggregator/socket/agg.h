/* agg.h - the sockets of ckagg: with watch.c all that knows ZeroMQ
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ROUTER sockets, one for ipc and one for tcp (which has the keys). One
 * thread, the loop's. Nothing here waits for a peer: a message that cannot be
 * sent at once is refused with EAGAIN.
 */
#ifndef CK_AGGREGATOR_SOCKET_AGG_H
#define CK_AGGREGATOR_SOCKET_AGG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/socket/route.h"
#include "schema/endpoint.h"
#include "schema/err.h"
#include "schema/frame.h"

/* Longest message taken; ZeroMQ drops the connection of a longer one. Agents
 * cut frames at 2 MiB of records (CK_FRAME_UNITS_MAX); a number takes 10 bytes
 * at most for 8, and then it is not packed. */
#define AGG_MESSAGE_MAX ((int64_t)3 << 20)
/* Messages held a peer in each direction. */
#define AGG_RECEIVE_HWM 16
#define AGG_SEND_HWM 256

struct agg;

struct agg_options {
    const char *const *urls;
    size_t urls_count;
    bool is_insecure; /* tcp beyond loopback without keys */
};

struct agg_message {
    struct route from;
    const void *bytes; /* borrowed until the next agg_receive() */
    size_t length;
    int fd; /* of its tcp connection; -1 */
};

enum agg_ready {
    AGG_READY_NONE = 0,
    AGG_READY_MESSAGE = 1,
    AGG_READY_FD = 2,
    AGG_READY_STRANGER = 4, /* a peer's keys are not ours; once */
    AGG_READY_SHUT = 8,     /* connections were shut down (admission.h) */
    AGG_READY_OTHER = 16,   /* the second descriptor */
};
/* Descriptors that are waited for beside the sockets. */
#define AGG_FDS 2

/* Listen on all URLs. NULL with err (and nothing is listened on). */
struct agg *agg_create(const struct agg_options *options, struct ck_err *err);
/* Sends what is queued for at most a second. */
void agg_destroy(struct agg *agg);

/* What peers need to reach us; borrowed. */
const struct ck_endpoint *agg_endpoint(const struct agg *agg);
/* True when a hello on this route has to carry the token. */
bool agg_needs_token(const struct agg *agg, const struct route *route);

/* Wait for a message, for one of the descriptors (-1 = none) or the time. Bits
 * of agg_ready, or -1 with errno. */
int agg_wait(struct agg *agg, const int fds[AGG_FDS], int timeout_ms);
/* Next message: 1; 0 when there is none now; -1 one was dropped that has not
 * exactly one part. */
int agg_receive(struct agg *agg, struct agg_message *message);
/* Its sender sent HELLO, or had the right to ask: it is no stranger. */
void agg_accept(struct agg *agg, const struct agg_message *message);
/* Connections that were shut down so far. */
uint64_t agg_shut(const struct agg *agg);
/* Send a copy. 0, or -1 with errno: EAGAIN (the peer does not read),
 * EHOSTUNREACH (it is gone). */
int agg_send(struct agg *agg,
             const struct route *to,
             const void *bytes,
             size_t length);

struct agg_question {
    const struct ck_endpoint *to;
    const void *bytes;
    size_t length;
    int timeout_ms; /* for each URL that a ckagg listens at */
};

/* Ask a ckagg one question: *answer is malloc'ed, the caller's to free. 0, or
 * -1 with err. */
int agg_ask(const struct agg_question *question,
            void **answer,
            size_t *length,
            struct ck_err *err);

#endif
