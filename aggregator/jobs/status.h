/* status.h - what ckagg reports of itself: a line on a terminal, JSON, a table
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_JOBS_STATUS_H
#define CK_AGGREGATOR_JOBS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregator/jobs/intakefacts.h"
#include "aggregator/jobs/jobs.h"
#include "schema/time.h"

struct clockserve;

/* For events per second between two looks. */
struct status_rate {
    ck_time_t at;
    uint64_t records;
    uint64_t bytes;
    double records_per_s;
    double bytes_per_s;
};

/* Totals over all jobs. */
struct job_totals status_totals(const struct jobs *jobs);

/* The answer to STATUS: malloc'ed text, NULL without memory. `serve` may be
 * NULL. */
char *status_json(const struct jobs *jobs,
                  const struct intake_facts *intake,
                  const struct clockserve *serve);

/* The same for people: what is known of each job (who, since when, how much),
 * a line an agent. `now`: REALTIME, ns. malloc'ed, NULL without memory. */
char *status_table(const struct jobs *jobs, int64_t now);

/* Bring the rates up to date. */
void status_rate_look(struct status_rate *rate,
                      const struct job_totals *totals,
                      ck_time_t now);
/* One line of at most `room` - 1 bytes. */
void status_line(const struct job_totals *totals,
                 const struct status_rate *rate,
                 char *line,
                 size_t room);

/* 1536 -> "1.5 KiB"; 1234567 -> "1.23 M" (without unit). */
void status_bytes(uint64_t bytes, char *text, size_t room);
/* 185 s -> "3 min 5 s": the two largest units. */
void status_age(int64_t ns, char *text, size_t room);
void status_count(double count, char *text, size_t room);

#endif
