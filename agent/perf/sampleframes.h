/* sampleframes.h - the frames of a sample
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Unwound from the copy of the stack that came with it; without a copy they are
 * the kernel's chain of frame pointers. Used by the collector's thread only.
 */
#ifndef CK_AGENT_PERF_SAMPLEFRAMES_H
#define CK_AGENT_PERF_SAMPLEFRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/perf/samplelimits.h"
#include "agent/stream/selfstream.h"
#include "agent/unwind/jits.h"

struct codemaps;
struct perfevent_sample;
struct sampleframes;
struct unwind;

/* NULL with ENOMEM. */
struct sampleframes *sampleframes_create(void);
void sampleframes_destroy(struct sampleframes *sampleframes);

/* What processes have mapped, to be kept up to date by who reads records. */
struct codemaps *sampleframes_codemaps(struct sampleframes *sampleframes);
/* What unwinds them, by that. */
struct unwind *sampleframes_unwind(struct sampleframes *sampleframes);

struct sampleframes_found {
    uint64_t frames[SAMPLER_FRAMES_MAX]; /* innermost first; the first is one
                                            past the instruction, the others
                                            are return addresses */
    size_t count;
    uint64_t ip;   /* of the innermost frame, as the thread had it; 0 = none */
    uint64_t sp;   /* 0 = not known */
    bool is_whole; /* up to a function without a caller */
    bool is_cut;   /* the stack is deeper than what was copied, */
    bool is_continued; /* and goes on by frame pointers */
    bool is_unwound;   /* each is called by the next */
    bool is_faulting;  /* in the kernel, where no system call led to */
    uint64_t kernel[SAMPLER_KERNEL_MAX]; /* frames in the kernel, below those */
    size_t kernel_count;
};
void sampleframes_take(struct sampleframes *sampleframes,
                       const struct perfevent_sample *sample,
                       struct sampleframes_found *found);

/* Write the SYMBOL record of a frame in code that was compiled at run time, if
 * it is one and that process image has none yet. */
void sampleframes_name(struct sampleframes *sampleframes,
                       struct selfstream *selfstream,
                       uint32_t incarnation,
                       uint64_t frame);
/* Another program runs under that number. */
void sampleframes_forget(struct sampleframes *sampleframes, pid_t pid);

/* Stacks that were unwound, by how that ended. */
struct sampleframes_tally {
    uint64_t stacks;
    uint64_t whole;
    uint64_t cut;      /* deeper than what was copied */
    uint64_t unknown;  /* in code without rules */
    uint64_t wrong;    /* at what cannot be a frame */
    uint64_t deep;     /* more frames than are kept */
    uint64_t pointers; /* of all these: with steps by frame pointers */
    uint64_t frames;   /* of all of them */
    uint64_t deepest;
    uint64_t uncopied; /* samples without a copy: frame pointers only */
    uint64_t unread;   /* files of code that could not be read */
    uint64_t kernel;   /* samples with frames in the kernel */
    struct jits_tally jits;
};
struct sampleframes_tally
sampleframes_tally(const struct sampleframes *sampleframes);

#endif
