/* sampler.h - where a target's threads are, and when they have no CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * perf_event on all threads and children of the target, a ring of the kernel
 * a CPU: a sample of the user's stack each 1/hz s of CPU time, and every
 * switch of the scheduler. No signal reaches the target. The front creates
 * it; the collector's thread maps and drains it. Where the kernel permits it
 * and the CPUs are the target's own, they are looked at in its place, which
 * costs its switches less; only what is the target's is kept.
 */
#ifndef CK_AGENT_PERF_SAMPLER_H
#define CK_AGENT_PERF_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/perf/sampleframes.h"
#include "agent/perf/samplelimits.h"
#include "agent/stream/selfstream.h"
#include "schema/err.h"
#include "schema/ring/ring.h"

#define SAMPLER_HZ 99
#define SAMPLER_HZ_MAX 10000
struct sampler;
struct symbols;

/* Are the frames of threads that run Python read? */
enum sampler_python {
    SAMPLER_PYTHON_OFF,
    SAMPLER_PYTHON_ON,
    SAMPLER_PYTHON_PROMPT, /* the target is an interpreter: with each sample */
};

struct sampler_wish {
    int64_t hz;
    int sharers; /* agents of this host, who share the memory that the kernel
                    gives a user for it; 0 = not known */
    enum sampler_python python;
    uint32_t stack_bytes; /* of a stack, to unwind it; 0 = frame pointers */
    ck_time_t off_cpu;    /* waits that long have a stack, too; 0 = none */
};

/* Open the events on a child that is still held before its exec. NULL with
 * why_not: no rights, no perf_event, no memory. */
struct sampler *sampler_create(pid_t held_child,
                               const struct sampler_wish *wish,
                               struct ck_err *why_not);
void sampler_destroy(struct sampler *sampler);

/* Map the kernel's rings: what it records before is gone. In the process that
 * takes the steps; the first of these does it otherwise. */
void sampler_begin(struct sampler *sampler);

/* Record what came since the last step: SAMPLE, STACK, PREEMPTED and BLOCKED
 * records. `header` has the process images by pid; `symbols` (may be NULL)
 * notes the addresses. All borrowed. Without a sampler nothing is done. */
void sampler_step(struct sampler *sampler,
                  struct selfstream *selfstream,
                  struct ck_ring_header *header,
                  struct symbols *symbols);
/* The stack (its number) of the thread's newest sample, and when that was; 0 =
 * none is known. NULL: none. */
uint32_t
sampler_last(const struct sampler *sampler, uint32_t tid, ck_time_t *at);
/* What unwinds samples: it knows what code sampled processes have mapped up to
 * the last step. Borrowed. NULL: NULL. */
struct unwind *sampler_unwind(struct sampler *sampler);
/* Another number once a process has mapped code, or become another one, since
 * the last step; 0 = that is not known (`sampler` is NULL). */
uint64_t sampler_changes(const struct sampler *sampler);
/* Threads that came back on another CPU than they had left, so far. NULL: 0. */
uint64_t sampler_migrations(const struct sampler *sampler);
/* Are CPUs looked at in place of the target? */
bool sampler_is_wide(const struct sampler *sampler);
/* Records so far, and how many the kernel had no room for. Those of samples
 * count mappings of code, forks and execs too; where CPUs are looked at, those
 * of other programs as well. Without a sampler all are 0. */
struct sampler_tally {
    uint64_t samples;
    uint64_t samples_lost;
    uint64_t switches;
    uint64_t switches_lost;
    uint64_t faults; /* sampled ones */
    uint64_t faults_lost;
    uint64_t waits;       /* that are long enough for a stack, */
    uint64_t wait_stacks; /* and that have one */
};
struct sampler_tally sampler_tally(const struct sampler *sampler);
/* The stacks of samples, and how many bytes of each were copied; all are 0
 * without a sampler. */
struct sampler_stacks {
    struct sampleframes_tally tally;
    uint32_t bytes;
};
struct sampler_stacks sampler_stacks(const struct sampler *sampler);
/* A step should follow within that time of the last, as the frames of threads
 * that run Python are read when their samples are taken. 0 = no haste, or the
 * kernel reports it. */
ck_time_t sampler_haste(const struct sampler *sampler, ck_time_t now);
/* Readable when a part of a ring is full, from the first step on; -1 = there is
 * none. */
int sampler_filled_fd(const struct sampler *sampler);
/* Is there so much that who is awake makes a step? It is woken by the
 * descriptor for more. */
bool sampler_is_filling(const struct sampler *sampler);

/* Was the process entered in the ring's table here, as one of those that are
 * sampled? */
bool sampler_has_enrolled(const struct sampler *sampler, uint32_t pid);

/* When a process that is over ended, by the kernel's records that were read up
 * to the last step; 0 = not known. It was seen to live at `alive`, last
 * (exits.h). NULL: 0. */
ck_time_t
sampler_ended(const struct sampler *sampler, uint32_t pid, ck_time_t alive);
/* Why the stacks of threads that die are not known; NULL = they are. */
const char *sampler_deaths_why(const struct sampler *sampler);
/* The note on what was lost or left out, if anything was. */
void sampler_notes(struct sampler *sampler, struct selfstream *selfstream);

#endif
