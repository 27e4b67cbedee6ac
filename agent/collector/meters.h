/* meters.h - what a collector reads by itself: clocks, counters, samples
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Between two of its parts the slots get their turn: threads, processes and
 * maps may be many. One user, the collector's thread.
 */
#ifndef CK_AGENT_COLLECTOR_METERS_H
#define CK_AGENT_COLLECTOR_METERS_H

#include "agent/clock/clocksync.h"
#include "agent/collector/drain.h"
#include "agent/collector/life.h"
#include "agent/collector/processes.h"
#include "agent/collector/wish.h"
#include "agent/stream/own.h"

struct symbols;

struct meters {
    const struct collector_wish *wish; /* all borrowed */
    struct own *own;
    struct symbols *symbols;
    struct clocksync *sync;
    struct processes *processes;
    struct drain *drain;
    const struct life *life;
};

/* Facts that are taken at the start, each second, and at the end. */
void meters_facts(const struct meters *meters);
/* Samples and switches since the last time. */
void meters_samples(const struct meters *meters);

#endif
