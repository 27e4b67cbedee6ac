/* openmetrics.c - the report as metrics for a monitoring system
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/openmetrics/openmetrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "merge/model/memory.h"
#include "schema/metric.h"
#include "schema/order.h"

#define SECONDS(ns) ((double)(ns) / (double)CK_TIME_S)
#define NUMBER_BYTES 32

/* Upper bounds of the histogram's buckets, in seconds. */
static const double buckets[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,
                                 0.2,   0.5,   1,     2,    5,    10,   20,
                                 50,    100,   200,   500,  1000};
#define BUCKETS (sizeof(buckets) / sizeof(buckets[0]))

struct metrics {
    const struct report *report;
    FILE *out;
};

static void put(const struct metrics *metrics,
                const char *name,
                const char *label,
                const char *value,
                double number)
{
    const struct ck_metric_sample sample = {name, metrics->report->name, label,
                                            value, number};

    ck_metric_put(metrics->out, &sample);
}

/* A family of one sample. */
static void put_one(const struct metrics *metrics,
                    const char *name,
                    const char *help,
                    double number)
{
    ck_metric_family(metrics->out, name, "gauge", help);
    put(metrics, name, NULL, NULL, number);
}

/* Have all ranks that make steps ended it? */
static bool is_whole(const struct report *report,
                     const struct report_step *step)
{
    return step->ranks >= report->table.ranks ||
           step->ranks >= report_ranks(report);
}

struct lengths {
    uint64_t counts[BUCKETS + 1]; /* the last: longer than all bounds */
    uint64_t count;
    double sum;
    ck_time_t last; /* end of the latest, on the axis */
};

static struct lengths lengths_of(const struct report *report)
{
    struct lengths lengths = {.count = 0};

    for (size_t i = 0; i < report->table.count; i++) {
        const struct report_step *step = &report->table.items[i];
        double length = SECONDS(step->end - step->start);
        size_t at = 0;

        if (!is_whole(report, step)) {
            continue;
        }
        while (at < BUCKETS && length > buckets[at]) {
            at++;
        }
        lengths.counts[at]++;
        lengths.count++;
        lengths.sum += length;
        lengths.last = step->end > lengths.last ? step->end : lengths.last;
    }
    return lengths;
}

static void put_steps(const struct metrics *metrics)
{
    struct lengths lengths = lengths_of(metrics->report);
    uint64_t below = 0;

    if (lengths.count == 0) {
        return;
    }
    ck_metric_family(metrics->out, "ck_job_steps", "counter",
                     "Steps that all ranks have ended.");
    put(metrics, "ck_job_steps_total", NULL, NULL, (double)lengths.count);
    ck_metric_family(metrics->out, "ck_job_step_seconds", "histogram",
                     "From the first rank's begin of a step to the last "
                     "rank's end.");
    for (size_t i = 0; i < BUCKETS; i++) {
        char bound[NUMBER_BYTES];

        below += lengths.counts[i];
        (void)snprintf(bound, sizeof(bound), "%.1f", buckets[i]);
        if (buckets[i] < 0.1) {
            (void)snprintf(bound, sizeof(bound), "%g", buckets[i]);
        }
        put(metrics, "ck_job_step_seconds_bucket", "le", bound, (double)below);
    }
    put(metrics, "ck_job_step_seconds_bucket", "le", "+Inf",
        (double)lengths.count);
    put(metrics, "ck_job_step_seconds_count", NULL, NULL,
        (double)lengths.count);
    put(metrics, "ck_job_step_seconds_sum", NULL, NULL, lengths.sum);
    if (metrics->report->realtime != 0) {
        put_one(metrics, "ck_job_last_step_timestamp_seconds",
                "When the last of these steps ended, since 1970.",
                SECONDS(metrics->report->realtime + lengths.last));
    }
}

static void put_devices(const struct metrics *metrics)
{
    const struct report_device *all = &metrics->report->all;

    if (metrics->report->devices_count == 0) {
        return;
    }
    ck_metric_family(metrics->out, "ck_device_busy_seconds", "counter",
                     "Busy time of all devices, in the region.");
    put(metrics, "ck_device_busy_seconds_total", NULL, NULL,
        SECONDS(all->busy));
    ck_metric_family(metrics->out, "ck_device_idle_seconds", "counter",
                     "Idle time of all devices by cause, in the region.");
    for (unsigned cause = 0; cause < CAUSES; cause++) {
        put(metrics, "ck_device_idle_seconds_total", "cause",
            cause_name((enum cause)cause), SECONDS(all->causes[cause]));
    }
}

CK_ORDER_POINTERS(compare_caused,
                  struct report_rank,
                  CK_DOWN(caused) ?: CK_UP(number))

static void put_ranks(const struct metrics *metrics)
{
    const struct report *report = metrics->report;
    const struct report_rank **ranks =
        xcalloc(report->ranks_count + 1, sizeof(*ranks));
    size_t count = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].caused > 0) {
            ranks[count++] = &report->ranks[i];
        }
    }
    qsort(ranks, count, sizeof(*ranks), compare_caused);
    if (count > 0) {
        ck_metric_family(metrics->out, "ck_rank_caused_wait_seconds", "counter",
                         "Time that other ranks waited because of this one; "
                         "of the worst ranks.");
    }
    for (size_t i = 0; i < count && i < OPENMETRICS_RANKS; i++) {
        char number[NUMBER_BYTES];

        (void)snprintf(number, sizeof(number), "%d", (int)ranks[i]->number);
        put(metrics, "ck_rank_caused_wait_seconds_total", "rank", number,
            SECONDS(ranks[i]->caused));
    }
    free(ranks);
}

/* How long the ranks in a collective have been there, the longest. */
static ck_time_t age_of(const struct report *report,
                        const struct report_impasse *impasse)
{
    ck_time_t most = 0;

    for (size_t i = 0; i < impasse->waited; i++) {
        for (size_t k = 0; k < report->ranks_count; k++) {
            const struct report_rank *rank = &report->ranks[k];

            if (rank->number == impasse->ranks[i] && rank->open_ns > most) {
                most = rank->open_ns;
            }
        }
    }
    return most;
}

/* The collective with most ranks in it that they have not left. */
static void put_collective(const struct metrics *metrics)
{
    const struct report_impasse *impasse = metrics->report->impasses;

    if (metrics->report->impasses_count == 0) {
        return;
    }
    put_one(metrics, "ck_collective_open_age_seconds",
            "How long ranks have been in a collective that is not complete.",
            SECONDS(age_of(metrics->report, impasse)));
    put_one(metrics, "ck_collective_missing_ranks",
            "Ranks that have not entered that collective.",
            (double)impasse->absent);
}

static void put_all(const struct metrics *metrics)
{
    put_steps(metrics);
    put_devices(metrics);
    put_ranks(metrics);
    put_collective(metrics);
    ck_metric_family(metrics->out, "ck_lost_records", "counter",
                     "Records that are missing in the run, at least.");
    put(metrics, "ck_lost_records_total", NULL, NULL,
        (double)metrics->report->lost);
    (void)fputs("# EOF\n", metrics->out);
}

char *output_openmetrics(const struct report *report, size_t *length)
{
    char *text;
    struct metrics metrics = {report, xmemstream(&text, length)};

    put_all(&metrics);
    (void)fclose(metrics.out);
    return text;
}
