/* stacknumber.c - this thread's stack, by a number
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing by a 64-bit hash of the whole stack. An entry whose number is
 * 0 is being recorded by another thread, or there was no room for its record.
 */
#include "agent/inject/stacknumber.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/inject/inject.h"

#define PROBES 16

struct entry {
    _Atomic uint64_t hash; /* 0 = free */
    _Atomic uint32_t number;
};

static INJECT_ROOM struct entry entries[STACKNUMBER_PLACES];
static _Atomic bool is_noted;

/* A stack of this process image. */
struct stack {
    uint64_t frames[CALL_FRAMES_MAX];
    size_t count;
};

static uint64_t stack_hash(const struct stack *stack)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ inject_ring.incarnation;

    for (size_t i = 0; i < stack->count; i++) {
        hash = (hash ^ stack->frames[i]) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    return hash == 0 ? 1 : hash;
}

static void many_note(void)
{
    if (!atomic_exchange(&is_noted, true)) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "calls came by more different stacks than ck numbers: "
                         "later ones of memory or of launches have none");
    }
}

/* The next number of all processes of the agent; 0 = there is none left. */
static uint32_t number_take(void)
{
    uint32_t number = atomic_fetch_add(&inject_ring.header->stacks, 1) + 1;

    if (number > CK_RING_STACKS_MAX) {
        atomic_fetch_sub(&inject_ring.header->stacks, 1);
        return 0;
    }
    return CK_RING_STACKS_BEFORE + number;
}

/* A number is for ever, so it is taken where its record has room. */
static bool has_room(size_t bytes)
{
    const struct ck_ring_slot *slot = inject_thread.slot;

    if (slot->is_busy == 0 &&
        ck_ring_has_room(inject_thread.slot, inject_thread.mask,
                         ck_text_units(bytes))) {
        return true;
    }
    ck_ring_count_lost(inject_thread.slot, inject_ring.clock, 1);
    return false;
}

/* Its number, 0 = not now. */
static uint32_t stack_say(const struct stack *stack)
{
    size_t bytes = stack->count * sizeof(*stack->frames);
    struct ck_text head = {.e = {.kind = CK_KIND_STACK},
                           .extra = inject_ring.incarnation};

    if (!has_room(bytes)) {
        return 0;
    }
    head.e.name = number_take();
    if (head.e.name == 0) {
        many_note();
        return 0;
    }
    return ck_ring_text(&inject_thread, &inject_ring, head,
                        (const char *)stack->frames, bytes) == 0
               ? head.e.name
               : 0;
}

static uint32_t stack_number(const struct stack *stack)
{
    uint64_t hash = stack_hash(stack);

    for (uint64_t i = 0; i < PROBES; i++) {
        struct entry *entry = &entries[(hash + i) % STACKNUMBER_PLACES];
        uint64_t held =
            atomic_load_explicit(&entry->hash, memory_order_relaxed);
        uint32_t number;

        if (held == 0 &&
            atomic_compare_exchange_strong(&entry->hash, &held, hash)) {
            number = stack_say(stack);
            atomic_store_explicit(&entry->number, number, memory_order_relaxed);
            if (number == 0) { /* tried again next time */
                atomic_store_explicit(&entry->hash, 0, memory_order_relaxed);
            }
            return number;
        }
        if (held == hash) {
            return atomic_load_explicit(&entry->number, memory_order_relaxed);
        }
    }
    many_note();
    return 0;
}

/* What is below the user's own code shows where, not who: allocators,
 * containers and the like. */
static void stack_trim(struct stack *stack, uint64_t site)
{
    size_t at = 0;

    while (at < stack->count && stack->frames[at] != site) {
        at++;
    }
    if (at < stack->count) {
        stack->count -= at;
        memmove(stack->frames, stack->frames + at,
                stack->count * sizeof(*stack->frames));
    }
}

__attribute__((noinline)) uint32_t stack_number_find(const void *from,
                                                     uint64_t site)
{
    struct stack stack;

    stack.count = call_stack_take((uint64_t)(uintptr_t)from, stack.frames,
                                  CALL_FRAMES_MAX);
    stack_trim(&stack, site);
    return stack.count == 0 ? 0 : stack_number(&stack);
}
