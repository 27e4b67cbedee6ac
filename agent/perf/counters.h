/* counters.h - CPU time, switches, faults and hardware counters of a target
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Totals of the whole process tree by perf_event (tid 0), of each thread by
 * /proc. Used by the collector's thread only. Names are NAME records of the
 * collector's stream (incarnation 0) with ids from 1; nothing else has names
 * there.
 */
#ifndef CK_AGENT_PERF_COUNTERS_H
#define CK_AGENT_PERF_COUNTERS_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/process/frontpipe.h"
#include "agent/stream/selfstream.h"
#include "schema/err.h"

struct counters;
struct cpuload;
struct sampler;

/* Count from the exec of a child that is still held before it. Counters that
 * cannot be had are left out, with a note at the first reading. NULL
 * with why_not: no memory.
 */
struct counters *counters_create(pid_t held_child, struct ck_err *why_not);
void counters_destroy(struct counters *counters);

/* Record all values that changed, in `selfstream` (borrowed). `sampler`
 * (NULL: there is none) counts what is counted in switches. To be called about
 * each second and once more after the target's end, before it is waited for if
 * possible. 0, or -1 with errno ENOSPC: some found no room.
 */
int counters_read(struct counters *counters,
                  struct selfstream *selfstream,
                  const struct sampler *sampler);
/* What wait4() returned of the target, for the last reading. Copied. */
void counters_end(struct counters *counters, const struct frontpipe_end *end);

/* The CPUs that the target may use and who else used them, NULL = not looked
 * at. Borrowed. */
const struct cpuload *counters_load(const struct counters *counters);
/* Threads that found no room in the table and were not counted apart. */
uint64_t counters_left_out(const struct counters *counters);

#endif
