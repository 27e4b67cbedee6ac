/* reportreply.h - the answer to the clients that wait for a job's report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_JOBS_REPORTREPLY_H
#define CK_AGGREGATOR_JOBS_REPORTREPLY_H

#include "aggregator/jobs/job.h"
#include "aggregator/jobs/reply.h"

/* Answer one client: lines, an empty line, `text` (NULL: report.txt of the
 * run as far as it fits). */
void reportreply_send(struct reply *reply,
                      const struct route *to,
                      const struct job *job,
                      const char *text);
/* Answer all that wait. */
void reportreply_send_all(struct reply *reply,
                          struct job *job,
                          const char *text);

#endif
