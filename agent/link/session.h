/* session.h - an agent's talk with its aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Hello, frames, acknowledgements, beats, goodbye, the report: the agent's
 * side of the control messages in docs/protocol.md. Nothing here waits: the
 * collector calls session_step() in each turn of its loop.
 *
 *   AWAY -> GREETING -> SENDING -> LEAVING -> LEFT     REFUSED: for good
 *              ^  hello first  |         |        |
 *              +---------------+---------+--------+
 */
#ifndef CK_AGENT_LINK_SESSION_H
#define CK_AGENT_LINK_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/link/clockreference.h"
#include "agent/process/identity.h"
#include "agent/stream/framewriter.h"
#include "schema/endpoint.h"
#include "schema/time.h"

enum session_state {
    SESSION_AWAY = 0,     /* no endpoint is known yet */
    SESSION_GREETING = 1, /* HELLO sent or to be sent, no WELCOME yet */
    SESSION_SENDING = 2,
    SESSION_LEAVING = 3, /* GOODBYE sent, no FAREWELL yet */
    SESSION_LEFT = 4,    /* everything is stored */
    SESSION_REFUSED = 5,
};

#define SESSION_GOODBYE_BYTES 1024

struct session;

/* All borrowed. HELLO carries `clock_key` (NULL = none). NULL with ENOMEM.
 */
struct session *session_create(const struct identity *identity,
                               struct framewriter *framewriter,
                               const char *clock_key);
void session_destroy(struct session *session);

/* The aggregator is there (or will be). 0, or -1 with err. */
int session_open(struct session *session,
                 const struct ck_endpoint *endpoint,
                 size_t url,
                 struct ck_err *err);

/* One turn: receive, send what can be sent. `beat` is the text of a beat that
 * is due now, or NULL. */
void session_step(struct session *session, ck_time_t now, const char *beat);

/* Send GOODBYE when the frame writer is empty. `text` is copied. */
void session_leave(struct session *session, const char *text);
/* Send GOODBYE though there are frames: they stay in the spool, whose path the
 * aggregator gets. */
void session_leave_rest(struct session *session, const char *text);
/* Keep the goodbye back as long as it is held. */
void session_hold(struct session *session, bool is_held);
/* What the last WELCOME had of the aggregator's clock, and where that is
 * (borrowed until the next session_open()). How many WELCOMEs came. */
unsigned session_clock(const struct session *session,
                       struct clockreference *reference,
                       struct clockreference_to *to);
/* Ask for the report, after the farewell. */
void session_ask_report(struct session *session);

/* The aggregator asked where all threads are; once for each time. It gets the
 * answer when what they do is written (session_looked()). */
bool session_asked(struct session *session);
void session_looked(struct session *session);
/* Is that answer still to be sent? */
bool session_is_asked(const struct session *session);

enum session_state session_state(const struct session *session);
/* Socket's descriptor for poll, -1 = none. */
int session_fd(const struct session *session);
/* Last time that anything came from the aggregator; 0 = never. */
ck_time_t session_heard(const struct session *session);
/* So long we did not listen: its last message is so much later. */
void session_forgive(struct session *session, ck_time_t away);
/* Run directory that the aggregator sent, "" = not known; borrowed. */
const char *session_dir(const struct session *session);
/* The user whose run it is, -1 = not known. */
int64_t session_owner(const struct session *session);
/* Why it was refused; borrowed. */
const char *session_refusal(const struct session *session);
/* What the aggregator reports of its disk, which is full; "" = it is not;
 * borrowed. */
const char *session_full(const struct session *session);
/* The aggregator could note our spool in the run. */
bool session_is_noted(const struct session *session);
/* Every agent of the job has left. */
bool session_is_last(const struct session *session);
/* REPORT's text as it came, or NULL; borrowed. */
const char *session_report(const struct session *session, size_t *length);

#endif
