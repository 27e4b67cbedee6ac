/* admission.h - which tcp connections may stay
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
#ifndef CK_AGGREGATOR_SOCKET_ADMISSION_H
#define CK_AGGREGATOR_SOCKET_ADMISSION_H

#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* How often strangers are looked at; all connections: each second. */
#define ADMISSION_PERIOD (10 * CK_TIME_MS)
#define ADMISSION_PERIOD_ALL CK_TIME_S
/* What is held for all strangers together, each an equal share, but at least
 * what a hello needs. */
#define ADMISSION_STRANGERS_BYTES ((uint64_t)8 << 20)
#define ADMISSION_HELLO_BYTES ((uint64_t)16 << 10)
/* What the kernel takes for a connection before ZeroMQ reads it: of a stranger
 * (set before it connects), and of an accepted peer. */
#define ADMISSION_STRANGER_BUFFER (32 << 10)
#define ADMISSION_PEER_BUFFER (1 << 20)
/* Of more strangers than these, those that were given time leave. */
#define ADMISSION_STRANGERS 256
#define ADMISSION_STRANGER_TIME (2 * CK_TIME_S)
#define ADMISSION_STRANGER_TIME_MOST (10 * CK_TIME_S)
/* If more than this is held for accepted peers, those leave that completed no
 * message of more than a beat in this time. */
#define ADMISSION_PEERS_BYTES ((uint64_t)64 << 20)
#define ADMISSION_PEER_BYTES ((uint64_t)64 << 10)
#define ADMISSION_PEER_TIME (10 * CK_TIME_S)

struct admission;

struct admission_facts {
    size_t strangers; /* connected now */
    uint64_t shut;    /* connections that were shut down */
};

/* NULL with ENOMEM. */
struct admission *admission_create(void);
void admission_destroy(struct admission *admission);

/* The connection was made, ended, had `bytes` of a whole message taken from
 * it, sent a message that was accepted. What is not known is ignored. */
void admission_open(struct admission *admission, int fd, ck_time_t now);
void admission_close(struct admission *admission, int fd);
void admission_take(struct admission *admission, int fd, size_t bytes);
void admission_accept(struct admission *admission, int fd);

/* Shut down who exceeds a limit, if it is time to look. */
void admission_look(struct admission *admission, ck_time_t now);
struct admission_facts admission_facts(const struct admission *admission);

#endif
