/* sendpolicy.h - when a collector exchanges messages with its aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each look at the socket costs as much as a whole idle turn. A frame that is
 * handed over wakes three threads of ZeroMQ's and the aggregator; on a machine
 * whose cores are all busy each of them stops the program. What waits is as
 * safe in the outbox as with ZeroMQ: so frames go in lots. What comes, twice a
 * second an acknowledgement, wakes the collector: it may be a question of where
 * all threads are. One user, one thread.
 */
#ifndef CK_AGENT_COLLECTOR_SENDPOLICY_H
#define CK_AGENT_COLLECTOR_SENDPOLICY_H

#include <stdbool.h>

#include "agent/collector/pace.h"
#include "agent/link/session.h"
#include "agent/ring/outbox.h"
#include "schema/time.h"

/* While a session begins, and while it sends; a beat goes with each second
 * time. */
#define SENDPOLICY_PAUSE (20 * CK_TIME_MS)
#define SENDPOLICY_PAUSE_SENDING (4 * PACE_MAX)
#define SENDPOLICY_BEAT (2 * SENDPOLICY_PAUSE_SENDING)
/* So much is sent at once, or an eighth of the outbox where that is less. */
#define SENDPOLICY_BYTES ((uint64_t)1 << 20)

struct sendpolicy {
    ck_time_t at;  /* the next at the latest */
    bool has_mail; /* the socket's descriptor is readable */
};

/* What is going on. */
struct sendpolicy_look {
    enum session_state state;
    struct outbox *outbox;
    bool is_urgent; /* the end, or what may become it, a spool holds frames, or
                       an answer is due */
};

/* Is there anything to send or receive? If so, it is taken to be done now. */
bool sendpolicy_is_due(struct sendpolicy *sendpolicy,
                       const struct sendpolicy_look *look,
                       ck_time_t now);

#endif
