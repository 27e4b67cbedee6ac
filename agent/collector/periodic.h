/* periodic.h - what a collector reads by itself: clocks, counters, samples
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Between two of its parts the slots get their turn: threads, processes and
 * maps may be many. One user, the collector's thread.
 */
#ifndef CK_AGENT_COLLECTOR_PERIODIC_H
#define CK_AGENT_COLLECTOR_PERIODIC_H

#include "agent/clock/clocksync.h"
#include "agent/collector/drain.h"
#include "agent/collector/targetstate.h"
#include "agent/collector/processes.h"
#include "agent/process/agentconfig.h"
#include "agent/stream/selfstream.h"

struct symbols;

struct periodic {
    const struct agent_config *config; /* all borrowed */
    struct selfstream *selfstream;
    struct symbols *symbols;
    struct clocksync *sync;
    struct processes *processes;
    struct drain *drain;
    const struct targetstate *targetstate;
};

/* Facts that are taken at the start, each second, and at the end. */
void periodic_facts(const struct periodic *periodic);
/* Samples and switches since the last time. */
void periodic_samples(const struct periodic *periodic);

#endif
