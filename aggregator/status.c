/* status.c - what ckagg says of itself: a line on a terminal, JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/clockstatus.h"
#include "aggregator/manifest.h"
#include "schema/json.h"

struct job_totals status_totals(const struct jobs *jobs)
{
    struct job_totals sum = {.peers = 0};

    for (size_t i = 0; i < jobs_count(jobs); i++) {
        struct job_totals totals = job_totals(jobs_at(jobs, i));

        sum.peers += totals.peers;
        sum.active += totals.active;
        sum.ranks += totals.ranks;
        sum.dead += totals.dead;
        sum.frames += totals.frames;
        sum.records += totals.records;
        sum.bytes += totals.bytes;
        sum.old += totals.old;
        sum.missing += totals.missing;
        sum.lost += totals.lost;
    }
    return sum;
}

static void intake_json(struct ck_json *json, const struct intake_facts *facts)
{
    ck_json_object(json, "intake");
    ck_json_uint(json, "messages", facts->messages);
    ck_json_uint(json, "bytes", facts->bytes);
    ck_json_uint(json, "refused", facts->refused);
    ck_json_uint(json, "strangers", facts->strangers);
    ck_json_uint(json, "shut", facts->shut);
    ck_json_uint(json, "unwritten", facts->unwritten);
    ck_json_end(json);
}

char *status_json(const struct jobs *jobs,
                  const struct intake_facts *intake,
                  const struct clockserve *serve)
{
    struct ck_json *json = ck_json_create(NULL, true);

    if (!json) {
        return NULL;
    }
    ck_json_object(json, NULL);
    ck_json_string(json, "version", CK_VERSION);
    intake_json(json, intake);
    clockstatus_put(json, serve, jobs);
    ck_json_array(json, "jobs");
    for (size_t i = 0; i < jobs_count(jobs); i++) {
        ck_json_object(json, NULL);
        ck_json_string(json, "dir", job_facts(jobs_at(jobs, i))->dir);
        manifest_job(json, jobs_at(jobs, i));
        ck_json_end(json);
    }
    ck_json_end(json);
    ck_json_end(json);
    return ck_json_take(json);
}

static void peer_row(FILE *out, struct peer *peer)
{
    const struct peer_facts *facts = peer_facts(peer);
    struct store_facts stored = store_facts(peer_store(peer));
    char records[32];
    char bytes[32];

    status_count((double)stored.records, records, sizeof(records));
    status_bytes(stored.bytes, bytes, sizeof(bytes));
    (void)fprintf(out, "%6" PRId64 "  %-20.20s %-7s %10s %12s %8" PRIu64 "\n",
                  facts->rank, facts->host, peer_state_name(peer_state(peer)),
                  records, bytes, facts->lost);
}

char *status_table(const struct jobs *jobs)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (!out) {
        return NULL;
    }
    if (jobs_count(jobs) == 0) {
        (void)fprintf(out, "no jobs\n");
    }
    for (size_t i = 0; i < jobs_count(jobs); i++) {
        const struct job *job = jobs_at(jobs, i);
        const struct job_facts *facts = job_facts(job);
        struct job_totals totals = job_totals(job);

        (void)fprintf(
            out, "%s%s: %s, %zu of %" PRId64 " ranks, run %s\n", i ? "\n" : "",
            facts->name, job_state_name(facts->state), totals.ranks,
            facts->size > 0 ? facts->size : (int64_t)totals.ranks, facts->dir);
        (void)fprintf(out, "%6s  %-20s %-7s %10s %12s %8s\n", "RANK", "HOST",
                      "STATE", "RECORDS", "STORED", "LOST");
        for (size_t k = 0; k < job_peers(job); k++) {
            peer_row(out, job_peer_at(job, k));
        }
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

void status_rate_look(struct status_rate *rate,
                      const struct job_totals *totals,
                      ck_time_t now)
{
    double seconds = (double)(now - rate->at) / (double)CK_TIME_S;

    if (rate->at > 0 && seconds > 0 && totals->records >= rate->records) {
        rate->records_per_s =
            (double)(totals->records - rate->records) / seconds;
        rate->bytes_per_s = (double)(totals->bytes - rate->bytes) / seconds;
    }
    rate->at = now;
    rate->records = totals->records;
    rate->bytes = totals->bytes;
}

void status_bytes(uint64_t bytes, char *text, size_t room)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    unsigned i = 0;

    while (value >= 1024 && i + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        i++;
    }
    (void)snprintf(text, room, i ? "%.1f %s" : "%.0f %s", value, units[i]);
}

void status_count(double count, char *text, size_t room)
{
    static const char *const units[] = {"", " k", " M", " G"};
    unsigned i = 0;

    while (count >= 1000 && i + 1 < sizeof(units) / sizeof(units[0])) {
        count /= 1000;
        i++;
    }
    (void)snprintf(text, room, i ? "%.2f%s" : "%.0f%s", count, units[i]);
}

void status_line(const struct job_totals *totals,
                 const struct status_rate *rate,
                 char *line,
                 size_t room)
{
    char records[32];
    char per_s[32];
    char bytes[32];

    status_count((double)totals->records, records, sizeof(records));
    status_count(rate->records_per_s, per_s, sizeof(per_s));
    status_bytes(totals->bytes, bytes, sizeof(bytes));
    (void)snprintf(line, room,
                   "%zu of %zu ranks at work%s · %s records · %s/s · %s · "
                   "%" PRIu64 " lost",
                   totals->active, totals->peers,
                   totals->dead ? " (some died)" : "", records, per_s, bytes,
                   totals->lost);
}
