/* efficiency.c - what part of the time was useful, and where the rest went
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/totals/efficiency.h"

#include "merge/analysis/totals/outside.h"

static void hosts_report(const struct defs *defs,
                         const struct idealnetwork *idealnetwork,
                         struct report *report)
{
    struct report_efficiency *e = &report->efficiency;
    ck_time_t end = report->region.start;

    for (size_t i = 0; i < report->ranks_count; i++) {
        struct report_rank *row = &report->ranks[i];
        uint32_t index = defs_rank_index(defs, row->number);
        struct idealnetwork_rank rank;

        if (index == DEFS_NONE) {
            continue;
        }
        rank = idealnetwork_rank(idealnetwork, index);
        if (!rank.is_seen) {
            continue;
        }
        row->startup = rank.startup;
        row->useful = e->region - rank.startup - rank.mpi - row->mpi_by_others -
                      row->gone;
        row->useful = row->useful < 0 ? 0 : row->useful;
        e->gone += row->gone;
        outside_fit(&row->outside, row->useful);
        for (int s = 0; s < REPORT_OUTSIDE_STATES; s++) {
            e->outside.ns[s] += row->outside.ns[s];
        }
        e->startup += row->startup;
        e->ranks++;
        e->useful += row->useful;
        e->unknown += rank.unknown + row->mpi_by_others;
        e->device_api += row->device_api;
        e->useful_max =
            row->useful > e->useful_max ? row->useful : e->useful_max;
        end = rank.end > end ? rank.end : end;
    }
    e->ideal = end - report->region.start;
}

static void devices_sum(struct report *report)
{
    struct report_efficiency *e = &report->efficiency;

    for (size_t i = 0; i < report->devices_count; i++) {
        const struct report_device *device = &report->devices[i];

        e->devices++;
        e->compute += device->compute;
        e->compute_max =
            device->compute > e->compute_max ? device->compute : e->compute_max;
        e->active_max =
            device->busy > e->active_max ? device->busy : e->active_max;
    }
}

static double quotient(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

void efficiency_report(const struct defs *defs,
                       const struct idealnetwork *idealnetwork,
                       struct match_counts counts,
                       struct report *report)
{
    struct report_efficiency *e = &report->efficiency;
    double region, useful_max, compute_max, active_max;

    *e = (struct report_efficiency){.region = region_length(report->region)};
    hosts_report(defs, idealnetwork, report);
    devices_sum(report);
    e->sends = counts.sends;
    e->receives = counts.receives;
    e->matched = counts.matched;
    region = (double)e->region;
    useful_max = (double)e->useful_max;
    compute_max = (double)e->compute_max;
    active_max = (double)e->active_max;
    e->parallel = quotient((double)e->useful, e->ranks * region);
    e->load_balance = quotient((double)e->useful, e->ranks * useful_max);
    e->communication = quotient(useful_max, region);
    e->serialisation = quotient(useful_max, (double)e->ideal);
    e->transfer = quotient((double)e->ideal, region);
    e->offload = 1 - quotient((double)e->device_api, e->ranks * region);
    e->device_parallel = quotient((double)e->compute, e->devices * region);
    e->device_load_balance =
        quotient((double)e->compute, e->devices * compute_max);
    e->device_communication = quotient(compute_max, active_max);
    e->device_orchestration = quotient(active_max, region);
}
