/* deaths.h - the stacks of a process' threads as a signal ends it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's tracepoint signal:signal_deliver writes a record, with registers
 * and a copy of the stack, for each thread that takes a signal without a
 * handler: first for the one that dies of it, then for the others, which are
 * killed. Nothing is changed in the program: its handlers, its core file and
 * its debugger are as without ck. It needs the right to read that tracepoint
 * (CAP_PERFMON, and tracefs to be readable). Used by the collector's thread
 * only.
 */
#ifndef CK_AGENT_PERF_DEATHS_H
#define CK_AGENT_PERF_DEATHS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/perf/sampleframes.h"
#include "schema/err.h"
#include "schema/time.h"

struct ck_lines;
struct deaths;

struct deaths_wish {
    bool is_wide; /* all of the CPUs, not only the target */
    int sharers;  /* agents on this host */
    uint32_t stack_bytes;
};

/* Look at the CPUs of the process and, unless it is wide, at it and its
 * children. NULL with why_not. */
struct deaths *deaths_create(pid_t held_child,
                             const struct deaths_wish *wish,
                             struct ck_err *why_not);
void deaths_destroy(struct deaths *deaths);

/* Map its rings, once, in the process that takes the steps. NULL: nothing. */
void deaths_map(struct deaths *deaths);

/* A thread at its end. */
struct death {
    uint32_t pid;
    uint32_t tid;
    int signal;
    bool is_first;    /* it is what the others die of */
    ck_time_t at;     /* RAW */
    uint64_t address; /* that it accessed */
    bool has_address; /* the kernel's log has it */
    const struct sampleframes_found *found;
};
/* Call `take` for each thread that has died of a signal since, but for those
 * killed from outside (SIGKILL), whose stacks are none of a fault; the death is
 * borrowed during the call. Of a process that is not one of ours no stack is
 * unwound, and nothing is kept. */
struct deaths_taker {
    bool (*is_own)(void *state, uint32_t pid);
    void (*take)(void *state, const struct death *death);
    void *state;
};
void deaths_step(struct deaths *deaths,
                 struct sampleframes *frames,
                 const struct deaths_taker *taker);
/* The death as lines of a STANDING record. */
void deaths_lines(const struct death *death, struct ck_lines *lines);

/* Records for which there was no room. */
uint64_t deaths_lost(const struct deaths *deaths);

#endif
