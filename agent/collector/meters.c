/* meters.c - what a collector reads by itself: clocks, counters, samples
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/meters.h"

#include "agent/perf/counters.h"
#include "agent/perf/sampler.h"

void meters_facts(const struct meters *meters)
{
    clocksync_record(meters->sync, meters->own);
    if (meters->wish->counters != NULL) {
        if (meters->life->is_end_known) {
            counters_end(meters->wish->counters, &meters->life->end);
        }
        (void)counters_read(meters->wish->counters, meters->own,
                            meters->wish->sampler);
        (void)drain_relieve(meters->drain);
    }
    processes_maps(meters->processes, ck_time_raw());
    (void)drain_relieve(meters->drain);
    drain_losses(meters->drain);
}

void meters_samples(const struct meters *meters)
{
    sampler_step(meters->wish->sampler, meters->own, meters->wish->ring->header,
                 meters->symbols);
    (void)drain_relieve(meters->drain);
}
