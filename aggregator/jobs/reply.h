/* reply.h - what ckagg answers to a peer or a client
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used from the loop only. A reply that cannot be sent at once is dropped
 * (counted); acknowledgements stay due and go with the next ones.
 */
#ifndef CK_AGGREGATOR_JOBS_REPLY_H
#define CK_AGGREGATOR_JOBS_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/socket/agg.h"
#include "aggregator/jobs/peer.h"
#include "schema/batch/wire.h"
#include "schema/err.h"

/* Text of REFUSED that makes an agent send HELLO and its frames again. */
#define REPLY_HELLO_FIRST "hello first"
/* To a farewell: the manifest names the agent's spool. */
#define REPLY_NOTED "noted"
/* To a farewell: no other agent is there, the run's end is left to this one. */
#define REPLY_LAST "last"

struct reply;

/* agg is borrowed. NULL with ENOMEM. */
struct reply *reply_create(struct agg *agg);
void reply_destroy(struct reply *reply);

/* A message with a text. 0, or -1 when it could not be sent. */
int reply_text(struct reply *reply,
               const struct route *to,
               enum ck_control_type type,
               const char *text);
/* WELCOME: lines, and all positions of the peer. */
int reply_welcome(struct reply *reply,
                  const struct peer *peer,
                  const char *lines);
/* ACK with what is due to the peer; nothing when it has no connection. */
int reply_acks(struct reply *reply, struct peer *peer);

/* Replies that could not be sent. */
uint64_t reply_dropped(const struct reply *reply);

#endif
