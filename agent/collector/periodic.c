/* periodic.c - what a collector reads by itself: clocks, counters, samples
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/periodic.h"

#include "agent/perf/counters.h"
#include "agent/perf/sampler.h"

void periodic_facts(const struct periodic *periodic)
{
    clocksync_record(periodic->sync, periodic->selfstream);
    if (periodic->config->counters != NULL) {
        if (periodic->targetstate->is_end_known) {
            counters_end(periodic->config->counters,
                         &periodic->targetstate->end);
        }
        (void)counters_read(periodic->config->counters, periodic->selfstream,
                            periodic->config->sampler);
        (void)drain_relieve(periodic->drain);
    }
    processes_maps(periodic->processes, ck_time_raw());
    (void)drain_relieve(periodic->drain);
    drain_losses(periodic->drain);
}

void periodic_samples(const struct periodic *periodic)
{
    sampler_step(periodic->config->sampler, periodic->selfstream,
                 periodic->config->ring->header, periodic->symbols);
    (void)drain_relieve(periodic->drain);
}
