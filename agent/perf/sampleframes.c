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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/perf/perfevent.h"
#include "agent/symbols/toldsites.h"
#include "agent/unwind/codemaps.h"
#include "agent/unwind/jits.h"
#include "agent/unwind/unwind.h"

#define ABI_64 2
/* Of a place in code compiled at run time: function, NUL, file. */
#define PLACE_BYTES (2 * (JITMAP_NAME + 1))

struct sampleframes {
    struct codemaps *codemaps;
    struct unwind *unwind;
    struct jits *jits;
    struct toldsites *sites; /* of code that was compiled at run time */
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
        sampleframes->jits = jits_create(sampleframes->codemaps);
    }
    sampleframes->sites = toldsites_create(CK_SITE_JIT);
    if (sampleframes->unwind == NULL || sampleframes->jits == NULL ||
        sampleframes->sites == NULL) {
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
        jits_destroy(sampleframes->jits);
        toldsites_destroy(sampleframes->sites);
        codemaps_destroy(sampleframes->codemaps);
        free(sampleframes);
    }
}

struct codemaps *sampleframes_codemaps(struct sampleframes *sampleframes)
{
    return sampleframes->codemaps;
}

struct unwind *sampleframes_unwind(struct sampleframes *sampleframes)
{
    return sampleframes->unwind;
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
    static const uint8_t numbers[PERFEVENT_REGISTERS] = {PERFEVENT_NUMBERS};
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
 * instruction for that leaves its own end in cx; aarch64's leaves nothing. */
static bool is_faulting(const struct perfevent_sample *sample,
                        const struct unwind_thread *thread)
{
#if defined(__x86_64__)
    return (sample->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
               PERF_RECORD_MISC_KERNEL &&
           thread->registers[2] != thread->registers[EHFRAME_PC];
#else
    (void)sample;
    (void)thread;
    return false;
#endif
}

/* The user's part of the kernel's chain. */
static void chain_take(const struct perfevent_sample *sample,
                       struct sampleframes_found *found)
{
    struct words words = words_of(sample);

    found->count = 0;
    for (size_t i = 0; i < sample->count && i < words.left; i++) {
        if (words.at[i] < CK_SITE_KERNEL && found->count < SAMPLER_FRAMES_MAX) {
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

/* The kernel's own part, which comes first; its addresses have the highest
 * bit, and so have the marks between the parts. */
static void kernel_take(const struct perfevent_sample *sample,
                        struct sampleframes_found *found)
{
    struct words words = words_of(sample);

    found->kernel_count = 0;
    for (size_t i = 0; i < sample->count && i < words.left &&
                       found->kernel_count < SAMPLER_KERNEL_MAX;
         i++) {
        if (words.at[i] >= CK_SITE_KERNEL && words.at[i] < PERF_CONTEXT_MAX) {
            found->kernel[found->kernel_count++] = words.at[i];
        }
    }
    if (found->kernel_count > 0) {
        found->kernel[0]++;
    }
}

/* ---- frames ---------------------------------------------------------------
 */

/* The site of an address in code that was compiled at run time; 0 = it has no
 * name. */
static uint64_t
jit_site(struct sampleframes *sampleframes, pid_t pid, uint64_t address)
{
    struct jitplace place;
    char text[PLACE_BYTES];
    int length;

    if (!codemaps_is_generated(sampleframes->codemaps, pid, address) ||
        !jits_find(sampleframes->jits, pid, address, &place)) {
        return 0;
    }
    length = snprintf(text, sizeof(text), "%s%c%s", place.function, '\0',
                      place.file == NULL ? "" : place.file);
    return toldsites_number(
        sampleframes->sites,
        &(struct toldplace){text, (size_t)length, place.line});
}

/* Their names are known now only: code is moved and thrown away. */
static void jits_put(struct sampleframes *sampleframes,
                     pid_t pid,
                     struct sampleframes_found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        uint64_t site = jit_site(sampleframes, pid, found->frames[i] - 1);

        if (site != 0) {
            found->frames[i] = site;
        }
    }
}

void sampleframes_name(struct sampleframes *sampleframes,
                       struct selfstream *selfstream,
                       uint32_t incarnation,
                       uint64_t frame)
{
    toldsites_name(sampleframes->sites, selfstream, incarnation, frame);
}

void sampleframes_forget(struct sampleframes *sampleframes, pid_t pid)
{
    jits_forget(sampleframes->jits, pid);
}

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

static void user_take(struct sampleframes *sampleframes,
                      const struct perfevent_sample *sample,
                      struct sampleframes_found *found)
{
    struct unwind_frames frames = {.frames = found->frames,
                                   .room = SAMPLER_FRAMES_MAX};
    struct unwind_thread thread;
    enum unwind_end end;

    found->is_unwound = thread_read(sample, &thread);
    found->is_faulting = found->is_unwound && is_faulting(sample, &thread);
    found->is_whole = false;
    found->is_cut = false;
    found->is_continued = false;
    found->sp = 0;
    if (!found->is_unwound) {
        chain_take(sample, found);
        found->is_cut = true;
        found->is_continued = found->count > 1;
        sampleframes->tally.uncopied++;
        return;
    }
    end = unwind_walk(sampleframes->unwind, &thread, &frames);
    found->count = frames.count;
    found->sp = thread.registers[EHFRAME_SP];
    found->is_whole = end == UNWIND_WHOLE;
    found->is_cut = end == UNWIND_CUT;
    found->is_continued = found->is_cut && chain_append(sample, found);
    tally_add(&sampleframes->tally, end, found,
              frames.has_pointers || found->is_continued);
}

void sampleframes_take(struct sampleframes *sampleframes,
                       const struct perfevent_sample *sample,
                       struct sampleframes_found *found)
{
    kernel_take(sample, found);
    user_take(sampleframes, sample, found);
    found->ip = found->count > 0 ? found->frames[0] - 1 : 0;
    sampleframes->tally.kernel += found->kernel_count > 0;
    jits_put(sampleframes, (pid_t)sample->pid, found);
}

struct sampleframes_tally
sampleframes_tally(const struct sampleframes *sampleframes)
{
    struct sampleframes_tally tally = sampleframes->tally;

    tally.unread = codemaps_unread(sampleframes->codemaps);
    tally.jits = jits_tally(sampleframes->jits);
    return tally;
}
