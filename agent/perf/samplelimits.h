/* samplelimits.h - how much is kept of samples and switches
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PERF_SAMPLELIMITS_H
#define CK_AGENT_PERF_SAMPLELIMITS_H

/* Different stacks that are told; samples with others have their innermost
 * address only. */
#define SAMPLER_STACKS_MAX 8192
/* Frames of a stack that are kept, and those that get names. */
#define SAMPLER_FRAMES_MAX 32
#define SAMPLER_FRAMES_NAMED 8 /* farther ones where there is room */
/* Shorter times off the CPU are counted and not told. */
#define SAMPLER_OFF_MIN_NS 20000

#endif
