/* switches.h - switches of the scheduler as times off the CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PERF_SWITCHES_H
#define CK_AGENT_PERF_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/stream/selfstream.h"
#include "schema/time.h"

/* One switch; those of a thread on different CPUs may come in any order
 * within a step. */
struct switch_seen {
    ck_time_t time; /* RAW */
    uint32_t tid;
    uint32_t incarnation;
    uint32_t cpu;
    bool is_out;
    bool is_preempted; /* out, though it could have run on */
};

struct switches;
/* NULL with ENOMEM. */
struct switches *switches_create(void);
void switches_destroy(struct switches *switches);

/* Take a switch in; records intervals when there is no more room. */
void switches_add(struct switches *switches,
                  struct selfstream *selfstream,
                  const struct switch_seen *seen);
/* Threads that were switched in on another CPU than out, so far. */
uint64_t switches_migrations(const struct switches *switches);
/* Put what was added in order and record the intervals that ended. */
void switches_settle(struct switches *switches, struct selfstream *selfstream);

#endif
