/* rank0substitute.h - rank 0 is not recorded: its ckagg is started all the same
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_FRONT_RANK0SUBSTITUTE_H
#define CK_AGENT_FRONT_RANK0SUBSTITUTE_H

#include "agent/link/rendezvous.h"

/* Start the job's ckagg from a process that is no child of this one, so that
 * the program that this one becomes meets no child it did not make. */
void rank0substitute_start(const struct agent_config *config);

#endif
