/* torchrun.h - what a torchrun that is to be started is given of its hosts
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * `ckagent -- torchrun --nnodes 2 ...` runs once on each host, and no variable
 * shows that the hosts are one job: torchrun's own options do.
 */
#ifndef CK_AGENT_PROCESS_TORCHRUN_H
#define CK_AGENT_PROCESS_TORCHRUN_H

#include <stdbool.h>

#include "agent/process/identity.h"

#define TORCHRUN_NODES_MAX (1 << 16)

/* Of one host among several. */
struct torchrun_node {
    int nodes;      /* 2 or more */
    int node;       /* 0 = where the ranks meet; of the others -1 where they
                       are not numbered */
    char name[120]; /* of the job: equal on all hosts */
};

/* Is the program a torchrun over several hosts? Options, then PET_ variables in
 * `env`, as torchrun takes them. False: it is none, it runs on one host, its
 * number of hosts may change, or where they meet is not known. */
bool torchrun_read(char *const *argv,
                   char *const *env,
                   struct torchrun_node *node);

/* The agents of these hosts are one job, ranked by their hosts; the program's
 * ranks are their own. With has_name the job's key stays. */
void torchrun_spread(struct identity *identity,
                     const struct torchrun_node *node,
                     bool has_name);

#endif
