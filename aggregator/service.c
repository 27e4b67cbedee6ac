/* service.c - the loop of ckagg
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/service.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "aggregator/jobs/clockstatus.h"
#include "aggregator/intake.h"
#include "aggregator/jobs/manifest.h"
#include "aggregator/live/merging.h"
#include "aggregator/jobs/reply.h"
#include "aggregator/jobs/reportreply.h"
#include "aggregator/retain.h"
#include "aggregator/jobs/status.h"
#include "aggregator/where.h"
#include "launch/cli.h"
#include "launch/log.h"
#include "schema/fd.h"

/* Messages taken before the clock is looked at again. */
#define BURST 64
#define LINE_BYTES 256

struct service {
    struct agg *agg;   /* borrowed */
    struct jobs *jobs; /* borrowed */
    struct service_options options;
    struct reply *reply;
    struct intake *intake;
    struct where *where;
    struct clockserve *clockserve; /* borrowed; NULL = none */
    struct live *live;             /* the same */
    struct merging *merging;       /* NULL: none at work */
    struct job *merged;            /* borrowed: its job */
    struct status_rate rate;
    ck_time_t next_ack;
    ck_time_t next_merge;
    ck_time_t next_judge;
    ck_time_t next_save;
    struct ck_err unsaved; /* logged last of a manifest */
    ck_time_t next_full;
    ck_time_t next_end;
    uint64_t goodbyes; /* that were looked at */
    ck_time_t done_at; /* of the embedded job; 0 = not yet */
    int signals;       /* signalfd */
    bool is_fresh;     /* messages came since the last acknowledgements */
    ck_time_t stopped; /* when the first signal came; 0 = none */
    bool is_killed;    /* the second came */
    struct job_probes probes; /* when jobs were judged last */
};

static void signals_fill(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGHUP);
}

void service_block_signals(void)
{
    sigset_t set;

    signals_fill(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static int signals_open(struct ck_err *err)
{
    sigset_t set;
    int fd;

    signals_fill(&set);
    service_block_signals();
    /* A reader that goes away, or a file limit, is an error, not an end. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd >= 0
               ? fd
               : ck_err_set(err, "cannot take signals: %s", strerror(errno));
}

struct service *service_create(struct agg *agg,
                               struct jobs *jobs,
                               const struct service_options *options,
                               struct ck_err *err)
{
    struct service *service = calloc(1, sizeof(*service));

    if (!service) {
        return ck_err_null(err, "out of memory");
    }
    service->agg = agg;
    service->jobs = jobs;
    service->options = *options;
    service->signals = signals_open(err);
    if (service->signals < 0) {
        goto error;
    }
    service->reply = reply_create(agg);
    if (service->reply) {
        service->where = where_create(jobs, service->reply);
        service->intake = intake_create(agg, jobs, service->reply);
    }
    if (!service->intake || !service->where) {
        (void)ck_err_set(err, "out of memory");
        goto error;
    }
    intake_where(service->intake, service->where);
    return service;
error:
    service_destroy(service);
    return NULL;
}

void service_destroy(struct service *service)
{
    int saved = errno;

    if (service) {
        merging_destroy(service->merging);
        intake_destroy(service->intake);
        where_destroy(service->where);
        reply_destroy(service->reply);
        ck_fd_close(service->signals);
        free(service);
    }
    errno = saved;
}

void service_clock(struct service *service, struct clockserve *serve)
{
    service->clockserve = serve;
    intake_clock(service->intake, serve);
}

void service_live(struct service *service, struct live *live)
{
    service->live = live;
}

static void acks_send(struct service *service)
{
    for (size_t i = 0; i < jobs_count(service->jobs); i++) {
        struct job *job = jobs_at(service->jobs, i);

        for (size_t k = 0; k < job_peers(job); k++) {
            if (peer_is_due(job_peer_at(job, k))) {
                (void)reply_acks(service->reply, job_peer_at(job, k));
            }
        }
    }
}

/* A directory that is gone has none: to ask again and again would keep the
 * agents for ever. */
static bool has_room(const char *dir)
{
    struct statvfs facts;

    return statvfs(dir, &facts) == 0 &&
           (uint64_t)facts.f_bavail * facts.f_frsize >= SERVICE_FULL_ROOM;
}

/* Where there is room again, peers send what was not acknowledged. */
static void full_ask(struct service *service)
{
    for (size_t i = 0; i < jobs_count(service->jobs); i++) {
        struct job *job = jobs_at(service->jobs, i);

        for (size_t k = 0; k < job_peers(job); k++) {
            const struct peer *peer = job_peer_at(job, k);

            if (peer_is_full(peer) && peer_route(peer) &&
                has_room(job_facts(job)->dir)) {
                (void)reply_text(service->reply, peer_route(peer),
                                 CK_CONTROL_REFUSED, REPLY_HELLO_FIRST);
            }
        }
    }
}

static void saves_write(struct service *service)
{
    struct ck_err err;

    for (size_t i = 0; i < jobs_count(service->jobs); i++) {
        if (manifest_save(jobs_at(service->jobs, i), &err) != 0 &&
            strcmp(err.text, service->unsaved.text) != 0) {
            service->unsaved = err;
            ck_error("%s", err.text);
        }
    }
}

static void job_said(const struct job *job)
{
    const struct job_facts *facts = job_facts(job);
    struct job_totals totals = job_totals(job);
    char records[32];
    char bytes[32];

    status_count((double)totals.records, records, sizeof(records));
    status_bytes(totals.bytes, bytes, sizeof(bytes));
    ck_log_fact(
        "job %s: %s; %zu of %lld ranks, %s records, %s, %llu lost; run %s",
        facts->name, job_end_name(facts->end), totals.ranks,
        (long long)(facts->size > 0 ? facts->size : (int64_t)totals.ranks),
        records, bytes, (unsigned long long)totals.lost, facts->dir);
}

static void job_done(struct service *service, struct job *job, const char *text)
{
    struct ck_err err;

    job_set_state(job, JOB_DONE);
    if (manifest_save(job, &err) != 0) {
        ck_error("%s", err.text);
    }
    job_keep_report(job, text);
    reportreply_send_all(service->reply, job, text);
    if (!service->options.is_embedded && service->options.retain > 0) {
        retain_runs(service->options.dir, service->options.retain,
                    service->jobs);
    }
}

static void merge_start(struct service *service, struct job *job)
{
    struct ck_err err;

    if (service->live) {
        live_release(service->live, job);
    }
    job_said(job);
    if (job_sync(job) != 0) {
        ck_error("cannot write %s to the disk: %s", job_facts(job)->dir,
                 strerror(errno));
    }
    if (!service->options.has_merge || job_peers(job) == 0) {
        job_done(service, job, NULL);
        return;
    }
    job_set_state(job, JOB_MERGE);
    if (manifest_save(job, &err) != 0) {
        ck_error("%s", err.text);
    }
    service->merging =
        merging_start(job_facts(job)->dir, &service->options.merging, &err);
    if (!service->merging) {
        ck_error("cannot merge: %s; the run is stored in %s", err.text,
                 job_facts(job)->dir);
        job_set_merge_exit(job, CK_EXIT_NOT_FOUND);
        job_done(service, job, NULL);
        return;
    }
    service->merged = job;
}

static void merge_end(struct service *service, int code)
{
    struct job *job = service->merged;
    size_t length;
    const char *text = merging_text(service->merging, &length);

    job_set_merge_exit(job, code);
    if (code != CK_EXIT_DONE && code != CK_EXIT_PARTIAL) {
        ck_error("ckmerge ended with %d; the run is stored in %s", code,
                 job_facts(job)->dir);
    }
    /* An agent came back meanwhile: it is merged again when all have left. */
    if (job_facts(job)->state == JOB_MERGE) {
        job_done(service, job, length > 0 ? text : NULL);
    }
    merging_destroy(service->merging);
    service->merging = NULL;
    service->merged = NULL;
}

static void merge_look(struct service *service)
{
    int code;

    if (service->merging) {
        if (merging_look(service->merging, &code) == 1) {
            merge_end(service, code);
        }
        return;
    }
    for (size_t i = 0; i < jobs_count(service->jobs); i++) {
        struct job *job = jobs_at(service->jobs, i);

        if (job_facts(job)->state == JOB_ENDED) {
            merge_start(service, job);
            return;
        }
    }
}

/* What became of clock probes so far. */
static struct job_probes probes_look(const struct service *service)
{
    struct clocksession_facts facts = {.answered = 0};

    if (service->clockserve) {
        facts = clocksessions_facts(clockserve_sessions(service->clockserve));
    }
    return (struct job_probes){
        .answered = facts.answered,
        .malformed = facts.verdicts[CLOCKSESSION_MALFORMED],
        .foreign = facts.verdicts[CLOCKSESSION_FOREIGN],
        .untagged = facts.verdicts[CLOCKSESSION_UNTAGGED],
        .replayed = facts.verdicts[CLOCKSESSION_REPLAYED],
    };
}

static void jobs_judge(struct service *service, ck_time_t now)
{
    struct job_probes probes = probes_look(service);

    for (size_t i = 0; i < jobs_count(service->jobs); i++) {
        job_note_probes(jobs_at(service->jobs, i), &service->probes, &probes);
        (void)job_judge(jobs_at(service->jobs, i), &service->options.limits,
                        now);
    }
    service->probes = probes;
    jobs_tidy(service->jobs, now);
}

static void line_show(struct service *service, ck_time_t now)
{
    struct job_totals totals = status_totals(service->jobs);
    char line[LINE_BYTES];
    size_t used;

    status_rate_look(&service->rate, &totals, now);
    status_line(&totals, &service->rate, line, sizeof(line));
    used = strlen(line);
    clockstatus_line(service->clockserve, line + used, sizeof(line) - used);
    /* Back at its start, so that a message begins a line. */
    (void)fprintf(stderr, "\r\033[Kckagg  %.*s\r",
                  ck_terminal_columns(STDERR_FILENO) - 8, line);
}

static bool is_time(ck_time_t *next, ck_time_t period, ck_time_t now)
{
    if (now < *next) {
        return false;
    }
    *next = now + period;
    return true;
}

/* The same for something that was waited for: a period in the mean, but at once
 * after quiet times. A second of those is kept. */
static bool is_earned(ck_time_t *next, ck_time_t period, ck_time_t now)
{
    if (now < *next) {
        return false;
    }
    if (*next < now - CK_TIME_S) {
        *next = now - CK_TIME_S;
    }
    *next += period;
    return true;
}

/* Something may end now: a job, or its merge. */
static bool is_ending(const struct service *service)
{
    return service->merging ||
           service->goodbyes != intake_facts(service->intake).goodbyes;
}

static void tick(struct service *service, ck_time_t now)
{
    if (is_ending(service) &&
        is_time(&service->next_end, SERVICE_END_PERIOD, now)) {
        service->goodbyes = intake_facts(service->intake).goodbyes;
        jobs_judge(service, now);
        merge_look(service);
    }
    if (service->is_fresh &&
        is_earned(&service->next_ack, SERVICE_ACK_PERIOD, now)) {
        acks_send(service);
        service->is_fresh = false;
    }
    if (is_time(&service->next_merge, SERVICE_ACK_PERIOD, now)) {
        merge_look(service);
    }
    if (is_time(&service->next_judge, SERVICE_JUDGE_PERIOD, now)) {
        jobs_judge(service, now);
    }
    if (is_time(&service->next_full, SERVICE_FULL_PERIOD, now)) {
        full_ask(service);
    }
    if (is_time(&service->next_save, SERVICE_SAVE_PERIOD, now)) {
        saves_write(service);
        if (service->options.has_line) {
            line_show(service, now);
        }
    }
}

static void messages_take(struct service *service, ck_time_t now)
{
    struct agg_message message;

    for (int i = 0; i < BURST; i++) {
        int result = agg_receive(service->agg, &message);

        if (result == 0) {
            return;
        }
        if (result < 0) {
            intake_count_refused(service->intake);
        } else {
            intake_take(service->intake, &message, now);
        }
    }
}

/* True when a stopping ckagg has nothing left to do or to wait for. */
static bool is_stopped(const struct service *service, ck_time_t now)
{
    bool is_late = now - service->stopped >= (service->options.is_embedded
                                                  ? SERVICE_STEP_GRACE
                                                  : SERVICE_STOP_GRACE);

    if (service->is_killed) {
        return true;
    }
    for (size_t i = 0; i < jobs_count(service->jobs); i++) {
        const struct job *job = jobs_at(service->jobs, i);
        enum job_state state = job_facts(job)->state;

        if (state == JOB_ENDED || state == JOB_MERGE ||
            (state == JOB_RUN && job_peers(job) > 0 && !is_late)) {
            return false;
        }
    }
    return true;
}

/* True when a signal came, or the embedded job is done and no client may still
 * ask. */
static bool is_over(struct service *service, ck_time_t now)
{
    const struct job *job;

    if (service->stopped) {
        return is_stopped(service, now);
    }
    if (!service->options.is_embedded) {
        return false;
    }
    job = jobs_at(service->jobs, 0);
    if (job_facts(job)->state != JOB_DONE) {
        service->done_at = 0;
        return false;
    }
    if (service->done_at == 0) {
        service->done_at = now;
    }
    return now - service->done_at >= SERVICE_STAY ||
           intake_facts(service->intake).later > 0;
}

static void signal_take(struct service *service, ck_time_t now)
{
    struct signalfd_siginfo info;

    if (read(service->signals, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return;
    }
    /* A scheduler sends the same signal more than once. */
    service->is_killed =
        service->stopped > 0 && (info.ssi_signo == SIGINT ||
                                 now - service->stopped >= SERVICE_SAME_SIGNAL);
    if (service->stopped == 0) {
        service->stopped = now;
    }
    for (size_t i = 0; i < jobs_count(service->jobs); i++) {
        job_hurry(jobs_at(service->jobs, i));
    }
}

/* Everything on the disk, whatever the state. */
static int stop(struct service *service)
{
    int code = CK_EXIT_DONE;

    if (service->options.has_line) {
        (void)fputs("\r\033[K", stderr);
    }
    messages_take(service, ck_time_raw());
    acks_send(service);
    for (size_t i = 0; i < jobs_count(service->jobs); i++) {
        struct job *job = jobs_at(service->jobs, i);

        /* Nothing is written to a run that is done: it may be gone. */
        if (job_facts(job)->state != JOB_DONE) {
            job_touch(job);
        }
        if (job_sync(job) != 0) {
            ck_error("cannot write %s to the disk: %s", job_facts(job)->dir,
                     strerror(errno));
            code = CK_EXIT_FAILED;
        }
        if (job_facts(job)->state != JOB_DONE) {
            ck_info("stopped; what came is stored in %s", job_facts(job)->dir);
        }
    }
    saves_write(service);
    if (reply_dropped(service->reply) > 0) {
        ck_warn("%llu answers found no room on their way; they were asked for "
                "again, or their peer was gone",
                (unsigned long long)reply_dropped(service->reply));
    }
    return code;
}

static int job_code(const struct job *job)
{
    const struct job_facts *facts = job_facts(job);

    if (facts->end == JOB_END_NOBODY) {
        return CK_EXIT_FAILED;
    }
    if (facts->merge_exit > CK_EXIT_DONE &&
        facts->merge_exit != CK_EXIT_PARTIAL) {
        return CK_EXIT_FAILED;
    }
    return facts->end == JOB_END_COMPLETE && facts->merge_exit <= 0
               ? CK_EXIT_DONE
               : CK_EXIT_PARTIAL;
}

/* The agent's side gets no answer to its hello. */
static void stranger_say(const struct service *service)
{
    if (agg_endpoint(service->agg)->curve[0]) {
        ck_warn("a peer without keys, or with other keys, was refused: give "
                "agents the whole line that this ckagg printed, with curve= "
                "and token=");
    } else {
        ck_warn("a peer with keys was refused, as this ckagg has none: leave "
                "curve= and token= out of the agents' endpoint");
    }
}

/* How long a turn of the loop may wait. */
static ck_time_t turn_length(const struct service *service)
{
    if (is_ending(service) || where_is_busy(service->where)) {
        return SERVICE_END_PERIOD;
    }
    return service->is_fresh ? SERVICE_ACK_PERIOD : SERVICE_JUDGE_PERIOD;
}

/* Wait for what is next to do. Bits of agg_ready, or -1 with errno. */
static int turn_wait(struct service *service)
{
    int fds[AGG_FDS] = {service->signals, -1};
    int most_ms = (int)(turn_length(service) / CK_TIME_MS);

    if (service->live) {
        fds[1] = live_fd(service->live);
        most_ms = live_timeout(service->live, most_ms);
    }
    return agg_wait(service->agg, fds, most_ms);
}

int service_run(struct service *service)
{
    ck_time_t now = ck_time_raw();
    int code;

    while (!is_over(service, now)) {
        int ready = turn_wait(service);

        if (ready < 0) {
            ck_error("cannot wait for messages: %s", strerror(errno));
            (void)stop(service);
            return CK_EXIT_FAILED;
        }
        now = ck_time_raw();
        if (ready & AGG_READY_FD) {
            signal_take(service, now);
        }
        if (ready & AGG_READY_STRANGER) {
            stranger_say(service);
        }
        if (ready & AGG_READY_SHUT) {
            ck_warn("closed %llu connections so far: they sent no hello, or "
                    "did not end what they began to send",
                    (unsigned long long)agg_shut(service->agg));
        }
        if (ready & AGG_READY_MESSAGE) {
            messages_take(service, now);
            service->is_fresh = true;
        }
        tick(service, now);
        where_step(service->where, now);
        if (service->live) {
            live_run(service->live, service->merging != NULL, now);
        }
    }
    code = stop(service);
    if (code == CK_EXIT_DONE && service->options.is_embedded &&
        job_facts(jobs_at(service->jobs, 0))->state == JOB_DONE) {
        code = job_code(jobs_at(service->jobs, 0));
    }
    return code;
}
