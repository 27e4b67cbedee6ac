/* intake.h - takes one message of a peer or a client
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything from outside comes through here: it is checked before anything
 * is done with it, and what is refused is counted and logged (rate-limited).
 * Used from the loop only.
 */
#ifndef CK_AGGREGATOR_INTAKE_H
#define CK_AGGREGATOR_INTAKE_H

#include <stdint.h>

#include "aggregator/socket/agg.h"
#include "aggregator/clock/clockserve.h"
#include "aggregator/jobs/intakefacts.h"
#include "aggregator/jobs/jobs.h"
#include "aggregator/jobs/reply.h"
#include "aggregator/where.h"
#include "schema/time.h"

/* Acknowledge at once when so much was stored since the last time. */
#define INTAKE_ACK_BYTES ((uint64_t)1 << 20)

struct intake;

/* All borrowed. NULL with ENOMEM. */
struct intake *
intake_create(struct agg *agg, struct jobs *jobs, struct reply *reply);
void intake_destroy(struct intake *intake);
/* What answers clock probes (borrowed; NULL = nothing): it gets each HELLO. */
void intake_clock(struct intake *intake, struct clockserve *serve);

/* Who finds out where ranks are (borrowed). */
void intake_where(struct intake *intake, struct where *where);

void intake_take(struct intake *intake,
                 const struct agg_message *message,
                 ck_time_t now);
/* A message was dropped before it came here (parts). */
void intake_count_refused(struct intake *intake);

struct intake_facts intake_facts(const struct intake *intake);

#endif
