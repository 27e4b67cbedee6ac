/* talk.h - when a collector speaks with its aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each look at the socket costs as much as a whole idle turn, and a frame that
 * is handed over wakes three threads of ZeroMQ's and the aggregator, which on
 * a machine whose cores are all busy stop the program each. What waits is as
 * safe in the outbox as with ZeroMQ: so it goes in lots, and nothing but a need
 * of room lets an acknowledgement wake the collector. One user, one thread.
 */
#ifndef CK_AGENT_COLLECTOR_TALK_H
#define CK_AGENT_COLLECTOR_TALK_H

#include <stdbool.h>

#include "agent/collector/pace.h"
#include "agent/link/session.h"
#include "agent/ring/outbox.h"
#include "schema/time.h"

/* While a session begins, and while it sends; a beat goes with each second
 * time. */
#define TALK_PAUSE (20 * CK_TIME_MS)
#define TALK_PAUSE_SENDING (4 * PACE_MAX)
#define TALK_BEAT (2 * TALK_PAUSE_SENDING)
/* So much is sent at once, or an eighth of the outbox where that is less. */
#define TALK_BYTES ((uint64_t)1 << 20)

struct talk {
    ck_time_t at;  /* the next at the latest */
    bool has_mail; /* the socket's descriptor says so */
};

/* What is going on. */
struct talk_look {
    enum session_state state;
    struct outbox *outbox;
    bool
        is_urgent; /* the end, or what may become it, or a spool holds frames */
};

/* Is an answer worth to be woken for? */
bool talk_listens(const struct talk_look *look);
/* Is there anything to say or to hear? If so, it is taken to be done now. */
bool talk_is_due(struct talk *talk,
                 const struct talk_look *look,
                 ck_time_t now);

#endif
