/* memorysample.h - which blocks are sampled, and their records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each thread counts the bytes that it asks for down to zero and draws the next
 * distance from an exponential distribution, as tcmalloc, jemalloc and Go do:
 * each byte is sampled with the probability 1 / mean whatever was before, and a
 * block of s bytes with 1 - exp(-s / mean). A sampled block so represents
 * s / (1 - exp(-s / mean)) bytes, without bias (google/tcmalloc,
 * docs/sampling.md; Horvitz and Thompson, 1952).
 */
#ifndef CK_AGENT_INJECT_MEMORY_MEMORYSAMPLE_H
#define CK_AGENT_INJECT_MEMORY_MEMORYSAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/inject/inject.h"
#include "agent/inject/liveblocks.h"

/* Bytes until the next sample of this thread; below 0 = now. */
extern __thread int64_t memorysample_left;

/* From now on, one in so many bytes. By the thread that starts the program. */
void memorysample_begin(uint32_t mean);

/* For TRUST, once something is sampled; a static text. */
void memorysample_lacks(const char *what);

/* Record a note for TRUST now; a static text. Keeps errno. */
void memorysample_note(const char *what);

/* The slow path of memorysample_took(). Keeps errno. */
bool memorysample_take(const void *block,
                       size_t bytes,
                       struct inject_label *function,
                       const void *from);

/* The function got a block for its caller. True: that is sampled, and live
 * until memorysample_gone(). */
static inline bool memorysample_took(const void *block,
                                     size_t bytes,
                                     struct inject_label *function,
                                     const void *from)
{
    memorysample_left -= (int64_t)bytes;
    return __builtin_expect(memorysample_left < 0, 0) && block != NULL &&
           memorysample_take(block, bytes, function, from);
}

/* Record that a sampled block goes. Keeps errno. */
void memorysample_gone(const struct live_block *block,
                       struct inject_label *function);

/* What is left of a sampled block whose other parts went: nothing was asked
 * for. False: it is not followed. Keeps errno. */
bool memorysample_rest(const struct live_block *rest,
                       struct inject_label *function);

/* Before a fork(), and in its child: that draws other numbers than its parent
 * and its siblings, and has nothing to record of its parent's. */
void memorysample_forking(void);
void memorysample_forked(void);

#endif
