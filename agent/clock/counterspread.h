/* counterspread.h - is the processor's counter the same on all CPUs?
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread of its own goes to each CPU that the target may run on, or to 64 of
 * them, and reads the counter and RAW there: both are to be on one line. It may
 * wait there for a CPU that is busy, which the collector must not. Used by the
 * collector's thread only.
 */
#ifndef CK_AGENT_CLOCK_COUNTERSPREAD_H
#define CK_AGENT_CLOCK_COUNTERSPREAD_H

#include <sched.h>
#include <stdbool.h>

#include "agent/clock/clocksync.h"

enum counterspread_verdict {
    COUNTERSPREAD_LOOKING,
    COUNTERSPREAD_SAME,
    COUNTERSPREAD_DIFFERENT, /* or it cannot be found out */
};

struct counterspread;

/* On these CPUs; `ns_per_tick` is known to a part in a million. NULL: no
 * memory, no thread. */
struct counterspread *counterspread_create(const cpu_set_t *cpus,
                                           double ns_per_tick);
enum counterspread_verdict
counterspread_verdict(const struct counterspread *spread);
/* The thread may look on for a while: it is not waited for. */
void counterspread_destroy(struct counterspread *spread);

/* Are both pairs on one line, but for what they leave open? */
bool counterspread_fits(const struct clocksync_pair *pair,
                        const struct clocksync_pair *other,
                        double ns_per_tick);

#endif
