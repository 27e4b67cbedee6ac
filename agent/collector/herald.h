/* herald.h - what the user is told of the aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collector has no terminal: its lines go to the front. What holds for
 * all ranks of a host is said by one of them; notes for the report are said
 * by each. One user, one thread.
 */
#ifndef CK_AGENT_COLLECTOR_HERALD_H
#define CK_AGENT_COLLECTOR_HERALD_H

#include <limits.h>
#include <stdbool.h>

#include "agent/collector/wish.h"
#include "agent/link/session.h"
#include "agent/link/silence.h"
#include "agent/stream/own.h"
#include "agent/stream/spool.h"
#include "schema/endpoint.h"
#include "schema/err.h"

struct herald {
    const struct collector_wish *wish; /* borrowed, as the next two */
    struct spool *spool;
    struct own *own;
    struct silence silence;
    char url[CK_ENDPOINT_URL_BYTES]; /* of the aggregator; "" = none yet */
    char kept[PATH_MAX];             /* directory of the spool; "" = none */
    struct ck_err warned;            /* said last */
    bool is_held;                    /* the target waits: no data yet */
    bool is_hopeless;                /* there will be no aggregator */
    bool is_welcome;                 /* it answered: the front knows */
    bool is_waiting;                 /* that the end waits was said */
    bool has_begun;                  /* herald_look() was called */
    bool has_voice;                  /* the lock of who speaks is ours */
    bool is_alone;                   /* no speaker is there: we are ours */
    bool is_last;                    /* every other agent has left */
    bool is_leading;                 /* rank 0 is not recorded: the report is
                                        ours to show */
};

/* A line of this rank's own. */
void herald_warn(const struct herald *herald, const char *text);
/* Something failed that is tried again; not twice in a row. */
void herald_trouble(struct herald *herald, const struct ck_err *err);
/* There will be no aggregator, and why; once. */
void herald_hopeless(struct herald *herald, const char *why);
/* What came of the talk so far: a welcome, a refusal, or nothing yet. */
void herald_hear(struct herald *herald, const struct session *session);
/* Look whether the aggregator, heard last at `heard`, is silent. */
void herald_look(struct herald *herald, ck_time_t heard, ck_time_t now);
/* The end waits for the aggregator, since `since` and until `until`; said
 * once, if it is long. */
void herald_wait(struct herald *herald,
                 ck_time_t since,
                 ck_time_t now,
                 ck_time_t until);
/* The data stays in the spool; `full`: what the aggregator said of its disk,
 * "" = nothing; else the user is told by herald_kept(). */
void herald_spooled(struct herald *herald, const char *full);
/* The aggregator knows of the spool or did not answer; `run`: the directory
 * where it noted that, NULL = nowhere. */
void herald_kept(struct herald *herald, const char *full, const char *run);

/* Do we lead in place of rank 0? The front is told once. */
void herald_lead(struct herald *herald, bool leads);
/* Is the report ours to show? */
bool herald_reports(const struct herald *herald);
/* So long we wait for it, or for the end of its making; 0 = not at all. Who
 * waits starts another ckagg if the one at work dies: one agent at least does,
 * the last of the job. */
ck_time_t herald_patience(const struct herald *herald);

#endif
