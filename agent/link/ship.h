/* ship.h - the socket to an aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A ZeroMQ DEALER; the only place in the agent that knows ZeroMQ. Nothing
 * here waits. Connecting and reconnecting are ZeroMQ's own; a message is only
 * taken while there is a connection. One thread.
 */
#ifndef CK_AGENT_LINK_SHIP_H
#define CK_AGENT_LINK_SHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/batch/wire.h"
#include "schema/endpoint.h"
#include "schema/err.h"

struct ship;

/* Connect to one URL of the endpoint. NULL with err. */
struct ship *ship_create(const struct ck_endpoint *endpoint,
                         size_t url,
                         const uint8_t agent[16],
                         struct ck_err *err);
/* What has not left is dropped (it is in outbox or spool). */
void ship_destroy(struct ship *ship);

/* Send a copy. 0, or -1 with errno EAGAIN: not connected, or enough is under
 * way. */
int ship_frame(struct ship *ship, const void *frame, size_t bytes);
int ship_control(struct ship *ship,
                 enum ck_control_type type,
                 const char *text);

/* 1 and *control (borrowed until the next call), 0 nothing there. Bytes that
 * are no control message are dropped. */
int ship_receive(struct ship *ship, struct ck_control *control);

/* One side has keys and the other has none. True once, and then the other side
 * knows, too; to be asked in each turn until an answer comes. Waits where a
 * handshake failed (mechanism.h), at most three times. */
bool ship_is_mismatched(struct ship *ship);

/* Readable when ship_receive() may have something; edge-triggered. */
int ship_fd(const struct ship *ship);

#endif
