/* nearby.h - the run that another host's agent made in the same directory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Without --dir, rank 0's agent makes ck-JOB-START in its working
 * directory, which the hosts of a cluster mostly share.
 */
#ifndef CK_AGENT_LINK_NEARBY_H
#define CK_AGENT_LINK_NEARBY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define NEARBY_ENDPOINT "endpoint"

/* Is there a run of this job beside `dir` that goes on and has an endpoint of
 * this user's? `start`: of our launcher, seconds since 1970; runs that are much
 * older are another job's of the same name. True and its path in *found.
 */
bool nearby_find(const char *dir,
                 const char *job_key,
                 int64_t start,
                 char found[PATH_MAX]);

#endif
