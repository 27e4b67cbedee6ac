/* clocklink.h - one way to carry clock probes: UDP, TCP or ZeroMQ
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Never the socket that data goes through: a probe behind a frame would measure
 * how long the frame was. Nothing here waits. Used from the collector's
 * thread.
 */
#ifndef CK_AGENT_CLOCK_CLOCKLINK_H
#define CK_AGENT_CLOCK_CLOCKLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/link/clockreference.h"
#include "schema/clock/probe.h"
#include "schema/err.h"
#include "schema/time.h"

/* From the best to the last resort. */
enum clocklink_way {
    CLOCKLINK_UDP,
    CLOCKLINK_TCP,
    CLOCKLINK_ZMQ, /* a socket of its own, in a context of its own */
    CLOCKLINK_WAYS
};

struct clocklink;

/* NULL with err: this way cannot be gone. `to` is used here only. */
struct clocklink *clocklink_open(enum clocklink_way way,
                                 const struct clockreference_to *to,
                                 struct ck_err *err);
void clocklink_close(struct clocklink *link);
int clocklink_fd(const struct clocklink *link);

/* A time, and how wrong it may be. */
struct clocklink_time {
    ck_time_t at;
    ck_time_t error;
};

/* Send a probe; *sent is when it was handed to the kernel. 0, or -1 with errno
 * (ECONNREFUSED: no listener is there; EAGAIN: not now). */
int clocklink_send(struct clocklink *link,
                   uint64_t number,
                   const uint8_t bytes[CK_PROBE_BYTES],
                   struct clocklink_time *sent);
/* What came, and when. Its length, 0 = nothing, -1 with errno = this way is
 * gone. */
int clocklink_receive(struct clocklink *link,
                      uint8_t bytes[CK_PROBE_BYTES + 1],
                      struct clocklink_time *came);
/* When the kernel let a probe out: 1 with its number, 0 = no news. */
int clocklink_sent(struct clocklink *link,
                   uint64_t *number,
                   struct clocklink_time *sent);

/* Are both directions stamped by the kernel? Known after the first answer. */
bool clocklink_is_stamped(const struct clocklink *link);
/* "udp", "tcp", "zmq" */
const char *clocklink_name(enum clocklink_way way);

#endif
