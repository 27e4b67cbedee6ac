/* rendezvous.h - how an agent finds its aggregator, or starts one
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * docs/protocol.md has the rules. Nothing here waits: rendezvous_step() is
 * called in each turn of the collector's loop until something is found, and
 * once a second afterwards (a dead ckagg is started again).
 */
#ifndef CK_AGENT_LINK_RENDEZVOUS_H
#define CK_AGENT_LINK_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/process/agentconfig.h"
#include "schema/endpoint.h"
#include "schema/err.h"
#include "schema/ring/ring.h"
#include "schema/time.h"

struct rendezvous;

/* The configuration is borrowed. NULL with err. */
struct rendezvous *rendezvous_create(const struct agent_config *config,
                                     struct ck_err *err);
void rendezvous_destroy(struct rendezvous *rendezvous);

/* One turn. `is_heard`: the aggregator has answered lately. 1: connect to
 * *endpoint at *url from now on, 0: nothing new, -1 with err: a step failed
 * (worth a log line; the next turn goes on).
 */
int rendezvous_step(struct rendezvous *rendezvous,
                    ck_time_t now,
                    bool is_heard,
                    struct ck_endpoint *endpoint,
                    size_t *url,
                    struct ck_err *err);

/* ckagg could not be started, and no other one is there. */
bool rendezvous_is_hopeless(const struct rendezvous *rendezvous);

/* Start none from now on; one that others start is still found. */
void rendezvous_abstain(struct rendezvous *rendezvous);

/* No agent waits for the ckagg that we started: if it is stopped it goes on, so
 * that it ends. */
void rendezvous_wake(struct rendezvous *rendezvous);

/* We started the ckagg of a job on one host though we are not rank 0: that one
 * is not recorded, or late. */
bool rendezvous_leads(const struct rendezvous *rendezvous);

/* The ckagg that we started shows the job at *url, or does not because of *why;
 * the other is "". True once for each. */
bool rendezvous_has_pages(struct rendezvous *rendezvous,
                          const char **url,
                          const char **why);

/* True once for each ckagg that was started in place of a dead one. */
bool rendezvous_has_restarted(struct rendezvous *rendezvous);

#endif
