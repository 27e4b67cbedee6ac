/* clockstatus.c - what ckagg reports of its agents' clocks while they run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/jobs/clockstatus.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schema/clock/clockband.h"

/* One domain's leader. */
struct row {
    const struct peer_facts *peer; /* borrowed; NULL = not known any more */
    uint64_t asked;
    uint64_t complete;
    bool has_offset;
    struct ck_clock_offset latest; /* at its last probe */
    struct ck_clockband_summary band;
};

static const struct peer_facts *agent_find(const struct jobs *jobs,
                                           const uint8_t agent[16])
{
    for (size_t i = 0; i < jobs_count(jobs); i++) {
        struct job *job = jobs_at(jobs, i);

        for (size_t k = 0; k < job_peers(job); k++) {
            const struct peer *peer = job_peer_at(job, k);

            if (memcmp(peer_agent(peer), agent, 16) == 0) {
                return peer_facts(peer);
            }
        }
    }
    return NULL;
}

static void band_fill(const struct clocksession_look *look, struct row *row)
{
    struct ck_clockband *band = ck_clockband_create(NULL);

    for (size_t i = 0; band && i < look->count; i++) {
        const struct clocksession_probe *probe = &look->probes[i];

        (void)ck_clockband_add(
            band, &(struct ck_clock_probe){.a1 = probe->a1,
                                           .r2 = probe->r2,
                                           .r3 = probe->r3,
                                           .a4 = probe->a4,
                                           .error_forward = probe->error,
                                           .error_backward = probe->error});
    }
    if (band && ck_clockband_solve(band) == 0) {
        ck_clockband_summarise(band, &row->band);
        row->has_offset =
            ck_clockband_at(band, row->band.to, &row->latest) == 0;
    }
    ck_clockband_destroy(band);
}

/* The index-th domain that probes. False beyond the last, or no memory. */
static bool row_look(const struct clockserve *serve,
                     const struct jobs *jobs,
                     size_t index,
                     struct row *row)
{
    struct clocksession_look *look = malloc(sizeof(*look));
    bool is_there = look && clocksessions_look(clockserve_sessions(serve),
                                               index, look) == 0;

    memset(row, 0, sizeof(*row));
    if (is_there) {
        row->peer = jobs ? agent_find(jobs, look->agent) : NULL;
        row->asked = look->asked;
        row->complete = look->complete;
        band_fill(look, row);
    }
    free(look);
    return is_there;
}

static void row_put(struct ck_json *json, const struct row *row)
{
    char grade[2] = {ck_clock_grade(row->band.bound_max), '\0'};

    ck_json_object(json, NULL);
    ck_json_string(json, "host", row->peer ? row->peer->host : "?");
    ck_json_int(json, "rank", row->peer ? row->peer->rank : -1);
    ck_json_uint(json, "asked", row->asked);
    ck_json_uint(json, "complete", row->complete);
    if (row->has_offset) {
        ck_json_int(json, "offset_ns", row->latest.offset);
        ck_json_int(json, "bound_ns", row->latest.bound);
        ck_json_int(json, "bound_max_ns", row->band.bound_max);
        ck_json_int(json, "drift_ppb", row->band.drift_ppb);
        ck_json_int(json, "rtt_min_ns", row->band.rtt_min);
        ck_json_uint(json, "faults", row->band.faults);
        ck_json_string(json, "grade", grade);
    }
    ck_json_end(json);
}

void clockstatus_put(struct ck_json *json,
                     const struct clockserve *serve,
                     const struct jobs *jobs)
{
    struct clocksession_facts facts;
    struct row row;

    ck_json_object(json, "clock");
    if (!serve) {
        ck_json_end(json);
        return;
    }
    facts = clocksessions_facts(clockserve_sessions(serve));
    ck_json_int(json, "port", clockserve_port(serve));
    ck_json_bool(json, "kernel_stamps", clockserve_is_stamped(serve));
    ck_json_string(json, "boot_id", clockserve_domain(serve)->boot_id);
    ck_json_string(json, "timens", clockserve_domain(serve)->timens);
    ck_json_uint(json, "sessions", facts.sessions);
    ck_json_uint(json, "answered", facts.answered);
    ck_json_object(json, "dropped");
    for (unsigned i = CLOCKSESSION_GOOD + 1; i < CLOCKSESSION_VERDICTS; i++) {
        ck_json_uint(json,
                     clocksession_verdict_name((enum clocksession_verdict)i),
                     facts.verdicts[i]);
    }
    ck_json_end(json);
    ck_json_array(json, "domains");
    for (size_t i = 0; row_look(serve, jobs, i, &row); i++) {
        row_put(json, &row);
    }
    ck_json_end(json);
    ck_json_end(json);
}

char *clockstatus_json(const struct clockserve *serve, const struct jobs *jobs)
{
    struct ck_json *json = ck_json_create(NULL, true);

    if (!json) {
        return NULL;
    }
    ck_json_object(json, NULL);
    clockstatus_put(json, serve, jobs);
    ck_json_end(json);
    return ck_json_take(json);
}

/* 1234 -> "1.23 us" */
static void time_text(ck_time_t time, char text[32])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)time;
    unsigned i = 0;

    while (value >= 1000 && i < 3) {
        value /= 1000;
        i++;
    }
    (void)snprintf(text, 32, i ? "%.2f %s" : "%.0f %s", value, units[i]);
}

static void row_print(FILE *out, const struct row *row)
{
    int64_t whole_s = row->latest.offset / CK_TIME_S;
    char bound[32];
    char trip[32];

    (void)fprintf(out, "%6" PRId64 "  %-20.20s ",
                  row->peer ? row->peer->rank : -1,
                  row->peer ? row->peer->host : "?");
    if (!row->has_offset) {
        (void)fprintf(out, "no complete probe of %" PRIu64 " asked\n",
                      row->asked);
        return;
    }
    time_text(row->latest.bound, bound);
    time_text(row->band.rtt_min, trip);
    (void)fprintf(out, "%+22.9f %+10.3f %11s     %c %11s %9" PRIu64 " %6zu\n",
                  (double)whole_s + (double)(row->latest.offset % CK_TIME_S) /
                                        (double)CK_TIME_S,
                  (double)row->band.drift_ppb / 1000.0, bound,
                  ck_clock_grade(row->band.bound_max), trip, row->complete,
                  row->band.faults);
}

char *clockstatus_table(const struct clockserve *serve, const struct jobs *jobs)
{
    struct clocksession_facts facts = {.answered = 0};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    struct row row;

    if (!out) {
        return NULL;
    }
    if (serve) {
        facts = clocksessions_facts(clockserve_sessions(serve));
        (void)fprintf(out,
                      "clock probes: port %d, %s, %" PRIu64
                      " answered, dropped: %" PRIu64 " malformed, %" PRIu64
                      " foreign, %" PRIu64 " untagged, %" PRIu64 " replayed\n",
                      clockserve_port(serve),
                      clockserve_is_stamped(serve) ? "stamped by the kernel"
                                                   : "no kernel stamps",
                      facts.answered, facts.verdicts[CLOCKSESSION_MALFORMED],
                      facts.verdicts[CLOCKSESSION_FOREIGN],
                      facts.verdicts[CLOCKSESSION_UNTAGGED],
                      facts.verdicts[CLOCKSESSION_REPLAYED]);
        (void)fprintf(out, "%6s  %-20s %22s %10s %11s %5s %11s %9s %6s\n",
                      "RANK", "HOST", "OFFSET s", "DRIFT ppm", "BOUND", "GRADE",
                      "ROUND TRIP", "PROBES", "FAULTS");
        for (size_t i = 0; row_look(serve, jobs, i, &row); i++) {
            row_print(out, &row);
        }
    } else {
        (void)fprintf(out, "clock probes are not answered; see the log\n");
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* The most of what each clock has. */
struct most {
    size_t count;
    ck_time_t offset;
    int64_t drift_ppb;
    ck_time_t bound;
    ck_time_t bound_max;
    size_t faults;
};

static ck_time_t larger(ck_time_t x, ck_time_t y)
{
    y = y < 0 ? -y : y;
    return x > y ? x : y;
}

static void most_add(struct most *most, const struct row *row)
{
    if (!row->has_offset) {
        return;
    }
    most->count++;
    most->offset = larger(most->offset, row->latest.offset);
    most->drift_ppb = larger(most->drift_ppb, row->band.drift_ppb);
    most->bound = larger(most->bound, row->latest.bound);
    most->bound_max = larger(most->bound_max, row->band.bound_max);
    most->faults += row->band.faults;
}

void clockstatus_line(const struct clockserve *serve, char *text, size_t room)
{
    struct most most = {.count = 0};
    char offset[32];
    char bound[32];
    char faults[40] = "";
    struct row row;

    text[0] = '\0';
    for (size_t i = 0;
         serve && i < CLOCKSTATUS_LINE_MAX && row_look(serve, NULL, i, &row);
         i++) {
        most_add(&most, &row);
    }
    if (most.count == 0) {
        return;
    }
    time_text(most.offset, offset);
    time_text(most.bound, bound);
    if (most.faults > 0) {
        (void)snprintf(faults, sizeof(faults), ", %zu faults", most.faults);
    }
    (void)snprintf(text, room,
                   " · %zu clock%s off %s, %.2f ppm, +- %s, grade %c%s",
                   most.count, most.count == 1 ? "" : "s", offset,
                   (double)most.drift_ppb / 1e3, bound,
                   ck_clock_grade(most.bound_max), faults);
}
