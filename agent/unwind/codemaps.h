/* codemaps.h - where processes have which code
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel reports code that is mapped; what a process had before it was
 * first asked for, and what was missed, is read from /proc. Files are read when
 * an address in them is first asked for, and are shared by all processes. Used
 * by the collector's thread only.
 */
#ifndef CK_AGENT_UNWIND_CODEMAPS_H
#define CK_AGENT_UNWIND_CODEMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/process/mappings.h"
#include "agent/unwind/unwindfile.h"

/* Processes that are remembered; a power of two. */
#define CODEMAPS_PROCESSES 256
/* Files that are remembered; code of others has no rules. */
#define CODEMAPS_FILES 4096

struct codemaps;

/* NULL with ENOMEM. */
struct codemaps *codemaps_create(void);
void codemaps_destroy(struct codemaps *codemaps);

/* Another program runs under that number: it has no code yet. */
void codemaps_begin(struct codemaps *codemaps, pid_t pid);
/* The same, and all code that it maps is reported: /proc is read only for
 * an address that is in none of it. */
void codemaps_execed(struct codemaps *codemaps, pid_t pid);
/* The process has what its parent has. */
void codemaps_forked(struct codemaps *codemaps, pid_t pid, pid_t parent);
/* The process has mapped code; the path is copied. */
void codemaps_mapped(struct codemaps *codemaps,
                     pid_t pid,
                     const struct mapping *mapping);

/* Code that an address is in. */
struct code {
    const struct unwindfile *file; /* borrowed; NULL = not of a file */
    uint32_t number;               /* of the file */
    uint64_t bias;
};

/* False: the process has no code there. */
bool codemaps_find(struct codemaps *codemaps,
                   pid_t pid,
                   uint64_t address,
                   struct code *code);

/* Is the address in a function of Go's runtime that runs others on a stack of
 * their own? */
bool codemaps_is_switch(struct codemaps *codemaps,
                        const struct code *code,
                        uint64_t address);

/* Is there code of no file, compiled at run time? */
bool codemaps_is_generated(struct codemaps *codemaps,
                           pid_t pid,
                           uint64_t address);
/* The mapping of a file that has the address, by what is known already; its
 * path is borrowed. False: there is none. */
bool codemaps_mapping(const struct codemaps *codemaps,
                      pid_t pid,
                      uint64_t address,
                      struct mapping *mapping);
/* May the process have mapped code of such a file? False: all that it has
 * mapped is known, and none of it is. */
bool codemaps_may_have(const struct codemaps *codemaps,
                       pid_t pid,
                       bool (*is_wanted)(const char *path));
/* The file jit-PID.dump that the process has mapped, as it sees it; borrowed.
 * NULL = none. */
const char *codemaps_dump(const struct codemaps *codemaps, pid_t pid);

/* Files with code that was asked for and could not be read. */
uint64_t codemaps_unread(const struct codemaps *codemaps);

#endif
