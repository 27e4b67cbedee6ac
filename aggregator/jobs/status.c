/* status.c - what ckagg reports of itself: a line on a terminal, JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/jobs/status.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/jobs/clockstatus.h"
#include "aggregator/jobs/manifest.h"
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

static void user_put(FILE *out, const struct job *job)
{
    int64_t uid =
        job_peers(job) > 0 ? peer_facts(job_peer_at(job, 0))->uid : -1;
    const struct passwd *user = uid >= 0 ? getpwuid((uid_t)uid) : NULL;

    if (user != NULL) {
        (void)fprintf(out, ", user %s", user->pw_name);
    } else if (uid >= 0) {
        (void)fprintf(out, ", user %" PRId64, uid);
    }
}

static void since_put(FILE *out, int64_t started, int64_t now)
{
    time_t second = (time_t)(started / CK_TIME_S);
    struct tm utc;
    char date[32];
    char age[48];

    if (started <= 0 || gmtime_r(&second, &utc) == NULL ||
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &utc) == 0) {
        return;
    }
    status_age(now - started, age, sizeof(age));
    (void)fprintf(out, ", since %s (%s)", date, age);
}

static void job_put(FILE *out, const struct job *job, int64_t now)
{
    const struct job_facts *facts = job_facts(job);
    struct job_totals totals = job_totals(job);
    char records[32];
    char bytes[32];

    status_count((double)totals.records, records, sizeof(records));
    status_bytes(totals.bytes, bytes, sizeof(bytes));
    (void)fprintf(out, "%s: %s, %zu of %" PRId64 " ranks", facts->name,
                  facts->end != JOB_END_NOT ? job_end_name(facts->end)
                                            : job_state_name(facts->state),
                  totals.ranks,
                  facts->size > 0 ? facts->size : (int64_t)totals.ranks);
    user_put(out, job);
    since_put(out, facts->started.realtime, now);
    (void)fprintf(out, "\n  %s records, %s, %" PRIu64 " lost; run %s\n",
                  records, bytes, totals.lost, facts->dir);
    if (job_peers(job) > 0 && peer_facts(job_peer_at(job, 0))->command[0]) {
        (void)fprintf(out, "  command %s\n",
                      peer_facts(job_peer_at(job, 0))->command);
    }
}

char *status_table(const struct jobs *jobs, int64_t now)
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

        if (i > 0) {
            (void)fputc('\n', out);
        }
        job_put(out, job, now);
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

void status_age(int64_t ns, char *text, size_t room)
{
    int64_t s = ns > 0 ? ns / CK_TIME_S : 0;

    if (s < 60) {
        (void)snprintf(text, room, "%" PRId64 " s", s);
    } else if (s < 3600) {
        (void)snprintf(text, room, "%" PRId64 " min %" PRId64 " s", s / 60,
                       s % 60);
    } else if (s < 86400) {
        (void)snprintf(text, room, "%" PRId64 " h %" PRId64 " min", s / 3600,
                       s / 60 % 60);
    } else {
        (void)snprintf(text, room, "%" PRId64 " d %" PRId64 " h", s / 86400,
                       s / 3600 % 24);
    }
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
