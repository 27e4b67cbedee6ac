/* cuptigroup.h - which communicator of NCCL a launched kernel is of
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * cknccl reports it on the launching thread (nccllink.h), and the kernel's
 * record comes later on another one, with the launch's correlation. A bounded
 * table without a lock.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIGROUP_H
#define CK_AGENT_INJECT_CUPTI_CUPTIGROUP_H

#include "agent/inject/nccllink.h"

/* A power of two; more collectives than are launched before one has ended. */
#define GROUP_LAUNCHES 16384

/* This thread launches a kernel. */
void group_launch(uint32_t correlation);
/* Of a kernel of NCCL. .name 0: of none that is known. Before version 5 cknccl
 * reports it behind the launch: a record that is there before waits for that.
 */
struct nccl_group group_get(uint32_t correlation);

#endif
