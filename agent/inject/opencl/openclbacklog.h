/* openclbacklog.h - commands of an in-order queue that are not recorded yet
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Such commands end in the order in which they were enqueued, so that one
 * callback does for many: it looks at the oldest, records those that are
 * complete, and has the driver call again for one of the rest. A callback costs
 * a driver an allocation, a lock and the wake-up of a thread, and a short
 * kernel costs little more than that.
 *
 * How far on the next callback is: as many commands as end in BACKLOG_LATE by
 * the pace of the last ones, and BACKLOG_AHEAD at most; so records are late by
 * about that time, and of commands that turn slow by that many.
 *
 * Where threads share a queue their commands may be in another order here
 * than in the driver. Then the first one that is not complete holds up others
 * for a while; none is lost by it.
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLBACKLOG_H
#define CK_AGENT_INJECT_OPENCL_OPENCLBACKLOG_H

#include "agent/inject/opencl/openclpending.h"

#define BACKLOG_AHEAD 64
#define BACKLOG_LATE 200000 /* ns */

/* All zero: empty. One of the process at a time holds it, who looks at it or
 * has a callback out that will. */
struct backlog {
    _Atomic uint32_t holder; /* the process image's incarnation; 0 = none */
    _Atomic(struct pending *) newest; /* since the last look, newest first */
    /* The holder's: */
    struct pending *first;
    struct pending *last;
    ck_time_t looked; /* RAW ns */
    uint32_t ahead;
};

/* Have the end of a watched command recorded. Any thread. */
void backlog_add(struct backlog *backlog, struct pending *pending);

#endif
