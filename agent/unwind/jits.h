/* jits.h - names of code that processes compile at run time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process that compiles code may write where it has which: /tmp/perf-PID.map
 * (as its root has it), or a file jit-PID.dump, and map a page of that. They
 * are believed where they are plain files of the process' own user or root's,
 * and not older than the process. Used by the collector's thread only.
 */
#ifndef CK_AGENT_UNWIND_JITS_H
#define CK_AGENT_UNWIND_JITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/unwind/jitmap.h"

/* Processes that are remembered; a power of two. */
#define JITS_PROCESSES 64

struct codemaps;
struct jits;

/* `codemaps` is borrowed. NULL with ENOMEM. */
struct jits *jits_create(struct codemaps *codemaps);
void jits_destroy(struct jits *jits);

/* Another program runs under that number. */
void jits_forget(struct jits *jits, pid_t pid);
/* Where an address in code of no file is; the place's texts are borrowed
 * until the next call. False: it is not known. */
bool jits_find(struct jits *jits,
               pid_t pid,
               uint64_t address,
               struct jitplace *place);

struct jits_tally {
    uint64_t named;   /* addresses that were found */
    uint64_t unnamed; /* and not */
    uint64_t refused; /* files of another user, of another kind, or older than
                         the process */
    uint64_t wrong;   /* lines and records that are none */
};
struct jits_tally jits_tally(const struct jits *jits);

#endif
