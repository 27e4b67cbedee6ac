/* unwindfile.h - what an ELF file has of the callers of its functions
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The part of the file that has .eh_frame_hdr and .eh_frame is read once and
 * kept. The linker's table there is sorted by function; the rules of an address
 * are made from it when they are asked for. Nothing in the file is believed.
 */
#ifndef CK_AGENT_UNWIND_UNWINDFILE_H
#define CK_AGENT_UNWIND_UNWINDFILE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/ehframe/ehframe.h"
#include "agent/unwind/unwindspace.h"

/* In place of a path: the code that the kernel maps into each process. It is
 * read from the memory of our own. */
#define UNWINDFILE_VDSO "[vdso]"

struct unwindfile;

/* Read the file; its tables are in `space`, which is borrowed until its end.
 * NULL with errno: it cannot be read (EBADMSG: no ELF file of this machine).
 * One without such sections is none. */
struct unwindfile *unwindfile_open(const char *path, struct unwindspace *space);
void unwindfile_destroy(struct unwindfile *file);

/* The load bias of a process that has its code mapped at `start` from `offset`
 * on. 0, or -1: no code is there. */
int unwindfile_bias(const struct unwindfile *file,
                    uint64_t start,
                    uint64_t offset,
                    uint64_t *bias);

/* The rule at an address of the file's own: that of a process less its bias, a
 * return address or one past the instruction. The code at the file's entry
 * point is outermost where it has no rule. */
enum ehframe unwindfile_find(const struct unwindfile *file,
                             uint64_t address,
                             struct ehframe_rule *rule);

#endif
