/* mapped.h - sampled memory that the program mapped itself, by its addresses
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A mapping may be given back in parts, or together with what is beside it, or
 * be covered by another one. What is left of a block is a block: it represents
 * its share of the first one. Any thread may call any of these at any time; no
 * lock, nothing is allocated. Of parts of one block that two threads give back
 * in the same moment, one may stay counted.
 */
#ifndef CK_AGENT_INJECT_MEMORY_MAPPED_H
#define CK_AGENT_INJECT_MEMORY_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/inject/inject.h"
#include "agent/inject/liveblocks.h"

/* Sampled mappings that are followed by their addresses; of others, which a
 * note in TRUST is about, the end is seen where munmap() has their first byte.
 */
#define MAPPED_MAX 4096

/* A block of liveblocks.h is a mapping. */
void mapped_add(const void *block, size_t bytes);
/* These bytes, if there are any, are no memory of the program's any more:
 * before it is so. False: no block has any of them; else *cut is one that had.
 */
bool mapped_leave(const void *at,
                  size_t bytes,
                  struct inject_label *function,
                  struct live_block *cut);
/* Those of that block stay after all. */
void mapped_return(const struct live_block *cut,
                   const void *at,
                   size_t bytes,
                   struct inject_label *function);
/* In a child of fork(): its parent's mappings are not followed. */
void mapped_forget(void);

#endif
