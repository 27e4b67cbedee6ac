/* session.c - an agent's talk with its aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rule that makes it simple: what is sent stays in outbox or spool until
 * it is acknowledged, and after each welcome everything that is left there is
 * sent again, in order.
 */
#include "agent/link/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/link/ship.h"
#include "launch/log.h"
#include "schema/store/run.h"

#define HELLO_AGAIN (1 * CK_TIME_S)
#define REPORT_AGAIN (20 * CK_TIME_S)
/* Frames a turn, so that draining is never kept waiting. */
#define FRAMES_A_TURN 16
#define LINES_BYTES 4096

struct session {
    const struct identity *identity; /* borrowed */
    struct framewriter *framewriter; /* borrowed */
    const char *clock_key;           /* borrowed */
    struct ship *ship;
    struct ck_endpoint endpoint;
    size_t url; /* of the endpoint */
    unsigned welcomes;
    struct clockreference reference;
    enum session_state state;
    ck_time_t hello_at; /* when HELLO was sent last, 0 = not */
    ck_time_t heard;
    bool is_leaving;
    bool is_held;
    bool wants_report;
    bool is_asked;  /* WHERE came */
    bool is_looked; /* its answer goes behind what is to be sent */
    ck_time_t asked_at;
    bool is_rest_kept; /* what is not acknowledged stays in the spool */
    char goodbye[SESSION_GOODBYE_BYTES + 1100];
    char full[512];
    bool is_noted;
    bool is_last;
    char dir[1024];
    int64_t owner; /* of the run, as WELCOME has it; -1 = not known */
    char refusal[256];
    char *report;
    size_t report_length;
};

struct session *session_create(const struct identity *identity,
                               struct framewriter *framewriter,
                               const char *clock_key)
{
    struct session *session = calloc(1, sizeof(*session));

    if (session != NULL) {
        session->identity = identity;
        session->owner = -1;
        session->framewriter = framewriter;
        session->clock_key = clock_key;
    }
    return session;
}

void session_destroy(struct session *session)
{
    if (session != NULL) {
        ship_destroy(session->ship);
        free(session->report);
        free(session);
    }
}

int session_open(struct session *session,
                 const struct ck_endpoint *endpoint,
                 size_t url,
                 struct ck_err *err)
{
    struct ship *ship =
        ship_create(endpoint, url, session->identity->agent, err);

    if (ship == NULL) {
        return -1;
    }
    ship_destroy(session->ship);
    session->ship = ship;
    session->endpoint = *endpoint;
    session->url = url;
    session->state = SESSION_GREETING;
    session->hello_at = 0;
    return 0;
}

static void hello_say(struct session *session, ck_time_t now)
{
    char text[LINES_BYTES];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));
    const char *token = session->endpoint.token;

    identity_lines(session->identity, getpid(), token[0] == '\0' ? NULL : token,
                   &lines);

    if (session->clock_key != NULL) {
        ck_lines_put(&lines, "clock_key", session->clock_key);
    }
    if (ship_control(session->ship, CK_CONTROL_HELLO, text) == 0) {
        session->hello_at = now;
    }
}

static void acks_take(struct session *session, const struct ck_control *control)
{
    (void)framewriter_ack(session->framewriter, control->acks,
                          control->acks_count);
}

/* Lines that are missing leave their field empty. */
static void reference_take(struct session *session,
                           const struct ck_control *control)
{
    struct clockreference *reference = &session->reference;
    char number[24] = "";

    memset(reference, 0, sizeof(*reference));
    (void)ck_lines_get(control->text, control->text_length, "reference_boot_id",
                       reference->domain.boot_id,
                       sizeof(reference->domain.boot_id));
    (void)ck_lines_get(control->text, control->text_length, "reference_timens",
                       reference->domain.timens,
                       sizeof(reference->domain.timens));
    if (ck_lines_get(control->text, control->text_length, "clock_session",
                     number, sizeof(number))) {
        reference->session = strtoull(number, NULL, 16);
    }
    if (ck_lines_get(control->text, control->text_length, "clock_port", number,
                     sizeof(number))) {
        long port = strtol(number, NULL, 10);

        reference->port = port > 0 && port <= 65535 ? (int)port : 0;
    }
}

static void owner_take(struct session *session,
                       const struct ck_control *control)
{
    char number[24] = "";

    session->owner = ck_lines_get(control->text, control->text_length, "uid",
                                  number, sizeof(number))
                         ? strtoll(number, NULL, 10)
                         : -1;
}

static void welcome_take(struct session *session,
                         const struct ck_control *control)
{
    acks_take(session, control);
    (void)ck_lines_get(control->text, control->text_length, "dir", session->dir,
                       sizeof(session->dir));
    owner_take(session, control);
    reference_take(session, control);
    session->welcomes++;
    session->full[0] = '\0';
    outbox_rewind(&session->framewriter->outbox);
    spool_rewind(session->framewriter->spool);
    if (session->state == SESSION_GREETING) {
        session->state = SESSION_SENDING;
    }
}

static void refusal_take(struct session *session,
                         const struct ck_control *control)
{
    if (strcmp(control->text, "hello first") == 0) {
        /* Another ckagg than we knew; it may send that several times. */
        if (session->state != SESSION_GREETING) {
            session->state = SESSION_GREETING;
            session->hello_at = 0;
            session->asked_at = 0;
        }
        return;
    }
    (void)snprintf(session->refusal, sizeof(session->refusal), "%s",
                   control->text);
    session->state = SESSION_REFUSED;
}

/* ZeroMQ does not try such a peer again. */
static void keys_refuse(struct session *session)
{
    (void)snprintf(session->refusal, sizeof(session->refusal), "%s",
                   session->endpoint.curve[0] == '\0'
                       ? "it wants keys; give the whole line that ckagg "
                         "printed, with curve= and token="
                       : "it has no keys; leave curve= and token= out of its "
                         "endpoint");
    session->state = SESSION_REFUSED;
}

static void report_take(struct session *session,
                        const struct ck_control *control)
{
    free(session->report);
    session->report = malloc(control->text_length + 1);
    if (session->report != NULL) {
        memcpy(session->report, control->text, control->text_length);
        session->report[control->text_length] = '\0';
        ck_terminal_tame(session->report);
        session->report_length = control->text_length;
        session->wants_report = false;
    }
}

static void control_take(struct session *session,
                         const struct ck_control *control)
{
    switch (control->type) {
    case CK_CONTROL_WELCOME:
        welcome_take(session, control);
        break;
    case CK_CONTROL_ACK:
        acks_take(session, control);
        break;
    case CK_CONTROL_FAREWELL:
        session->is_noted = strcmp(control->text, "noted") == 0;
        session->is_last = strcmp(control->text, "last") == 0;
        session->state = SESSION_LEFT;
        break;
    case CK_CONTROL_REFUSED:
        refusal_take(session, control);
        break;
    case CK_CONTROL_FULL:
        (void)snprintf(session->full, sizeof(session->full), "%s",
                       control->text);
        break;
    case CK_CONTROL_REPORT:
        report_take(session, control);
        break;
    case CK_CONTROL_WHERE:
        session->is_asked = true;
        break;
    default: /* of a newer version: not for us */
        break;
    }
}

/* Outbox first: its frames are older than the spool's. */
static void frames_send(struct session *session)
{
    struct outbox *outbox = &session->framewriter->outbox;
    struct spool *spool = session->framewriter->spool;
    const void *frame;
    size_t bytes;
    int turn = 0;

    while (turn < FRAMES_A_TURN &&
           (frame = outbox_unsent(outbox, &bytes)) != NULL) {
        if (ship_frame(session->ship, frame, bytes) != 0) {
            return;
        }
        outbox_sent(outbox);
        turn++;
    }
    while (turn < FRAMES_A_TURN &&
           (frame = spool_unsent(spool, &bytes)) != NULL) {
        if (ship_frame(session->ship, frame, bytes) != 0) {
            return;
        }
        spool_sent(spool);
        turn++;
    }
}

/* Frames that are sent before it are stored before it is read. */
static void look_answer(struct session *session)
{
    size_t bytes;

    if (session->is_looked &&
        outbox_unsent(&session->framewriter->outbox, &bytes) == NULL &&
        spool_unsent(session->framewriter->spool, &bytes) == NULL &&
        ship_control(session->ship, CK_CONTROL_WHERE, "") == 0) {
        session->is_looked = false;
    }
}

static void state_step(struct session *session, ck_time_t now, const char *beat)
{
    if (session->state == SESSION_GREETING &&
        (session->hello_at == 0 || now - session->hello_at >= HELLO_AGAIN)) {
        hello_say(session, now);
    }
    if (session->state == SESSION_SENDING) {
        if (!session->is_rest_kept) {
            frames_send(session);
        }
        look_answer(session);
        if (session->is_leaving &&
            (session->is_rest_kept ||
             (!session->is_held &&
              framewriter_is_empty(session->framewriter))) &&
            ship_control(session->ship, CK_CONTROL_GOODBYE, session->goodbye) ==
                0) {
            session->state = SESSION_LEAVING;
        }
    }
    if (beat != NULL &&
        (session->state == SESSION_SENDING ||
         session->state == SESSION_LEAVING || session->state == SESSION_LEFT)) {
        (void)ship_control(session->ship, CK_CONTROL_BEAT, beat);
    }
    if (session->state == SESSION_LEFT && session->wants_report &&
        (session->asked_at == 0 || now - session->asked_at > REPORT_AGAIN)) {
        char text[LINES_BYTES];
        struct ck_lines lines = ck_lines_in(text, sizeof(text));

        ck_lines_put(&lines, "job_key", session->identity->job_key);
        if (session->endpoint.token[0] != '\0') {
            ck_lines_put(&lines, "token", session->endpoint.token);
        }
        if (ship_control(session->ship, CK_CONTROL_REPORT, text) == 0) {
            session->asked_at = now;
        }
    }
}

void session_step(struct session *session, ck_time_t now, const char *beat)
{
    struct ck_control control;

    if (session->ship == NULL) {
        return;
    }
    while (ship_receive(session->ship, &control) == 1) {
        session->heard = now;
        control_take(session, &control);
    }
    if (session->state == SESSION_GREETING &&
        ship_is_mismatched(session->ship)) {
        keys_refuse(session);
    }
    state_step(session, now, beat);
}

void session_leave(struct session *session, const char *text)
{
    (void)snprintf(session->goodbye, sizeof(session->goodbye), "%s", text);
    session->is_leaving = true;
}

void session_leave_rest(struct session *session, const char *text)
{
    const char *path = spool_path(session->framewriter->spool);
    struct ck_lines lines =
        ck_lines_in(session->goodbye, sizeof(session->goodbye));

    session_leave(session, text);
    session->is_rest_kept = true;
    lines.used = strlen(session->goodbye);
    ck_lines_put(&lines, "spool_path",
                 spool_bytes(session->framewriter->spool) == 0 ? "" : path);
}

void session_hold(struct session *session, bool is_held)
{
    session->is_held = is_held;
}

unsigned session_clock(const struct session *session,
                       struct clockreference *reference,
                       struct clockreference_to *to)
{
    *reference = session->reference;
    to->endpoint = &session->endpoint;
    to->url = session->url;
    to->port = session->reference.port;
    to->agent = session->identity->agent;
    return session->welcomes;
}

bool session_asked(struct session *session)
{
    bool is_asked = session->is_asked;

    session->is_asked = false;
    return is_asked;
}

void session_looked(struct session *session)
{
    session->is_looked = true;
}

bool session_is_asked(const struct session *session)
{
    return session->is_looked;
}

void session_ask_report(struct session *session)
{
    if (session->report == NULL) {
        session->wants_report = true;
    }
}

enum session_state session_state(const struct session *session)
{
    return session->state;
}

int session_fd(const struct session *session)
{
    return session->ship == NULL ? -1 : ship_fd(session->ship);
}

ck_time_t session_heard(const struct session *session)
{
    return session->heard;
}

void session_forgive(struct session *session, ck_time_t away)
{
    if (session->heard != 0) {
        session->heard += away;
    }
}

int64_t session_owner(const struct session *session)
{
    return session->owner;
}

const char *session_dir(const struct session *session)
{
    return session->dir;
}

const char *session_refusal(const struct session *session)
{
    return session->refusal;
}

const char *session_full(const struct session *session)
{
    return session->full;
}

bool session_is_noted(const struct session *session)
{
    return session->is_noted;
}

bool session_is_last(const struct session *session)
{
    return session->is_last;
}

const char *session_report(const struct session *session, size_t *length)
{
    *length = session->report_length;
    return session->report;
}
