/* live.c - running jobs as pages and metrics (--http)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/http/httpserver.h"
#include "aggregator/http/metricstext.h"
#include "aggregator/live/livemerge.h"
#include "aggregator/live/livetext.h"
#include "launch/log.h"

#define HTML "text/html; charset=utf-8"
#define JSON "application/json"
#define METRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define ID_DIGITS 10 /* of a job's number */
#define NUMBER_BYTES 24
#define FINAL "done"
/* How often jobs and their merges are looked at. */
#define LOOK_PERIOD (100 * CK_TIME_MS)

/* A job that is shown. */
struct shown {
    uint32_t id;
    struct livemerge *merge; /* NULL once the job has ended */
};

struct live {
    const struct jobs *jobs; /* borrowed */
    struct httpserver *server;
    struct shown shown[JOBS_MAX];
    size_t count;
    ck_time_t now;
    ck_time_t next_look;
};

static void handle(void *context, const char *path, struct httpanswer *answer);

struct live *
live_create(const char *address, const struct jobs *jobs, struct ck_err *err)
{
    struct live *live = calloc(1, sizeof(*live));

    if (live == NULL) {
        return ck_err_null(err, "out of memory");
    }
    live->jobs = jobs;
    live->now = ck_time_raw();
    live->server = httpserver_create(address, handle, live, err);
    if (live->server == NULL) {
        free(live);
        return NULL;
    }
    return live;
}

void live_destroy(struct live *live)
{
    int saved = errno;

    if (live == NULL) {
        return;
    }
    httpserver_destroy(live->server);
    for (size_t i = 0; i < live->count; i++) {
        livemerge_destroy(live->shown[i].merge);
    }
    free(live);
    errno = saved;
}

const char *live_url(const struct live *live)
{
    return httpserver_url(live->server);
}

int live_fd(const struct live *live)
{
    return httpserver_fd(live->server);
}

int live_timeout(const struct live *live, int most_ms)
{
    return httpserver_timeout(live->server, most_ms);
}

static struct shown *shown_find(struct live *live, uint32_t id)
{
    for (size_t i = 0; i < live->count; i++) {
        if (live->shown[i].id == id) {
            return &live->shown[i];
        }
    }
    return NULL;
}

static const struct job *job_find(const struct live *live, uint32_t id)
{
    for (size_t i = 0; i < jobs_count(live->jobs); i++) {
        const struct job *job = jobs_at(live->jobs, i);

        if (job_facts(job)->number == id) {
            return job;
        }
    }
    return NULL;
}

/* The text that `out` made, as the answer. */
static void text_answer(struct httpanswer *answer,
                        FILE *out,
                        char **text,
                        const size_t *length)
{
    if (fclose(out) != 0) {
        free(*text);
        return;
    }
    answer->status = 200;
    answer->text = *text;
    answer->length = *length;
}

static void redirect(struct httpanswer *answer, const char *to)
{
    answer->status = 302;
    (void)snprintf(answer->location, sizeof(answer->location), "%s", to);
}

/* The only job's page, or a list. */
static void list_answer(struct live *live, struct httpanswer *answer)
{
    size_t count = jobs_count(live->jobs);
    char *text = NULL;
    size_t length;
    FILE *out;

    if (count == 1) {
        char to[ID_DIGITS + 2];

        (void)snprintf(to, sizeof(to), "%" PRIu32 "/",
                       job_facts(jobs_at(live->jobs, 0))->number);
        redirect(answer, to);
        return;
    }
    out = open_memstream(&text, &length);
    if (out == NULL) {
        return;
    }
    livetext_list_begin(out, count);
    for (size_t i = 0; i < count; i++) {
        livetext_list_job(out, jobs_at(live->jobs, i));
    }
    livetext_list_end(out);
    answer->type = HTML;
    answer->policy = LIVETEXT_POLICY;
    text_answer(answer, out, &text, &length);
}

/* Texts of metrics, two a job. */
struct metrics {
    const char *texts[2 * JOBS_MAX];
    char *own[JOBS_MAX];
    size_t count;
    size_t owned;
};

static void
metrics_add(struct live *live, const struct job *job, struct metrics *metrics)
{
    struct shown *shown = shown_find(live, job_facts(job)->number);
    struct livemerge *merge = shown == NULL ? NULL : shown->merge;
    struct livemerge_facts facts;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (merge != NULL) {
        livemerge_want(merge, live->now);
        facts = livemerge_facts(merge);
        metrics->texts[metrics->count++] = livemerge_metrics(merge);
    }
    if (out == NULL) {
        return;
    }
    livetext_metrics(out, job, merge == NULL ? NULL : &facts, live->now);
    if (fclose(out) != 0) {
        free(text);
        return;
    }
    metrics->texts[metrics->count++] = text;
    metrics->own[metrics->owned++] = text;
}

static void metrics_answer(struct live *live, struct httpanswer *answer)
{
    struct metrics metrics = {.count = 0};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL) {
        return;
    }
    for (size_t i = 0; i < jobs_count(live->jobs); i++) {
        metrics_add(live, jobs_at(live->jobs, i), &metrics);
    }
    metricstext_join(out, metrics.texts, metrics.count);
    (void)fputs("# EOF\n", out);
    for (size_t i = 0; i < metrics.owned; i++) {
        free(metrics.own[i]);
    }
    answer->type = METRICS;
    text_answer(answer, out, &text, &length);
}

static void state_answer(const struct live *live,
                         const struct job *job,
                         const struct shown *shown,
                         struct httpanswer *answer)
{
    struct livemerge_facts facts = {.number = 0};

    if (shown->merge != NULL) {
        facts = livemerge_facts(shown->merge);
    }
    answer->text = livetext_state(job, &facts, live->now);
    if (answer->text != NULL) {
        answer->status = 200;
        answer->type = JSON;
        answer->length = strlen(answer->text);
    }
}

/* The report that the final merge wrote into the run; -1: none. */
static int final_open(const struct job *job, size_t *length)
{
    char path[PATH_MAX + sizeof("/report.html")];
    struct stat facts;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/report.html", job_facts(job)->dir);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))) {
        (void)close(fd);
        return -1;
    }
    *length = fd < 0 ? 0 : (size_t)facts.st_size;
    return fd;
}

static void wait_answer(const struct job *job, struct httpanswer *answer)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL) {
        return;
    }
    livetext_wait(out, job);
    answer->type = HTML;
    answer->policy = LIVETEXT_POLICY;
    text_answer(answer, out, &text, &length);
}

/* The page of a job, or where that is now. `asked` is "" or "N/". */
static void page_answer(const struct job *job,
                        const struct shown *shown,
                        const char *asked,
                        struct httpanswer *answer)
{
    char now[NUMBER_BYTES] = FINAL "/";
    char to[NUMBER_BYTES + 3];

    if (shown->merge != NULL) {
        (void)snprintf(now, sizeof(now), "%" PRIu64 "/",
                       livemerge_facts(shown->merge).number);
    }
    if (strcmp(asked, now) != 0) {
        (void)snprintf(to, sizeof(to), "%s%s", asked[0] == '\0' ? "" : "../",
                       now);
        redirect(answer, to);
        return;
    }
    answer->fd = shown->merge == NULL
                     ? final_open(job, &answer->length)
                     : livemerge_page(shown->merge, &answer->length);
    if (answer->fd < 0) {
        wait_answer(job, answer);
        return;
    }
    answer->status = 200;
    answer->type = HTML;
}

/* "N/" or "done/". */
static bool is_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return strcmp(text, FINAL "/") == 0 ||
           (digits > 0 && digits < NUMBER_BYTES - 2 &&
            strcmp(text + digits, "/") == 0);
}

/* What is behind "/TOKEN/ID/". */
static void job_answer(struct live *live,
                       uint32_t id,
                       const char *rest,
                       struct httpanswer *answer)
{
    const struct job *job = job_find(live, id);
    const struct shown *shown = shown_find(live, id);

    if (job == NULL || shown == NULL) {
        return;
    }
    if (shown->merge != NULL) {
        livemerge_want(shown->merge, live->now);
    }
    if (strcmp(rest, "state") == 0) {
        state_answer(live, job, shown, answer);
    } else if (rest[0] == '\0' || is_number(rest)) {
        page_answer(job, shown, rest, answer);
    }
}

static void handle(void *context, const char *path, struct httpanswer *answer)
{
    struct live *live = context;
    size_t digits = strspn(path, "0123456789");
    char id[ID_DIGITS + 1];
    uint64_t number;

    if (path[0] == '\0') {
        list_answer(live, answer);
        return;
    }
    if (strcmp(path, "metrics") == 0) {
        metrics_answer(live, answer);
        return;
    }
    if (digits == 0 || digits > ID_DIGITS || path[digits] != '/') {
        return;
    }
    memcpy(id, path, digits);
    id[digits] = '\0';
    number = strtoull(id, NULL, 10);
    if (number <= UINT32_MAX) {
        job_answer(live, (uint32_t)number, path + digits + 1, answer);
    }
}

/* Jobs that are no more are shown no more. */
static void shown_tidy(struct live *live)
{
    for (size_t i = live->count; i-- > 0;) {
        if (job_find(live, live->shown[i].id) == NULL) {
            livemerge_destroy(live->shown[i].merge);
            live->shown[i] = live->shown[--live->count];
        }
    }
}

/* A job that begins is shown; one that is done has its final report. */
static struct shown *shown_of(struct live *live, const struct job *job)
{
    enum job_state state = job_facts(job)->state;
    struct shown *shown = shown_find(live, job_facts(job)->number);

    if (shown == NULL && live->count < JOBS_MAX) {
        shown = &live->shown[live->count++];
        *shown = (struct shown){job_facts(job)->number, NULL};
    }
    if (shown != NULL && state == JOB_DONE) {
        livemerge_destroy(shown->merge);
        shown->merge = NULL;
    } else if (shown != NULL && shown->merge == NULL) {
        shown->merge = livemerge_create(job_facts(job)->dir, live->now);
    }
    return shown;
}

static void merges_look(struct live *live, bool is_merging)
{
    bool is_busy = is_merging;

    for (size_t i = 0; i < live->count; i++) {
        is_busy = is_busy || (live->shown[i].merge != NULL &&
                              livemerge_facts(live->shown[i].merge).is_at_work);
    }
    for (size_t i = 0; i < jobs_count(live->jobs); i++) {
        const struct job *job = jobs_at(live->jobs, i);
        struct shown *shown = shown_of(live, job);
        bool may_begin = !is_busy && job_facts(job)->state == JOB_RUN;
        struct ck_err err;

        if (shown == NULL || shown->merge == NULL) {
            continue;
        }
        if (livemerge_look(shown->merge, job_totals(job).bytes, may_begin,
                           live->now, &err) != 0) {
            ck_warn("%s", err.text);
        }
        is_busy = is_busy || livemerge_facts(shown->merge).is_at_work;
    }
}

void live_release(struct live *live, const struct job *job)
{
    struct shown *shown = shown_find(live, job_facts(job)->number);

    if (shown != NULL && shown->merge != NULL) {
        livemerge_stop(shown->merge);
    }
}

void live_run(struct live *live, bool is_merging, ck_time_t now)
{
    live->now = now;
    if (now >= live->next_look) {
        live->next_look = now + LOOK_PERIOD;
        shown_tidy(live);
        merges_look(live, is_merging);
    }
    httpserver_run(live->server, now);
}
