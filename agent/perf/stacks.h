/* stacks.h - numbers for the stacks that samples meet
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PERF_STACKS_H
#define CK_AGENT_PERF_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "agent/stream/selfstream.h"

struct stacks;
struct symbols;

/* Return addresses of one process image, innermost first. */
struct stack {
    uint32_t incarnation;
    const uint64_t *frames; /* borrowed */
    size_t count;
};

/* Numbers follow `before`, where others number stacks of the agent as well.
 * NULL with ENOMEM. */
struct stacks *stacks_create(uint32_t before);
void stacks_destroy(struct stacks *stacks);

/* The stack's number, recorded as STACK at first sight; its addresses
 * are noted in `symbols` (may be NULL). 0 = the table is full. */
uint32_t stacks_number(struct stacks *stacks,
                       struct selfstream *selfstream,
                       struct symbols *symbols,
                       const struct stack *stack);
/* How often there was no number. */
uint64_t stacks_left_out(const struct stacks *stacks);

#endif
