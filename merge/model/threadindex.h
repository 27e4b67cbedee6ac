/* threadindex.h - processes and threads of the definitions by their numbers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MODEL_THREADINDEX_H
#define CK_MERGE_MODEL_THREADINDEX_H

#include <stdint.h>

struct defs;
struct threadindex;

struct threadindex *threadindex_create(const struct defs *defs);
void threadindex_destroy(struct threadindex *index);
/* Process of an agent's image; DEFS_NONE = not in the run. */
uint32_t threadindex_process(const struct threadindex *index,
                             uint32_t agent,
                             uint32_t incarnation);
/* Thread of a process by its tid; DEFS_NONE = not in the run. */
uint32_t threadindex_thread(const struct threadindex *index,
                            uint32_t process,
                            uint32_t tid);
/* Thread that a record of a collector is about, which names an image of its own
 * agent; DEFS_NONE = not in the run. */
uint32_t threadindex_told(const struct threadindex *index,
                          uint32_t agent,
                          uint32_t incarnation,
                          uint32_t tid);

#endif
