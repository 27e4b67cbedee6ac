/* leftovers.h - what killed agents left, in one line
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who only wants to run a program did not leave it: however many ring files
 * there are, it gets one line about them.
 */
#ifndef CK_AGENT_COLLECTOR_LEFTOVERS_H
#define CK_AGENT_COLLECTOR_LEFTOVERS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/collector/salvage.h"

#define LEFTOVERS_LINE (2 * PATH_MAX + 512)

struct leftovers {
    unsigned moved;       /* agents whose records are in spool files now */
    uint64_t records;     /* of these together */
    uint32_t rank;        /* of the first, ~0u = not known */
    char spool[PATH_MAX]; /* of the first */
    unsigned failed;      /* ring files that stay */
    char path[PATH_MAX];  /* the first of them */
    char why[256];        /* and why */
    unsigned lost;        /* removed unread: a part was cut off */
};

/* Count one ring file; `context` is the struct leftovers (zeroed by the
 * caller). A salvage_say. */
void leftovers_add(const char *path,
                   enum salvage_state state,
                   const struct salvage *found,
                   void *context);
/* What became of them, without a newline; "" = there were none. */
void leftovers_line(const struct leftovers *leftovers,
                    char line[LEFTOVERS_LINE]);

#endif
