/* kernelgroup.h - which ranks meet in a collective kernel
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * PyTorch's profiler gives for each such kernel the process group that it is
 * of: lines `name=`, `ranks=` ("[0, 2]") and `size=`, kept as a NAME, and often
 * its number there. NCCL's plug-in gives its communicator: `communicator=` and
 * `size=`; its ranks are those whose processes have that NAME. Kernels of
 * one name are of several groups then (pipeline and tensor parallel ranks),
 * which meet each apart. Kernels without such fields may be of any groups: they
 * are of a known one only where no other is possible.
 */
#ifndef CK_MERGE_MODEL_KERNELGROUP_H
#define CK_MERGE_MODEL_KERNELGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/model/defs.h"
#include "schema/event.h"

/* The group of a kernel, borrowed; equal texts are one pointer. NULL = not
 * known: of all ranks, if kernelgroup_is_known(). */
const char *kernelgroup_of(const struct defs *defs,
                           uint32_t process,
                           const struct ck_kernel *kernel);
/* Of NCCL's plug-in: a kernel without a number there is one whose number is not
 * known. */
bool kernelgroup_is_communicator(const char *group);
/* The kernel's number among the collectives of its group, from 1: on all ranks
 * the same, wherever a profile begins. 0 = not known. */
static inline uint32_t kernelgroup_number(const struct ck_kernel *kernel)
{
    return (kernel->e.flags & CK_FLAG_GROUP) != 0 ? kernel->shared_bytes : 0;
}

/* Is the rank in it? False as well where its ranks are not all known, and it is
 * not as large as the world. */
bool kernelgroup_has(const struct defs *defs, const char *group, int32_t rank);

/* Is it certain whose kernels meet? Of NULL it is where two ranks are all of
 * the world, of a communicator where all its ranks are here. */
bool kernelgroup_is_known(const struct defs *defs, const char *group);

#endif
