/* usermessages.h - what is logged to the user of the aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collector has no terminal: its lines go to the front. What holds for
 * all ranks of a host is logged by one of them; notes for the report are
 * written by each. One user, one thread.
 */
#ifndef CK_AGENT_COLLECTOR_USERMESSAGES_H
#define CK_AGENT_COLLECTOR_USERMESSAGES_H

#include <limits.h>
#include <stdbool.h>

#include "agent/process/agentconfig.h"
#include "agent/link/session.h"
#include "agent/link/aggregatortimeout.h"
#include "agent/stream/selfstream.h"
#include "agent/stream/spool.h"
#include "schema/endpoint.h"
#include "schema/err.h"

struct usermessages {
    const struct agent_config *config; /* borrowed, as the next two */
    struct spool *spool;
    struct selfstream *selfstream;
    struct aggregatortimeout aggregatortimeout;
    char url[CK_ENDPOINT_URL_BYTES]; /* of the aggregator; "" = none yet */
    char kept[PATH_MAX];             /* directory of the spool; "" = none */
    struct ck_err warned;            /* logged last */
    bool is_held;                    /* the target waits: no data yet */
    bool is_hopeless;                /* there will be no aggregator */
    bool is_welcome;                 /* it answered: the front knows */
    bool is_waiting;                 /* that the end waits was logged */
    bool has_begun;                  /* usermessages_look() was called */
    bool has_voice;                  /* the lock of the agent that logs: ours */
    bool is_alone;                   /* no other agent logs: we do */
    bool is_last;                    /* every other agent has left */
    bool is_leading;                 /* rank 0 is not recorded: the report is
                                        ours to show */
};

/* A line of this rank's own. */
void usermessages_warn(const struct usermessages *usermessages,
                       const char *text);
/* Something failed that is tried again; not twice in a row. */
void usermessages_trouble(struct usermessages *usermessages,
                          const struct ck_err *err);
/* There will be no aggregator, and why; once. */
void usermessages_hopeless(struct usermessages *usermessages, const char *why);
/* What came of the talk so far: a welcome, a refusal, or nothing yet. */
void usermessages_hear(struct usermessages *usermessages,
                       const struct session *session);
/* Look whether the aggregator, which sent last at `heard`, is silent. */
void usermessages_look(struct usermessages *usermessages,
                       ck_time_t heard,
                       ck_time_t now);
/* The end waits for the aggregator, since `since` and until `until`; logged
 * once, if it is long. */
void usermessages_wait(struct usermessages *usermessages,
                       ck_time_t since,
                       ck_time_t now,
                       ck_time_t until);
/* The data stays in the spool; `full`: what the aggregator reported of its
 * disk,
 * "" = nothing; else usermessages_kept() logs it. */
void usermessages_spooled(struct usermessages *usermessages, const char *full);
/* The aggregator knows of the spool or did not answer; `run`: the directory
 * where it noted that, NULL = nowhere. */
void usermessages_kept(struct usermessages *usermessages,
                       const char *full,
                       const char *run);

/* Our ckagg shows the running job at `url`, or does not because of `why`; the
 * other is "". */
void usermessages_pages(const struct usermessages *usermessages,
                        const char *url,
                        const char *why);

/* Do we lead in place of rank 0? The front learns it once. */
void usermessages_lead(struct usermessages *usermessages, bool leads);
/* Is the report ours to show? */
bool usermessages_reports(const struct usermessages *usermessages);
/* So long we wait for it, or for the end of its making; 0 = not at all. Who
 * waits starts another ckagg if the one at work dies: one agent at least does,
 * the last of the job. */
ck_time_t usermessages_patience(const struct usermessages *usermessages);

#endif
