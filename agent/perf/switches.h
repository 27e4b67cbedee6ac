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

/* Waits of at least that long are to have a stack: they are recorded by
 * switches_put(), not when they end. 0 = none. */
void switches_stacks(struct switches *switches, ck_time_t least);

/* Take a switch in; records intervals when there is no more room. */
void switches_add(struct switches *switches,
                  struct selfstream *selfstream,
                  const struct switch_seen *seen);
/* Threads that were switched in on another CPU than out, so far. */
uint64_t switches_migrations(const struct switches *switches);
/* Put what was added in order and record the intervals that ended. */
void switches_settle(struct switches *switches, struct selfstream *selfstream);

/* Where a thread waited, seen as it left the CPU. */
struct switch_stack {
    uint32_t tid;
    ck_time_t time; /* RAW; shortly before the switch */
    uint64_t ip;
    uint32_t stack; /* its number */
};
/* Does a wait that is worth a stack begin there? One that goes on is, too:
 * *goes_on. Asked between switches_settle() and switches_put(). */
bool switches_is_wanted(const struct switches *switches,
                        uint32_t tid,
                        ck_time_t time,
                        bool *goes_on);
/* That is its stack. */
void switches_stack(struct switches *switches, const struct switch_stack *seen);
/* Record the waits that ended: BLOCKED, and OFF_CPU where the stack is known.
 */
void switches_put(struct switches *switches, struct selfstream *selfstream);
/* Waits that are worth a stack, and those that have one. */
struct switches_tally {
    uint64_t waits;
    uint64_t stacks;
};
struct switches_tally switches_tally(const struct switches *switches);

#endif
