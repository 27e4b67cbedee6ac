/* samplelimits.h - how much is kept of samples and switches
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PERF_SAMPLELIMITS_H
#define CK_AGENT_PERF_SAMPLELIMITS_H

/* Different stacks that are recorded; samples with others have their innermost
 * address only. */
#define SAMPLER_STACKS_MAX 32768
/* Frames of a stack that are kept, and those that get names. */
#define SAMPLER_FRAMES_MAX 128
#define SAMPLER_FRAMES_NAMED 24 /* farther ones where there is room */
/* Of these, within the kernel. */
#define SAMPLER_KERNEL_MAX 32
/* Shorter times off the CPU are counted and not recorded. */
#define SAMPLER_OFF_MIN_NS 20000
/* Of a sampled thread's stack, copied to be unwound; a record of the kernel's
 * has less than 64 KiB. */
#define SAMPLER_STACK_BYTES (16 << 10)
#define SAMPLER_STACK_BYTES_MAX (60 << 10)

#endif
