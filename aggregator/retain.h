/* retain.h - how many finished runs a service keeps
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_RETAIN_H
#define CK_AGGREGATOR_RETAIN_H

#include <stdint.h>

#include "aggregator/jobs/jobs.h"

/* Remove the oldest run directories (ck-*, with a manifest, ours) below dir
 * until `keep` are left. Runs of jobs that are open are never removed, nor
 * anything that is not a file of a run: such a directory stays. Logs. */
void retain_runs(const char *dir, int64_t keep, const struct jobs *jobs);

#endif
