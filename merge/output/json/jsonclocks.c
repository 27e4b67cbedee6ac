/* jsonclocks.c - the clocks part of the JSON report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonclocks.h"

#include "merge/clocks/clockwatch.h"
#include "merge/output/json/jsonparts.h"
#include "schema/clock/clocksource.h"
#include "schema/clock/clocktrend.h"

/* Of more pairs only the worst is listed. */
#define PAIRS_MAX 120
/* Of more clocks it is not listed how their bounds go. */
#define CLOCKS_MAX 64

static void put_host(struct ck_json *j,
                     const char *name,
                     const struct report *report,
                     uint32_t domain)
{
    if (domain < report->domains_count && report->domains[domain].host) {
        ck_json_string(j, name, report->domains[domain].host);
    } else {
        ck_json_null(j, name);
    }
}

void json_domains(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "clock_domains");
    for (uint32_t i = 0; i < report->domains_count; i++) {
        const struct report_domain *domain = &report->domains[i];

        ck_json_object(j, NULL);
        put_host(j, "host", report, i);
        ck_json_uint(j, "ranks", domain->ranks);
        ck_json_bool(j, "calibrated", domain->is_calibrated);
        ck_json_bool(j, "placed", domain->has_place);
        ck_json_bool(j, "lacks_pairs", domain->lacks_pairs);
        ck_json_uint(j, "pairs", domain->pairs);
        ck_json_int(j, "bound_ns", domain->bound);
        ck_json_uint(j, "machines", domain->machines);
        ck_json_uint(j, "machines_assumed",
                     domain->machines > 1 ? domain->believed : 0);
        ck_json_uint(j, "checked_by_probes", domain->checked);
        ck_json_bool(j, "clone", domain->is_clone);
        ck_json_end(j);
    }
    ck_json_end(j);
}

/* From and to of a domain's own clock, and where it has a place on the axis,
 * there. */
static void put_times(struct ck_json *j,
                      const ck_time_t own[2],
                      const struct region *part,
                      const struct report *report)
{
    ck_json_int(j, "from_ns", own[0]);
    ck_json_int(j, "to_ns", own[1]);
    if (part != NULL) {
        json_time(j, "from", part->start, report);
        json_time(j, "to", part->end, report);
    }
}

static void put_faults(struct ck_json *j,
                       const struct report_domain *domain,
                       const struct report *report)
{
    ck_json_array(j, "faults");
    for (size_t i = 0; i < domain->faults_count; i++) {
        const struct ck_clock_fault *fault = domain->faults[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "kind", report_fault_name(fault->kind));
        put_times(j, (const ck_time_t[2]){fault->from, fault->to},
                  domain->has_place ? &domain->faults_at[i] : NULL, report);
        ck_json_int(j, "step_ns", fault->step);
        ck_json_int(j, "bound_ns", fault->bound);
        ck_json_int(j, "rate_ppb", fault->rate_ppb);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_watched(struct ck_json *j,
                        const struct report_domain *domain,
                        const struct report *report)
{
    ck_json_array(j, "host_events");
    for (size_t i = 0; i < domain->watched_count; i++) {
        const struct clockwatch_event *event = &domain->watched[i];
        char name[9];

        ck_json_object(j, NULL);
        ck_json_string(j, "kind", clockwatch_name(event->kind));
        put_times(j, (const ck_time_t[2]){event->from, event->to},
                  domain->has_place ? &domain->watched_at[i] : NULL, report);
        ck_json_int(j, "ns", event->step);
        ck_json_int(j, "rate_ppb", event->rate_ppb);
        if (event->kind == CLOCKWATCH_SOURCE) {
            ck_json_string(j, "clocksource",
                           ck_clocksource_name(event->source, name));
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}

/* How the bound goes over the region, where clocks are few. */
static void put_bounds(struct ck_json *j,
                       const struct report *report,
                       const struct report_domain *domain)
{
    if (report->domains_count < 2 || report->domains_count > CLOCKS_MAX) {
        return;
    }
    ck_json_array(j, "bound_parts_ns");
    for (size_t i = 0; i < REPORT_BOUNDS; i++) {
        if (domain->bounds[i] < 0) {
            ck_json_null(j, NULL);
        } else {
            ck_json_int(j, NULL, domain->bounds[i]);
        }
    }
    ck_json_end(j);
}

static void
put_clock(struct ck_json *j, const struct report *report, uint32_t number)
{
    const struct report_domain *domain = &report->domains[number];
    char grade[2] = {domain->grade, '\0'};

    ck_json_object(j, NULL);
    put_host(j, "host", report, number);
    ck_json_uint(j, "ranks", domain->ranks);
    ck_json_string(j, "method", domain->method);
    if (domain->why != NULL) {
        ck_json_string(j, "why", domain->why);
    }
    if (domain->is_calibrated) {
        ck_json_string(j, "grade", grade);
        ck_json_int(j, "offset_ns", domain->offset);
        ck_json_int(j, "drift_ppb", domain->drift_ppb);
        ck_json_int(j, "bound_median_ns", domain->bound_median);
        ck_json_int(j, "bound_max_ns", domain->bound_max);
        put_bounds(j, report, domain);
    }
    if (domain->is_bounded) {
        ck_json_int(j, "wander_ppb", domain->wander_ppb);
        ck_json_int(j, "wander_hidden_ppb", domain->hidden_ppb);
        ck_json_uint(j, "messages",
                     domain->used[CLOCK_SOURCE_MESSAGE] +
                         domain->used[CLOCK_SOURCE_COLLECTIVE]);
        ck_json_uint(j, "messages_refuted", domain->refuted);
        ck_json_uint(j, "kernels", domain->used[CLOCK_SOURCE_KERNEL]);
        ck_json_uint(j, "device_facts", domain->used[CLOCK_SOURCE_DEVICE]);
    }
    if (domain->is_probed && domain->way != NULL) {
        ck_json_string(j, "way", domain->way);
        ck_json_bool(j, "kernel_stamps", domain->has_stamps);
    }
    if (domain->is_probed) {
        ck_json_int(j, "rtt_min_ns", domain->rtt_min);
        ck_json_uint(j, "probes", domain->probes);
        ck_json_uint(j, "lost", domain->lost);
        ck_json_uint(j, "dropped", domain->dropped);
    }
    put_faults(j, domain, report);
    put_watched(j, domain, report);
    ck_json_end(j);
}

static void put_edge(struct ck_json *j,
                     const struct report *report,
                     const struct clock_edge *edge)
{
    ck_json_object(j, NULL);
    ck_json_string(j, "fact", report_source_name(edge->source));
    put_host(j, "from", report, edge->from);
    put_host(j, "to", report, edge->to);
    ck_json_int(j, "sent_ns", edge->sent);
    ck_json_int(j, "received_ns", edge->received);
    ck_json_end(j);
}

/* Facts that contradicted each other: the cycle, what was left out first. */
static void put_conflicts(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "clock_conflicts");
    for (size_t i = 0; i < report->conflicts_count; i++) {
        const struct clocksolve_fault *fault = report->conflicts[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "kind", report_fault_name(fault->kind));
        ck_json_int(j, "excess_ns", fault->excess);
        put_host(j, "host", report, fault->domain);
        ck_json_int(j, "rate_ppb", fault->rate_ppb);
        ck_json_uint(j, "cycle", fault->cycle);
        ck_json_array(j, "facts");
        for (size_t k = 0; k < fault->edges_count; k++) {
            put_edge(j, report, &fault->edges[k]);
        }
        ck_json_end(j);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_causality(struct ck_json *j, const struct report *report)
{
    const struct report_causality *causality = &report->causality;

    ck_json_object(j, "causality");
    ck_json_uint(j, "messages", causality->messages);
    ck_json_uint(j, "messages_before", causality->messages_before);
    ck_json_uint(j, "messages_after", causality->messages_after);
    ck_json_uint(j, "collectives", causality->collectives);
    ck_json_uint(j, "collectives_before", causality->collectives_before);
    ck_json_uint(j, "collectives_after", causality->collectives_after);
    ck_json_uint(j, "unmatched", causality->unmatched);
    ck_json_uint(j, "kernels", causality->kernels);
    ck_json_uint(j, "kernels_before", causality->kernels_before);
    ck_json_uint(j, "kernels_after", causality->kernels_after);
    ck_json_end(j);
}

/* What is known of two clocks against each other: the worst, and all if they
 * are few. */
static void put_pairs(struct ck_json *j, const struct report *report)
{
    const struct report_clock_pair *worst = &report->clock_worst;
    size_t count = report->clock_pairs_count;

    ck_json_object(j, "clock_worst_pair");
    if (worst->a != worst->b) {
        put_host(j, "a", report, worst->a);
        ck_json_int(j, "a_rank", report->domains[worst->a].rank);
        put_host(j, "b", report, worst->b);
        ck_json_int(j, "b_rank", report->domains[worst->b].rank);
        ck_json_int(j, "bound_median_ns", worst->bound_median);
        ck_json_int(j, "bound_max_ns", worst->bound_max);
        ck_json_bool(j, "sum", worst->is_sum);
    }
    ck_json_end(j);
    ck_json_array(j, "clock_pairs");
    for (size_t i = 0; count <= PAIRS_MAX && i < count; i++) {
        const struct report_clock_pair *pair = &report->clock_pairs[i];

        ck_json_object(j, NULL);
        ck_json_uint(j, "a", pair->a);
        ck_json_uint(j, "b", pair->b);
        ck_json_int(j, "bound_median_ns", pair->bound_median);
        ck_json_int(j, "bound_max_ns", pair->bound_max);
        ck_json_bool(j, "sum", pair->is_sum);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_devices(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "device_clocks");
    for (size_t i = 0; i < report->device_clocks_count; i++) {
        const struct report_device_clock *clock = &report->device_clocks[i];

        ck_json_object(j, NULL);
        ck_json_int(j, "rank", clock->rank);
        ck_json_uint(j, "device", clock->device);
        ck_json_uint(j, "launches", clock->launches);
        ck_json_uint(j, "launches_refuted", clock->launches_refuted);
        ck_json_uint(j, "syncs", clock->syncs);
        ck_json_uint(j, "syncs_refuted", clock->syncs_refuted);
        ck_json_uint(j, "suspects", clock->suspects);
        ck_json_int(j, "refuted_by_ns", clock->worst);
        ck_json_bool(j, "own_clock", clock->is_placed);
        if (clock->is_placed) {
            ck_json_int(j, "offset_ns", clock->offset);
        }
        if (clock->is_placed && clock->bound != CK_CLOCK_NONE) {
            ck_json_int(j, "bound_ns", clock->bound);
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}

/* What came to ckagg's clock. */
static void put_probes(struct ck_json *j, const struct report_probes *probes)
{
    if (!probes->is_said) {
        ck_json_null(j, "clock_probes");
        return;
    }
    ck_json_object(j, "clock_probes");
    ck_json_uint(j, "answered", probes->answered);
    ck_json_uint(j, "malformed", probes->malformed);
    ck_json_uint(j, "foreign", probes->foreign);
    ck_json_uint(j, "untagged", probes->untagged);
    ck_json_uint(j, "replayed", probes->replayed);
    ck_json_end(j);
}

void json_clocks(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "clocks");
    for (uint32_t i = 0; i < report->domains_count; i++) {
        put_clock(j, report, i);
    }
    ck_json_end(j);
    put_probes(j, &report->probes);
    put_pairs(j, report);
    put_devices(j, report);
    put_conflicts(j, report);
    put_causality(j, report);
}
