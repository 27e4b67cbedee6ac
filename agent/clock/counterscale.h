/* counterscale.h - how fast the processor's counter goes, for programs
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the ring's clock is RAW, its programs may have RAW from the counter
 * between two readings (schema/ring/ringclock.h). This finds how long a tick
 * is, in the first tenth of a second, and puts it into the ring's header: if
 * the counter is read clearly faster than RAW, has a resolution of 1 ns, and
 * went as fast in either half of that time. Then it is found out whether it is
 * the same on all CPUs. It is looked at once a second from then on, and
 * withdrawn for good where the counter changes its rate. Used by the
 * collector's thread only.
 */
#ifndef CK_AGENT_CLOCK_COUNTERSCALE_H
#define CK_AGENT_CLOCK_COUNTERSCALE_H

#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/clock/clocksync.h"
#include "agent/clock/counterspread.h"
#include "schema/ring/ring.h"
#include "schema/time.h"

/* Between the first pairs, and later. */
#define COUNTERSCALE_HALF (50 * CK_TIME_MS)
#define COUNTERSCALE_PERIOD CK_TIME_S
/* Rates may differ by that, beyond what the pairs leave open. */
#define COUNTERSCALE_PPM 5
#define COUNTERSCALE_PPM_LATER 20

struct counterscale {
    struct ck_ring_header *header; /* borrowed */
    struct clocksync_pair first;
    struct clocksync_pair last;
    double ns_per_tick; /* between these; 0 = not yet */
    uint64_t published; /* the header's, which the program may overwrite */
    ck_time_t next_at;  /* RAW; INT64_MAX = never */
    cpu_set_t cpus;     /* the target's, at its start */
    struct counterspread *spread; /* NULL = not begun, or it is known */
};

/* `target` > 0: it is to have that. Else, and where the ring's clock is another
 * one, nothing is ever done. */
void counterscale_init(struct counterscale *scale,
                       struct ck_ring_header *header,
                       pid_t target);
void counterscale_fini(struct counterscale *scale);
/* Look, if it is time. */
void counterscale_step(struct counterscale *scale, ck_time_t now);
/* What is decided by another pair. */
void counterscale_learn(struct counterscale *scale,
                        const struct clocksync_pair *pair);

#endif
