/* clockstatus.h - what ckagg reports of its agents' clocks while they run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the latest complete probes of each domain's leader, by the same band as
 * ckmerge uses afterwards over all of them. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_JOBS_CLOCKSTATUS_H
#define CK_AGGREGATOR_JOBS_CLOCKSTATUS_H

#include <stddef.h>

#include "aggregator/clock/clockserve.h"
#include "aggregator/jobs/jobs.h"
#include "schema/json.h"

/* Domains that the status line looks at. */
#define CLOCKSTATUS_LINE_MAX 64

/* A line a domain, for people. malloc'ed, NULL without memory. */
char *clockstatus_table(const struct clockserve *serve,
                        const struct jobs *jobs);
/* The same as JSON text. */
char *clockstatus_json(const struct clockserve *serve, const struct jobs *jobs);
/* As member "clock" of an open object; serve may be NULL. */
void clockstatus_put(struct ck_json *json,
                     const struct clockserve *serve,
                     const struct jobs *jobs);
/* For the status line, of each figure the worst: " · 3 clocks off 1.00 s, 0.25
 * ppm, +- 1.20 us, grade B", or "". */
void clockstatus_line(const struct clockserve *serve, char *text, size_t room);

#endif
