/* where.h - `ckagg --where`: where all ranks of a running job are
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The agents are asked to look and to send all that they have; then a ckmerge
 * of what is stored finds which rank waits for which, and where. Clients that
 * ask meanwhile get the same answer. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_WHERE_H
#define CK_AGGREGATOR_WHERE_H

#include <stdbool.h>

#include "aggregator/jobs/jobs.h"
#include "aggregator/jobs/reply.h"
#include "schema/time.h"

/* Agents that do not answer within it are named. */
#define WHERE_LIMIT (3 * CK_TIME_S)
/* CPU time after which the merge is ended. */
#define WHERE_CPU_S 120
/* Time after which it is, too: those who ask wait little longer. */
#define WHERE_WALL (170 * CK_TIME_S)
/* Who may wait for one answer. */
#define WHERE_CLIENTS_MAX 16

struct where;

/* Both borrowed. NULL with ENOMEM. */
struct where *where_create(struct jobs *jobs, struct reply *reply);
void where_destroy(struct where *where);

/* A client asks about a job. Why it cannot be answered, or NULL: it will be. */
const char *where_ask(struct where *where,
                      struct job *job,
                      const struct route *client,
                      ck_time_t now);
/* An agent has looked. */
void where_looked(struct where *where, const struct peer *peer);
/* Go on: to be called often while it is busy. */
void where_step(struct where *where, ck_time_t now);
bool where_is_busy(const struct where *where);

#endif
