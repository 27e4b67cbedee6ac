/* manifest.h - manifest.json of a run directory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * docs/store.md has its fields.
 */
#ifndef CK_AGGREGATOR_JOBS_MANIFEST_H
#define CK_AGGREGATOR_JOBS_MANIFEST_H

#include "aggregator/jobs/job.h"
#include "schema/err.h"
#include "schema/json.h"

/* Replace the job's manifest where something changed since the last time. 0,
 * or -1 with err (it is tried again). */
int manifest_save(struct job *job, struct ck_err *err);

/* The job's fields and its agents, into an open object: the same for manifest
 * and status. */
void manifest_job(struct ck_json *json, const struct job *job);

#endif
