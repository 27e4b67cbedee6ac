/* aggregatortimeout.h - how long an aggregator may be silent
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure: times in, a judgement out.
 */
#ifndef CK_AGENT_LINK_AGGREGATORTIMEOUT_H
#define CK_AGENT_LINK_AGGREGATORTIMEOUT_H

#include <stdbool.h>

#include "schema/time.h"

/* The silence after which it is logged: of an aggregator that the user named,
 * of the job's own (it may still be starting), after its last message.
 */
#define AGGREGATORTIMEOUT_GIVEN (2 * CK_TIME_S)
#define AGGREGATORTIMEOUT_OWN (4 * CK_TIME_S)
#define AGGREGATORTIMEOUT_LATER (5 * CK_TIME_S)

/* How long the end waits. Before the first message it counts from the start, so
 * that an aggregator that had time enough to answer is not waited for. */
#define AGGREGATORTIMEOUT_FIRST_GIVEN (5 * CK_TIME_S)
#define AGGREGATORTIMEOUT_FIRST_OWN (8 * CK_TIME_S)
#define AGGREGATORTIMEOUT_LEAST (1 * CK_TIME_S)

/* A collector that did not listen for this long was stopped, or had no core. */
#define AGGREGATORTIMEOUT_AWAY (1 * CK_TIME_S)

struct aggregatortimeout {
    ck_time_t started;
    ck_time_t looked; /* when we listened last; 0 = not yet */
    bool is_given;    /* the user named the aggregator */
    bool is_on;       /* it was judged silent */
};

enum aggregatortimeout_change {
    AGGREGATORTIMEOUT_SAME,
    AGGREGATORTIMEOUT_FELL,   /* it is silent now */
    AGGREGATORTIMEOUT_BROKEN, /* it answers again */
};

/* We listen now. How long we did not, 0 = all the time: silence in that time
 * does not count. */
ck_time_t aggregatortimeout_away(struct aggregatortimeout *aggregatortimeout,
                                 ck_time_t now);

/* `heard`: its last message, 0 = none. */
enum aggregatortimeout_change
aggregatortimeout_look(struct aggregatortimeout *aggregatortimeout,
                       ck_time_t heard,
                       ck_time_t now);

/* When the end stops waiting; `leaving`: when the target had ended. */
ck_time_t
aggregatortimeout_until(const struct aggregatortimeout *aggregatortimeout,
                        ck_time_t heard,
                        ck_time_t leaving);

#endif
