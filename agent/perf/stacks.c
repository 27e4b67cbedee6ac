/* stacks.c - numbers for the stacks that samples meet
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing by a 64-bit hash of the whole stack; two stacks of one hash
 * would be one here (one in 10^12 for a full table).
 */
#include "agent/perf/stacks.h"

#include <stdlib.h>

#include "agent/perf/samplelimits.h"
#include "agent/symbols/pages.h"
#include "agent/symbols/symbols.h"

#define SLOTS (2 * (size_t)SAMPLER_STACKS_MAX)

struct stacks {
    uint64_t *hashes;  /* 0 = unused */
    uint32_t *numbers; /* by slot */
    uint32_t before;   /* numbers of others */
    uint32_t count;
    uint64_t left_out;
};

struct stacks *stacks_create(uint32_t before)
{
    struct stacks *stacks = calloc(1, sizeof(*stacks));

    if (stacks == NULL) {
        return NULL;
    }
    stacks->before = before;
    stacks->hashes = ck_pages_create(SLOTS, sizeof(*stacks->hashes));
    stacks->numbers = ck_pages_create(SLOTS, sizeof(*stacks->numbers));
    if (stacks->hashes == NULL || stacks->numbers == NULL) {
        stacks_destroy(stacks);
        return NULL;
    }
    return stacks;
}

void stacks_destroy(struct stacks *stacks)
{
    if (stacks != NULL) {
        ck_pages_destroy(stacks->hashes, SLOTS, sizeof(*stacks->hashes));
        ck_pages_destroy(stacks->numbers, SLOTS, sizeof(*stacks->numbers));
        free(stacks);
    }
}

static uint64_t stack_hash(const struct stack *stack)
{
    uint64_t hash = 0x9e3779b97f4a7c15u ^ stack->incarnation;

    for (size_t i = 0; i < stack->count; i++) {
        hash = (hash ^ stack->frames[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash == 0 ? 1 : hash;
}

static int stack_say(struct selfstream *selfstream,
                     struct symbols *symbols,
                     const struct stack *stack,
                     uint32_t number)
{
    struct ck_text head = {.e = {.kind = CK_KIND_STACK, .name = number},
                           .extra = stack->incarnation};

    size_t named = SAMPLER_FRAMES_NAMED;

    for (size_t i = 0; symbols != NULL && i < stack->count; i++) {
        named += stack->frames[i] >= CK_SITE_KERNEL;
        if (i < named) {
            symbols_frame(symbols, stack->incarnation, stack->frames[i]);
        } else {
            symbols_caller(symbols, stack->incarnation, stack->frames[i]);
        }
    }
    return selfstream_text(selfstream, head, (const char *)stack->frames,
                           stack->count * sizeof(*stack->frames));
}

uint32_t stacks_number(struct stacks *stacks,
                       struct selfstream *selfstream,
                       struct symbols *symbols,
                       const struct stack *stack)
{
    uint64_t hash = stack_hash(stack);
    size_t at = hash % SLOTS;

    while (stacks->hashes[at] != 0 && stacks->hashes[at] != hash) {
        at = (at + 1) % SLOTS;
    }
    if (stacks->hashes[at] == hash) {
        return stacks->numbers[at];
    }
    if (stacks->count == SAMPLER_STACKS_MAX ||
        stack_say(selfstream, symbols, stack,
                  stacks->before + stacks->count + 1) != 0) {
        stacks->left_out++;
        return 0;
    }
    stacks->hashes[at] = hash;
    stacks->numbers[at] = stacks->before + ++stacks->count;
    return stacks->numbers[at];
}

uint64_t stacks_left_out(const struct stacks *stacks)
{
    return stacks->left_out;
}
