/* nccllink.h - what cknccl reports to ckcupti of launches, in one process
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * NCCL opens cknccl, CUDA's driver ckcupti; cknccl asks for NCCL_LINK in
 * NCCL_LINK_LIBRARY if that is loaded. A group is the id of a NAME; the
 * number is the collective's in its group, equal on all ranks, 0 = not known.
 */
#ifndef CK_AGENT_INJECT_NCCLLINK_H
#define CK_AGENT_INJECT_NCCLLINK_H

#include <stdbool.h>
#include <stdint.h>

#define NCCL_LINK "ck_nccl_link"
#define NCCL_LINK_LIBRARY "libckcupti.so"

struct nccl_group {
    uint32_t name; /* 0 = none */
    uint32_t number;
};

struct nccl_link {
    /* Kernels that this thread launches from now on are of it. */
    void (*begin)(struct nccl_group group);
    /* Has the thread launched a kernel since it was last asked? Then that one
     * is of it. */
    bool (*launched)(struct nccl_group group);
};
typedef const struct nccl_link *nccl_link_f(void);

#endif
