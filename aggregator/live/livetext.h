/* livetext.h - texts about a running job that has no merge yet
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_LIVE_LIVETEXT_H
#define CK_AGGREGATOR_LIVE_LIVETEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregator/jobs/job.h"
#include "aggregator/live/livemerge.h"
#include "schema/time.h"

/* No script, no style, no request. */
#define LIVETEXT_POLICY                                                        \
    "default-src 'none'; base-uri 'none'; form-action 'none'"

/* For the page's script: docs/protocol.md. malloc'ed, NULL without memory. */
char *livetext_state(const struct job *job,
                     const struct livemerge_facts *merge,
                     ck_time_t now);
/* The page until the first merge is done, which loads itself again; of a job
 * that has ended without a page, that. */
void livetext_wait(FILE *out, const struct job *job);
/* A list of the jobs, begun and ended by the caller. */
void livetext_list_begin(FILE *out, size_t jobs);
void livetext_list_job(FILE *out, const struct job *job);
void livetext_list_end(FILE *out);

/* What ckagg knows of the job as metrics. `merge` NULL: it is not merged
 * while it runs. */
void livetext_metrics(FILE *out,
                      const struct job *job,
                      const struct livemerge_facts *merge,
                      ck_time_t now);

#endif
