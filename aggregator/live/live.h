/* live.h - running jobs as pages and metrics (--http)
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   /TOKEN/            the jobs; of a single one its page
 *   /TOKEN/ID/N/       the page of job ID as its N-th merge made it; another N
 *                      leads to the newest one, "done" is the final report
 *   /TOKEN/ID/state    what is stored of it, and when it was merged: JSON
 *   /TOKEN/metrics     OpenMetrics of all jobs; also /metrics with the token
 *                      as bearer
 */
#ifndef CK_AGGREGATOR_LIVE_LIVE_H
#define CK_AGGREGATOR_LIVE_LIVE_H

#include <stdbool.h>

#include "aggregator/jobs/jobs.h"
#include "schema/err.h"
#include "schema/time.h"

struct live;

/* Listen at "HOST:PORT" of loopback; `jobs` is borrowed. NULL with err. */
struct live *
live_create(const char *address, const struct jobs *jobs, struct ck_err *err);
void live_destroy(struct live *live);
/* Where it is reached, with the token; borrowed. */
const char *live_url(const struct live *live);
/* For the loop: httpserver.h. */
int live_fd(const struct live *live);
int live_timeout(const struct live *live, int most_ms);
/* The job is to be merged for good: a merge of it that is at work is ended. */
void live_release(struct live *live, const struct job *job);
/* Answer what came; begin and end merges of running jobs, none while
 * `is_merging` (a job that ended is merged). */
void live_run(struct live *live, bool is_merging, ck_time_t now);

#endif
