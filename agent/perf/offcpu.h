/* offcpu.h - the stacks of threads as they leave the CPU to wait
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An event of the kernel for each CPU that writes a record, with registers and
 * a copy of the stack, as a thread leaves the CPU: the tracepoint
 * sched:sched_switch where tracefs may be read, of threads that wait only;
 * else each context switch. Where there are many, all of them are looked at in
 * a part of the time only (OFFCPU_HZ). The kernel's chain of frame pointers
 * comes along as long as it continues stacks that are deeper than the copy. The
 * waits themselves, with their exact
 * times, are records of their own (switches.h). Used by the collector's thread
 * only.
 */
#ifndef CK_AGENT_PERF_OFFCPU_H
#define CK_AGENT_PERF_OFFCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/perf/perfevent.h"
#include "schema/err.h"
#include "schema/time.h"

/* Waits of that length get a stack. */
#define OFFCPU_LEAST (CK_TIME_MS)
/* Switches a second and CPU that are looked at, about: more are not until the
 * next OFFCPU_WINDOW. */
#define OFFCPU_HZ 1000
#define OFFCPU_WINDOW (100 * CK_TIME_MS)

struct offcpu;

struct offcpu_wish {
    bool is_wide; /* all of the CPUs, not only the target */
    int sharers;  /* agents on this host */
    uint32_t stack_bytes;
    bool may_lock; /* as much memory as it likes */
};

/* Look at the CPUs of the process and, unless it is wide, at it and its
 * children. NULL with why_not. */
struct offcpu *offcpu_create(pid_t held_child,
                             const struct offcpu_wish *wish,
                             struct ck_err *why_not);
void offcpu_destroy(struct offcpu *offcpu);

/* Map the rings; an epoll descriptor (-1 = none) reports when a part of one is
 * full. NULL: nothing, as below. */
void offcpu_map(struct offcpu *offcpu, int filled_fd);
/* Is there so much in a ring that a collector that is awake takes it? NULL: no.
 */
bool offcpu_is_filling(const struct offcpu *offcpu);
/* Remember what there is now: switches that are read after that belong to it.
 */
void offcpu_mark(struct offcpu *offcpu);
/* Call `take` for each record up to the mark; borrowed during the call. */
typedef void (*offcpu_take_f)(void *state, const struct perfevent_sample *seen);
void offcpu_step(struct offcpu *offcpu, offcpu_take_f take, void *state);
/* Look at no more switches for a while if there were many, and begin again. */
void offcpu_pace(struct offcpu *offcpu, ck_time_t now);

/* A sample's stack was deeper than its copy, and the chain of frame pointers
 * that came with it went on from there. NULL: nothing. */
void offcpu_depth(struct offcpu *offcpu, bool is_cut, bool is_continued);

/* Records for which there was no room. NULL: 0. */
uint64_t offcpu_lost(const struct offcpu *offcpu);
/* The CPUs that should be looked at, and those that are not: there was no
 * memory for their rings. NULL: none. */
struct offcpu_cpus {
    size_t count;
    size_t unmapped;
};
struct offcpu_cpus offcpu_cpus(const struct offcpu *offcpu);

#endif
