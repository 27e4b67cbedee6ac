/* collector.h - the process that drains, ships and spools
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A child of the front in a session of its own, without its files: it
 * outlives the front and the target, whatever kills them.
 */
#ifndef CK_AGENT_COLLECTOR_COLLECTOR_H
#define CK_AGENT_COLLECTOR_COLLECTOR_H

#include "agent/process/agentconfig.h"

/* Be the collector: never returns to the front's code. Exit status. */
int collector_run(const struct agent_config *config);

#endif
