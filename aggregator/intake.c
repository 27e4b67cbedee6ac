/* intake.c - takes one message of a peer or a client
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/intake.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/jobs/clockstatus.h"
#include "aggregator/jobs/manifest.h"
#include "aggregator/jobs/reportreply.h"
#include "aggregator/jobs/status.h"
#include "launch/cli.h"
#include "launch/log.h"
#include "schema/auth.h"
#include "schema/batch/wire.h"
#include "schema/clock/probe.h"
#include "schema/frame.h"
#include "schema/store/run.h"

/* Longest control message: a text and all acknowledgements. */
#define CONTROL_BYTES_MAX                                                      \
    (CK_CONTROL_TEXT_MAX + CK_CONTROL_ACKS_MAX * sizeof(struct ck_ack) + 4096)
/* Strangers that were answered lately, so that each is answered twice a second.
 */
#define TOLD_MAX 64
#define TOLD_AGAIN (500 * CK_TIME_MS)
#define LINES_BYTES (PATH_MAX + 512)

struct told {
    struct route route;
    ck_time_t at;
};

struct intake {
    struct agg *agg;               /* borrowed */
    struct jobs *jobs;             /* borrowed */
    struct reply *reply;           /* borrowed */
    struct clockserve *clockserve; /* borrowed; NULL = no clock is offered */
    struct where *where;           /* borrowed; NULL = no agent is asked */
    struct intake_facts facts;
    struct told told[TOLD_MAX];
    unsigned told_next;
    uint64_t *control; /* 8-aligned copy; CONTROL_BYTES_MAX */
};

/* One message and who sent it. */
struct intake_item {
    const struct agg_message *message;
    struct route_end from;
    ck_time_t now;
};

struct intake *
intake_create(struct agg *agg, struct jobs *jobs, struct reply *reply)
{
    struct intake *intake = calloc(1, sizeof(*intake));

    if (!intake) {
        return NULL;
    }
    intake->agg = agg;
    intake->jobs = jobs;
    intake->reply = reply;
    intake->control = malloc(CONTROL_BYTES_MAX);
    if (!intake->control) {
        intake_destroy(intake);
        return NULL;
    }
    return intake;
}

void intake_destroy(struct intake *intake)
{
    int saved = errno;

    if (intake) {
        free(intake->control);
        free(intake);
    }
    errno = saved;
}

void intake_clock(struct intake *intake, struct clockserve *serve)
{
    intake->clockserve = serve;
}

void intake_where(struct intake *intake, struct where *where)
{
    intake->where = where;
}

void intake_count_refused(struct intake *intake)
{
    intake->facts.refused++;
    ck_warn("refused a message that has not exactly one part (%llu refused)",
            (unsigned long long)intake->facts.refused);
}

static void
refuse(struct intake *intake, const struct intake_item *item, const char *why)
{
    intake->facts.refused++;
    if (item->from.job) {
        job_count_refused(item->from.job);
        ck_warn("refused %zu bytes of rank %lld on %s: %s (%llu refused)",
                item->message->length,
                (long long)peer_facts(item->from.peer)->rank,
                peer_facts(item->from.peer)->host, why,
                (unsigned long long)intake->facts.refused);
        return;
    }
    ck_warn("refused %zu bytes: %s (%llu refused)", item->message->length, why,
            (unsigned long long)intake->facts.refused);
}

/* A connection that sent no HELLO gets an answer, twice a second at most. */
static void stranger(struct intake *intake, const struct intake_item *item)
{
    const struct route *route = &item->message->from;

    intake->facts.strangers++;
    for (unsigned i = 0; i < TOLD_MAX; i++) {
        if (item->now - intake->told[i].at < TOLD_AGAIN &&
            route_equal(&intake->told[i].route, route)) {
            return;
        }
    }
    intake->told[intake->told_next] = (struct told){*route, item->now};
    intake->told_next = (intake->told_next + 1) % TOLD_MAX;
    (void)reply_text(intake->reply, route, CK_CONTROL_REFUSED,
                     REPLY_HELLO_FIRST);
}

/* The first frame that finds no room: the agent learns it, and keeps its own.
 */
static void
frame_full(struct intake *intake, const struct intake_item *item, bool is_told)
{
    const struct peer_facts *facts = peer_facts(item->from.peer);
    char text[PATH_MAX + 128];
    int error = errno;

    intake->facts.unwritten++;
    if (is_told) {
        return;
    }
    if (peer_is_due(item->from.peer)) {
        (void)reply_acks(intake->reply, item->from.peer);
        errno = error;
    }
    (void)snprintf(text, sizeof(text), "cannot write to %s: %s",
                   job_facts(item->from.job)->dir, strerror(errno));
    ck_error("%s; not acknowledged, rank %lld on %s keeps its data", text,
             (long long)facts->rank, facts->host);
    (void)reply_text(intake->reply, &item->message->from, CK_CONTROL_FULL,
                     text);
}

static void take_frame(struct intake *intake, const struct intake_item *item)
{
    const struct agg_message *message = item->message;
    struct ck_frame_header header;
    struct ck_err err = {"it is cut off"};
    bool was_full;
    int64_t length =
        ck_frame_check(message->bytes, message->length, &header, &err);

    if (length < 0 || (uint64_t)length != message->length) {
        refuse(intake, item,
               length > 0 ? "it is longer than its frame" : err.text);
        return;
    }
    if (header.first + header.units < header.first) {
        refuse(intake, item, "its position is out of bounds");
        return;
    }
    if (!item->from.peer) {
        stranger(intake, item);
        return;
    }
    peer_heard(item->from.peer, item->now);
    was_full = peer_is_full(item->from.peer);
    switch (peer_frame(item->from.peer, &header, message->bytes)) {
    case PEER_STORED:
    case PEER_STORED_BEFORE:
        break;
    case PEER_FOREIGN:
        refuse(intake, item, "a frame of another agent");
        return;
    case PEER_FULL:
        frame_full(intake, item, was_full);
        return;
    case PEER_REFUSED:
        refuse(intake, item, "too many streams");
        return;
    }
    if (peer_bytes_due(item->from.peer) >= INTAKE_ACK_BYTES) {
        (void)reply_acks(intake->reply, item->from.peer);
    }
}

static bool has_right(const struct intake *intake,
                      const struct route *route,
                      const struct ck_control *control)
{
    char token[CK_ENDPOINT_TOKEN_BYTES] = "";

    if (!agg_needs_token(intake->agg, route)) {
        return true;
    }
    (void)ck_lines_get(control->text, control->text_length, "token", token,
                       sizeof(token));
    return ck_auth_equal(agg_endpoint(intake->agg)->token, token);
}

/* Refuse a HELLO; its sender gets the reason. */
static void hello_refuse(struct intake *intake,
                         const struct intake_item *item,
                         const char *why)
{
    refuse(intake, item, why);
    (void)reply_text(intake->reply, &item->message->from, CK_CONTROL_REFUSED,
                     why);
}

static bool hello_is_good(struct intake *intake,
                          const struct intake_item *item,
                          const struct ck_control *control)
{
    static const uint8_t nobody[16];
    struct ck_err err;

    if (control->version != CK_FRAME_VERSION) {
        (void)ck_err_set(&err,
                         "version: the agent's protocol is %u, that of this "
                         "ckagg (%s) %d; "
                         "use one version of ck on all hosts",
                         control->version, ck_version(), CK_FRAME_VERSION);
        hello_refuse(intake, item, err.text);
        return false;
    }
    if (!has_right(intake, &item->message->from, control)) {
        hello_refuse(intake, item,
                     "token: missing or wrong; give the whole "
                     "endpoint text, with curve= and token=");
        return false;
    }
    if (memcmp(control->agent, nobody, sizeof(nobody)) == 0) {
        hello_refuse(intake, item, "the hello has no agent id");
        return false;
    }
    if (item->from.peer &&
        memcmp(peer_agent(item->from.peer), control->agent, 16) != 0) {
        hello_refuse(intake, item, "a second agent on one connection");
        return false;
    }
    return true;
}

/* How an agent that gave a key may probe the clock, as lines of WELCOME. */
static void clock_lines(struct intake *intake,
                        const struct ck_control *hello,
                        struct ck_lines *lines)
{
    char hex[CK_AUTH_KEY_HEX + 1] = "";
    uint8_t key[CK_AUTH_KEY_BYTES];
    const struct ck_domain *domain;
    uint64_t session;
    char text[24];

    if (!intake->clockserve) {
        return;
    }
    domain = clockserve_domain(intake->clockserve);
    ck_lines_put(lines, "reference_boot_id", domain->boot_id);
    ck_lines_put(lines, "reference_timens", domain->timens);
    if (!ck_lines_get(hello->text, hello->text_length, "clock_key", hex,
                      sizeof(hex)) ||
        ck_auth_key_parse(hex, key) != 0) {
        return;
    }
    session = clocksessions_open(clockserve_sessions(intake->clockserve),
                                 hello->agent, key);
    ck_auth_forget(key);
    if (session == 0) {
        return;
    }
    ck_lines_put_number(lines, "clock_port",
                        clockserve_port(intake->clockserve));
    (void)snprintf(text, sizeof(text), "%016" PRIx64, session);
    ck_lines_put(lines, "clock_session", text);
}

static void hello_welcome(struct intake *intake,
                          const struct route_end *end,
                          const struct ck_control *hello)
{
    const struct job_facts *facts = job_facts(end->job);
    const char *slash = strrchr(facts->dir, '/');
    char text[LINES_BYTES];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    ck_lines_put(&lines, "run", slash && slash[1] ? slash + 1 : facts->dir);
    ck_lines_put(&lines, "dir", facts->dir);
    ck_lines_put(&lines, "version", ck_version());
    ck_lines_put_number(&lines, "uid", (int64_t)geteuid());
    clock_lines(intake, hello, &lines);
    (void)reply_welcome(intake->reply, end->peer, text);
}

/* 0 = it is not there. */
static int64_t hello_number(const struct ck_control *hello, const char *name)
{
    char text[32] = "";

    (void)ck_lines_get(hello->text, hello->text_length, name, text,
                       sizeof(text));
    return strtoll(text, NULL, 10);
}

/* When the hello's launcher began; nothing of an agent of an older version. */
static void launcher_read(const struct ck_control *hello,
                          struct jobs_wish *wish)
{
    struct ck_begin *launcher = &wish->launcher;

    launcher->realtime = hello_number(hello, "launcher_start");
    launcher->boottime = hello_number(hello, "launcher_boottime");
    (void)ck_lines_get(hello->text, hello->text_length, "boot_id",
                       launcher->boot_id, sizeof(launcher->boot_id));
    wish->is_local = ck_domain_is_here(launcher->boot_id);
}

static void take_hello(struct intake *intake,
                       const struct intake_item *item,
                       const struct ck_control *control)
{
    char key[JOB_KEY_BYTES] = "";
    char name[256] = "";
    struct jobs_wish wish = {.key = key, .name = name};
    struct route_end end = {NULL, NULL};
    struct ck_err err;

    if (!hello_is_good(intake, item, control)) {
        return;
    }
    (void)ck_lines_get(control->text, control->text_length, "job_key", key,
                       sizeof(key));
    (void)ck_lines_get(control->text, control->text_length, "job", name,
                       sizeof(name));
    wish.name = name[0] ? name : key;
    launcher_read(control, &wish);
    if (jobs_is_later(intake->jobs, &wish)) {
        /* It asks again, and meets the ckagg that it starts behind us. */
        intake->facts.later++;
        return;
    }
    end.job = jobs_open(intake->jobs, &wish, &err);
    if (end.job) {
        end.peer = job_peer(end.job, control->agent, &err);
    }
    if (!end.peer ||
        jobs_bind(intake->jobs, &item->message->from, end, &err) != 0) {
        hello_refuse(intake, item, err.text);
        return;
    }
    peer_hello(end.peer, &item->message->from, control->text,
               control->text_length, item->now);
    job_hello(end.job, key, name, peer_facts(end.peer), item->now);
    ck_debug("hello of rank %lld on %s, pid %lld",
             (long long)peer_facts(end.peer)->rank, peer_facts(end.peer)->host,
             (long long)peer_facts(end.peer)->pid);
    agg_accept(intake->agg, item->message);
    hello_welcome(intake, &end, control);
}

/* Whoever leaves last sees to it that the run is finished, by another ckagg if
 * this one dies. */
static const char *farewell_text(const struct intake_item *item)
{
    if (peer_is_kept(item->from.peer) &&
        manifest_save(item->from.job, NULL) == 0) {
        return REPLY_NOTED;
    }
    return job_is_deserted(item->from.job) ? REPLY_LAST : "";
}

static void take_goodbye(struct intake *intake,
                         const struct intake_item *item,
                         const struct ck_control *control)
{
    struct peer *peer = item->from.peer;

    peer_count(peer, control->text, control->text_length);
    if (peer_is_due(peer)) {
        (void)reply_acks(intake->reply, peer);
    }
    if (peer_is_full(peer) && !peer_is_kept(peer)) {
        /* Not all is stored: it is asked to send again when there is room. */
        peer_heard(peer, item->now);
        return;
    }
    intake->facts.goodbyes++;
    peer_goodbye(peer, item->now);
    if (intake->clockserve) {
        clocksessions_close(clockserve_sessions(intake->clockserve),
                            peer_agent(peer));
    }
    job_touch(item->from.job);
    (void)reply_text(intake->reply, &item->message->from, CK_CONTROL_FAREWELL,
                     farewell_text(item));
}

/* The job that a client or a peer asks about. */
static struct job *client_job(const struct intake *intake,
                              const struct intake_item *item,
                              const struct ck_control *control)
{
    char key[JOB_KEY_BYTES] = "";

    if (item->from.job) {
        return item->from.job;
    }
    (void)ck_lines_get(control->text, control->text_length, "job_key", key,
                       sizeof(key));
    return jobs_find(intake->jobs, key);
}

static void take_report(struct intake *intake,
                        const struct intake_item *item,
                        struct job *job)
{
    const struct route *route = &item->message->from;

    if (job_facts(job)->state == JOB_DONE) {
        reportreply_send(intake->reply, route, job, NULL);
    } else if (job_wait_add(job, route) != 0) {
        hello_refuse(intake, item, "too many clients wait for this report");
    }
}

static void take_where(struct intake *intake,
                       const struct intake_item *item,
                       struct job *job)
{
    const char *why =
        intake->where == NULL
            ? "this ckagg does not answer that"
            : where_ask(intake->where, job, &item->message->from, item->now);

    if (why != NULL) {
        hello_refuse(intake, item, why);
    }
}

static void take_status(struct intake *intake,
                        const struct intake_item *item,
                        const struct ck_control *control)
{
    char format[16] = "";
    char *text;

    (void)ck_lines_get(control->text, control->text_length, "format", format,
                       sizeof(format));
    if (strcmp(format, "table") == 0) {
        text = status_table(intake->jobs, ck_time_of(CLOCK_REALTIME));
    } else if (strcmp(format, "clocks") == 0) {
        text = clockstatus_table(intake->clockserve, intake->jobs);
    } else if (strcmp(format, "clocks-json") == 0) {
        text = clockstatus_json(intake->clockserve, intake->jobs);
    } else {
        text = status_json(intake->jobs, &intake->facts, intake->clockserve);
    }
    if (text && strlen(text) > CK_CONTROL_TEXT_MAX) {
        hello_refuse(intake, item, "the status is too long to send");
    } else {
        (void)reply_text(intake->reply, &item->message->from, CK_CONTROL_STATUS,
                         text ? text : "");
    }
    free(text);
}

static void take_client(struct intake *intake,
                        const struct intake_item *item,
                        const struct ck_control *control)
{
    struct job *job = client_job(intake, item, control);

    if (!item->from.peer && !has_right(intake, &item->message->from, control)) {
        hello_refuse(intake, item, "token: missing or wrong");
        return;
    }
    agg_accept(intake->agg, item->message);
    if (control->type == CK_CONTROL_STATUS) {
        take_status(intake, item, control);
        return;
    }
    if (!job) {
        hello_refuse(intake, item, "no such job; name it by its job_key");
        return;
    }
    if (control->type == CK_CONTROL_STOP) {
        job_stop(job);
    } else if (control->type == CK_CONTROL_WHERE) {
        take_where(intake, item, job);
    } else {
        take_report(intake, item, job);
    }
}

/* A clock probe where neither UDP nor TCP passes. */
static void take_clock(struct intake *intake,
                       const struct intake_item *item,
                       const struct ck_control *control)
{
    char hex[CK_PROBE_HEX] = "";
    char text[CK_PROBE_HEX + 16];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));
    uint8_t bytes[CK_PROBE_BYTES];
    uint8_t answer[CK_PROBE_BYTES];
    struct clocksession_arrival arrival = {.bytes = bytes,
                                           .received = ck_time_raw()};

    if (!intake->clockserve ||
        !has_right(intake, &item->message->from, control)) {
        refuse(intake, item, "a clock probe without the right to it");
        return;
    }
    (void)ck_lines_get(control->text, control->text_length, "probe", hex,
                       sizeof(hex));
    arrival.length = ck_probe_from_hex(hex, bytes);
    if (clocksessions_answer(clockserve_sessions(intake->clockserve), &arrival,
                             answer) == CLOCKSESSION_GOOD) {
        agg_accept(intake->agg, item->message);
        ck_probe_to_hex(answer, hex);
        ck_lines_put(&lines, "probe", hex);
        (void)reply_text(intake->reply, &item->message->from, CK_CONTROL_CLOCK,
                         text);
    }
}

static void take_control(struct intake *intake,
                         const struct intake_item *item,
                         const struct ck_control *control)
{
    if (control->type == CK_CONTROL_WHERE && item->from.peer != NULL) {
        peer_heard(item->from.peer, item->now);
        if (intake->where != NULL) {
            where_looked(intake->where, item->from.peer);
        }
        return;
    }
    switch (control->type) {
    case CK_CONTROL_HELLO:
        take_hello(intake, item, control);
        return;
    case CK_CONTROL_STATUS:
    case CK_CONTROL_REPORT:
    case CK_CONTROL_STOP:
    case CK_CONTROL_WHERE:
        take_client(intake, item, control);
        return;
    case CK_CONTROL_CLOCK:
        take_clock(intake, item, control);
        return;
    case CK_CONTROL_BEAT:
    case CK_CONTROL_GOODBYE:
        break;
    default:
        refuse(intake, item, "a message that only ckagg sends");
        return;
    }
    if (!item->from.peer) {
        stranger(intake, item);
        return;
    }
    if (control->type == CK_CONTROL_GOODBYE) {
        take_goodbye(intake, item, control);
        return;
    }
    peer_count(item->from.peer, control->text, control->text_length);
    peer_heard(item->from.peer, item->now);
}

void intake_take(struct intake *intake,
                 const struct agg_message *message,
                 ck_time_t now)
{
    struct intake_item item = {
        .message = message,
        .from = jobs_end_of(intake->jobs, &message->from),
        .now = now,
    };
    struct ck_control control;
    struct ck_err err;
    uint32_t magic = 0;

    intake->facts.messages++;
    intake->facts.bytes += message->length;
    if (message->length >= sizeof(magic)) {
        memcpy(&magic, message->bytes, sizeof(magic));
    }
    if (magic == CK_FRAME_MAGIC) {
        take_frame(intake, &item);
        return;
    }
    if (!ck_control_is(message->bytes, message->length) ||
        message->length > CONTROL_BYTES_MAX) {
        refuse(intake, &item, "neither a frame nor a control message");
        return;
    }
    memcpy(intake->control, message->bytes, message->length);
    if (ck_control_decode(intake->control, message->length, &control, &err)) {
        refuse(intake, &item, err.text);
        return;
    }
    take_control(intake, &item, &control);
}

struct intake_facts intake_facts(const struct intake *intake)
{
    struct intake_facts facts = intake->facts;

    facts.shut = agg_shut(intake->agg);
    return facts;
}
