/* gate.h - which tcp connections may stay
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ZeroMQ holds what a connection has begun to send, in sum without a limit, and
 * parts of a message even beyond the longest message. So each connection is
 * kept here, by its descriptor (ZeroMQ's, borrowed): what it sent less what
 * was taken from it is what is held for it. A connection is a stranger until
 * it sent a message that was accepted. One that exceeds its share is shut
 * down; an agent that this hits connects again. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_GATE_H
#define CK_AGGREGATOR_GATE_H

#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* Strangers are looked at so often, all connections each second. */
#define GATE_PERIOD (10 * CK_TIME_MS)
#define GATE_PERIOD_ALL CK_TIME_S
/* What is held for all strangers together, each an equal share, but at least
 * what a hello needs. */
#define GATE_STRANGERS_BYTES ((uint64_t)8 << 20)
#define GATE_HELLO_BYTES ((uint64_t)16 << 10)
/* What the kernel takes for a connection before ZeroMQ reads it: of a stranger
 * (set before it connects), and of an accepted peer. */
#define GATE_STRANGER_BUFFER (32 << 10)
#define GATE_PEER_BUFFER (1 << 20)
/* Of more strangers than these, those that were given time leave. */
#define GATE_STRANGERS 256
#define GATE_STRANGER_TIME (2 * CK_TIME_S)
#define GATE_STRANGER_TIME_MOST (10 * CK_TIME_S)
/* If more than this is held for accepted peers, those leave that completed no
 * message of more than a beat in this time. */
#define GATE_PEERS_BYTES ((uint64_t)64 << 20)
#define GATE_PEER_BYTES ((uint64_t)64 << 10)
#define GATE_PEER_TIME (10 * CK_TIME_S)

struct gate;

struct gate_facts {
    size_t strangers; /* connected now */
    uint64_t shut;    /* connections that were shut down */
};

/* NULL with ENOMEM. */
struct gate *gate_create(void);
void gate_destroy(struct gate *gate);

/* The connection was made, ended, had `bytes` of a whole message taken from
 * it, sent a message that was accepted. What is not known is ignored. */
void gate_open(struct gate *gate, int fd, ck_time_t now);
void gate_close(struct gate *gate, int fd);
void gate_take(struct gate *gate, int fd, size_t bytes);
void gate_accept(struct gate *gate, int fd);

/* Shut down who exceeds a limit, if it is time to look. */
void gate_look(struct gate *gate, ck_time_t now);
struct gate_facts gate_facts(const struct gate *gate);

#endif
