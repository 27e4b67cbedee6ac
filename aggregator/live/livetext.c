/* livetext.c - texts about a running job that has no merge yet
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The name of a job is of letters, digits, '.', '-' and '_' (job_name_clean()),
 * and is the only text of a stranger in the pages here.
 */
#include "aggregator/live/livetext.h"

#include <inttypes.h>
#include <string.h>

#include "aggregator/jobs/status.h"
#include "schema/json.h"
#include "schema/metric.h"

#define HEAD                                                                   \
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"  \
    "<meta name=\"referrer\" content=\"no-referrer\">\n"
#define SECONDS(ns) ((double)(ns) / (double)CK_TIME_S)

char *livetext_state(const struct job *job,
                     const struct livemerge_facts *merge,
                     ck_time_t now)
{
    const struct job_facts *facts = job_facts(job);
    struct job_totals totals = job_totals(job);
    struct ck_json *j = ck_json_create(NULL, false);

    if (j == NULL) {
        return NULL;
    }
    ck_json_object(j, NULL);
    ck_json_string(j, "job", facts->name);
    ck_json_string(j, "state", job_state_name(facts->state));
    ck_json_uint(j, "ranks", totals.ranks);
    ck_json_uint(j, "active", totals.active);
    if (facts->size > 0) {
        ck_json_int(j, "size", facts->size);
    } else {
        ck_json_null(j, "size");
    }
    ck_json_uint(j, "records", totals.records);
    ck_json_uint(j, "lost", totals.lost);
    ck_json_uint(j, "merge", merge->number);
    ck_json_bool(j, "is_merging", merge->is_at_work);
    if (merge->number > 0) {
        ck_json_int(j, "age_ns", now - merge->data);
    } else {
        ck_json_null(j, "age_ns");
    }
    ck_json_int(j, "cpu_ns", merge->cpu);
    ck_json_int(j, "wall_ns", now - merge->since);
    ck_json_end(j);
    return ck_json_take(j);
}

/* "4 of 4 ranks, 1.2 M records". */
static void job_put(FILE *out, const struct job *job)
{
    const struct job_facts *facts = job_facts(job);
    struct job_totals totals = job_totals(job);
    char records[32];

    status_count((double)totals.records, records, sizeof(records));
    (void)fprintf(out, "%s: %s, %zu of %" PRId64 " ranks, %s records",
                  facts->name[0] == '\0' ? "job" : facts->name,
                  job_state_name(facts->state), totals.ranks,
                  facts->size > 0 ? facts->size : (int64_t)totals.ranks,
                  records);
}

void livetext_wait(FILE *out, const struct job *job)
{
    if (job_facts(job)->state == JOB_DONE) {
        (void)fputs(HEAD "<title>ck: ended</title>\n</head>\n<body>\n"
                         "<h1>The job has ended, and its run has no "
                         "page</h1>\n<p>",
                    out);
        job_put(out, job);
        (void)fputs(" stored.</p>\n</body>\n</html>\n", out);
        return;
    }
    (void)fputs(HEAD "<meta http-equiv=\"refresh\" content=\"2\">\n"
                     "<title>ck: waiting</title>\n</head>\n<body>\n"
                     "<h1>The first results follow in a few seconds</h1>\n<p>",
                out);
    job_put(out, job);
    (void)fputs(" stored so far.</p>\n<p>This page loads itself again every "
                "2 seconds.</p>\n</body>\n</html>\n",
                out);
}

void livetext_list_begin(FILE *out, size_t jobs)
{
    (void)fputs(HEAD "<meta http-equiv=\"refresh\" content=\"5\">\n"
                     "<title>ck: jobs</title>\n</head>\n<body>\n"
                     "<h1>Jobs</h1>\n",
                out);
    (void)fputs(jobs == 0 ? "<p>No job is running.</p>\n" : "", out);
    (void)fputs("<ul>\n", out);
}

void livetext_list_job(FILE *out, const struct job *job)
{
    (void)fprintf(out, "<li><a href=\"%" PRIu32 "/\">", job_facts(job)->number);
    job_put(out, job);
    (void)fputs("</a></li>\n", out);
}

void livetext_list_end(FILE *out)
{
    (void)fputs("</ul>\n</body>\n</html>\n", out);
}

struct known {
    const char *family;
    const char *type;
    const char *sample;
    const char *help;
    double number;
    bool is_known;
};

/* The name that ckmerge has for the run, too. */
static const char *run_name(const struct job_facts *facts)
{
    const char *slash = strrchr(facts->dir, '/');

    return slash == NULL ? facts->dir : slash + 1;
}

void livetext_metrics(FILE *out,
                      const struct job *job,
                      const struct livemerge_facts *merge,
                      ck_time_t now)
{
    const struct job_facts *facts = job_facts(job);
    struct job_totals totals = job_totals(job);
    bool has_merge = merge != NULL && merge->number > 0;
    const struct known all[] = {
        {"ck_job_ranks", "gauge", "ck_job_ranks", "Ranks that sent records.",
         (double)totals.ranks, true},
        {"ck_job_ranks_active", "gauge", "ck_job_ranks_active",
         "Ranks that are still recorded.", (double)totals.active, true},
        {"ck_job_ranks_expected", "gauge", "ck_job_ranks_expected",
         "Ranks that the job has.", (double)facts->size, facts->size > 0},
        {"ck_job_records", "counter", "ck_job_records_total", "Records stored.",
         (double)totals.records, true},
        {"ck_job_stored_bytes", "counter", "ck_job_stored_bytes_total",
         "Bytes stored.", (double)totals.bytes, true},
        {"ck_agent_lost_records", "counter", "ck_agent_lost_records_total",
         "Records that agents reported as lost.", (double)totals.lost,
         totals.peers > 0},
        {"ck_merge_cpu_seconds", "counter", "ck_merge_cpu_seconds_total",
         "CPU time of merges beside the running job.",
         merge == NULL ? 0 : SECONDS(merge->cpu), merge != NULL},
        {"ck_merge_age_seconds", "gauge", "ck_merge_age_seconds",
         "Age of the data behind the metrics that a merge makes.",
         has_merge ? SECONDS(now - merge->data) : 0, has_merge},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const struct ck_metric_sample sample = {all[i].sample, run_name(facts),
                                                NULL, NULL, all[i].number};

        if (all[i].is_known) {
            ck_metric_family(out, all[i].family, all[i].type, all[i].help);
            ck_metric_put(out, &sample);
        }
    }
}
