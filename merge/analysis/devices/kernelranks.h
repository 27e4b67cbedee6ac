/* kernelranks.h - a kernel that takes longer on one rank than on the others
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_KERNELRANKS_H
#define CK_MERGE_ANALYSIS_DEVICES_KERNELRANKS_H

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Where there are more ranks, nothing is compared. */
#define KERNELRANKS_MAX 1024
/* Sums that are kept, of 16 bytes each: of kernels with higher numbers, which
 * began later, nothing is. */
#define KERNELRANKS_SUMS ((size_t)1 << 20)

struct kernelranks;
/* `defs` is borrowed. */
struct kernelranks *kernelranks_create(const struct defs *defs);
void kernelranks_destroy(struct kernelranks *ranks);
/* So much of a call of the kernel of that number (from 0, without gaps) was on
 * the rank of that index; `calls`: 1, or 0 for a further part of a call. */
void kernelranks_add(struct kernelranks *ranks,
                     size_t kernel,
                     uint32_t rank,
                     ck_time_t ns,
                     unsigned calls);
/* That which cost its rank most; the number of the kernel, -1 = there is none
 * that is worth a word. *row is filled in but for the name. */
int64_t kernelranks_worst(const struct kernelranks *ranks,
                          struct report_uneven_kernel *row);

#endif
