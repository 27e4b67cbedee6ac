/* sampleframes.c - the frames of a sample
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   a record: head, count, chain of frame pointers,
 *             abi, registers (by the bits of the mask),
 *             room of the copy, its bytes, how many of them are copied
 */
#include "agent/perf/sampleframes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/perf/perfevent.h"
#include "agent/unwind/codemaps.h"
#include "agent/unwind/unwind.h"

#define ABI_64 2
#define REGISTER_CX 2

struct sampleframes {
    struct codemaps *codemaps;
    struct unwind *unwind;
    struct sampleframes_tally tally;
};

struct sampleframes *sampleframes_create(void)
{
    struct sampleframes *sampleframes = calloc(1, sizeof(*sampleframes));

    if (sampleframes == NULL) {
        return NULL;
    }
    sampleframes->codemaps = codemaps_create();
    if (sampleframes->codemaps != NULL) {
        sampleframes->unwind = unwind_create(sampleframes->codemaps);
    }
    if (sampleframes->unwind == NULL) {
        sampleframes_destroy(sampleframes);
        errno = ENOMEM;
        return NULL;
    }
    return sampleframes;
}

void sampleframes_destroy(struct sampleframes *sampleframes)
{
    if (sampleframes != NULL) {
        unwind_destroy(sampleframes->unwind);
        codemaps_destroy(sampleframes->codemaps);
        free(sampleframes);
    }
}

struct codemaps *sampleframes_codemaps(struct sampleframes *sampleframes)
{
    return sampleframes->codemaps;
}

/* ---- the record -----------------------------------------------------------
 */

/* Words of a record that are not yet read. */
struct words {
    const uint64_t *at;
    size_t left;
};

/* The next `count` of them; NULL = there are fewer. */
static const uint64_t *words_take(struct words *words, size_t count)
{
    const uint64_t *at = words->at;

    if (count > words->left) {
        return NULL;
    }
    words->at += count;
    words->left -= count;
    return at;
}

static struct words words_of(const struct perfevent_sample *sample)
{
    return (struct words){(const uint64_t *)(sample + 1),
                          (sample->header.size - sizeof(*sample)) /
                              sizeof(uint64_t)};
}

/* Read what follows the chain. False: no copy, or not of 64 bits. */
static bool thread_read(const struct perfevent_sample *sample,
                        struct unwind_thread *thread)
{
    /* Registers of the mask in its order, as DWARF numbers them. */
    static const uint8_t numbers[PERFEVENT_REGISTERS] = {
        0, 3, 2, 1, 4, 5, 6, 7, EHFRAME_PC, 8, 9, 10, 11, 12, 13, 14, 15};
    struct words words = words_of(sample);
    const uint64_t *abi, *registers, *room, *copy, *copied;

    if (words_take(&words, sample->count) == NULL) {
        return false;
    }
    abi = words_take(&words, 1);
    if (abi == NULL || *abi != ABI_64) {
        return false;
    }
    registers = words_take(&words, PERFEVENT_REGISTERS);
    room = words_take(&words, 1);
    if (registers == NULL || room == NULL || *room == 0) {
        return false;
    }
    copy = words_take(&words, *room / sizeof(*copy));
    copied = words_take(&words, 1);
    if (copy == NULL || copied == NULL || *copied == 0 || *copied > *room) {
        return false;
    }
    *thread = (struct unwind_thread){.pid = (pid_t)sample->pid,
                                     .stack = (const uint8_t *)copy,
                                     .length = *copied};
    for (size_t i = 0; i < PERFEVENT_REGISTERS; i++) {
        thread->registers[numbers[i]] = registers[i];
    }
    return true;
}

/* Was the kernel entered from there by an exception, not by a system call? The
 * instruction for that leaves its own end in cx. */
static bool is_faulting(const struct perfevent_sample *sample,
                        const struct unwind_thread *thread)
{
    return (sample->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
               PERF_RECORD_MISC_KERNEL &&
           thread->registers[REGISTER_CX] != thread->registers[EHFRAME_PC];
}

/* The user's part of the kernel's chain. */
static void chain_take(const struct perfevent_sample *sample,
                       struct sampleframes_found *found)
{
    struct words words = words_of(sample);

    found->count = 0;
    for (size_t i = 0; i < sample->count && i < words.left; i++) {
        if (words.at[i] < PERF_CONTEXT_MAX &&
            found->count < SAMPLER_FRAMES_MAX) {
            found->frames[found->count++] = words.at[i];
        }
    }
    if (found->count == 0 &&
        (sample->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
            PERF_RECORD_MISC_USER) {
        found->frames[found->count++] = sample->ip;
    }
    if (found->count > 0) {
        found->frames[0]++;
    }
}

/* ---- frames ---------------------------------------------------------------
 */

/* Where the copy ended, the kernel's chain may go on: behind the frame that
 * both have. True: it does. */
static bool chain_append(const struct perfevent_sample *sample,
                         struct sampleframes_found *found)
{
    struct sampleframes_found chain;
    size_t at = 0, before = found->count;

    chain_take(sample, &chain);
    while (before > 1 && at < chain.count &&
           chain.frames[at] != found->frames[before - 1]) {
        at++;
    }
    for (at++; at < chain.count && found->count < SAMPLER_FRAMES_MAX; at++) {
        found->frames[found->count++] = chain.frames[at];
    }
    return found->count > before;
}

static void tally_add(struct sampleframes_tally *tally,
                      enum unwind_end end,
                      const struct sampleframes_found *found,
                      bool has_pointers)
{
    tally->stacks++;
    tally->whole += end == UNWIND_WHOLE;
    tally->cut += end == UNWIND_CUT;
    tally->unknown += end == UNWIND_UNKNOWN;
    tally->wrong += end == UNWIND_WRONG;
    tally->deep += end == UNWIND_DEEP;
    tally->pointers += has_pointers;
    tally->frames += found->count;
    tally->deepest =
        found->count > tally->deepest ? found->count : tally->deepest;
}

void sampleframes_take(struct sampleframes *sampleframes,
                       const struct perfevent_sample *sample,
                       struct sampleframes_found *found)
{
    struct unwind_frames frames = {.frames = found->frames,
                                   .room = SAMPLER_FRAMES_MAX};
    struct unwind_thread thread;
    enum unwind_end end;

    found->is_unwound = thread_read(sample, &thread);
    found->is_faulting = found->is_unwound && is_faulting(sample, &thread);
    if (!found->is_unwound) {
        chain_take(sample, found);
        sampleframes->tally.uncopied++;
        return;
    }
    end = unwind_walk(sampleframes->unwind, &thread, &frames);
    found->count = frames.count;
    if (end == UNWIND_CUT && chain_append(sample, found)) {
        frames.has_pointers = true;
    }
    tally_add(&sampleframes->tally, end, found, frames.has_pointers);
}

struct sampleframes_tally
sampleframes_tally(const struct sampleframes *sampleframes)
{
    struct sampleframes_tally tally = sampleframes->tally;

    tally.unread = codemaps_unread(sampleframes->codemaps);
    return tally;
}
