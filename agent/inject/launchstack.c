/* launchstack.c - the stacks of calls that launch device work
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which of the later launches have one is decided by the low bits of their
 * stamps, so that a program's own period does not decide it.
 */
#include "agent/inject/launchstack.h"

#include <stdatomic.h>

#include "agent/inject/stacknumber.h"

#define SITES 1024
#define PROBES 8

struct seen {
    _Atomic uint64_t site; /* 0 = free */
    _Atomic uint32_t launches;
};

static INJECT_ROOM struct seen seen[SITES];

/* Launches of the site so far; many where there is no room for it. */
static uint32_t launches_count(uint64_t site)
{
    uint64_t hash = site * UINT64_C(0x9e3779b97f4a7c15) >> 32;

    for (uint64_t i = 0; i < PROBES; i++) {
        struct seen *at = &seen[(hash + i) % SITES];
        uint64_t held = atomic_load_explicit(&at->site, memory_order_relaxed);

        if (held == 0) {
            (void)atomic_compare_exchange_strong(&at->site, &held, site);
            held = atomic_load_explicit(&at->site, memory_order_relaxed);
        }
        if (held == site) {
            uint32_t launches =
                atomic_load_explicit(&at->launches, memory_order_relaxed);

            if (launches < LAUNCHSTACK_FIRST) {
                atomic_store_explicit(&at->launches, launches + 1,
                                      memory_order_relaxed);
            }
            return launches;
        }
    }
    return LAUNCHSTACK_FIRST;
}

/* How many launches this one represents; 0 = none. */
static uint64_t weight_of(const struct inject_call *call)
{
    uint64_t hash = (uint64_t)call->start * UINT64_C(0x9e3779b97f4a7c15);

    if (launches_count(call->site) < LAUNCHSTACK_FIRST) {
        return 1;
    }
    return (hash >> 32) % LAUNCHSTACK_EACH == 0 ? LAUNCHSTACK_EACH : 0;
}

void launch_stack_say(const struct inject_call *call, const void *from)
{
    struct ck_stacked *record;
    uint64_t weight;
    uint32_t stack;

    if (call->writer == NULL || call->writer->slot != call->slot ||
        call->site == 0) {
        return;
    }
    weight = weight_of(call);
    stack = weight == 0 ? 0 : stack_number_find(from, call->site);
    if (stack == 0) {
        return;
    }
    record = ck_ring_begin(call->writer, inject_ring.clock, 2);
    if (record == NULL) {
        return;
    }
    *record = (struct ck_stacked){.e = {.kind = CK_KIND_LAUNCHED,
                                        .units = 2,
                                        .name = call->name,
                                        .start = call->start},
                                  .site = call->site,
                                  .bytes = weight,
                                  .stack = stack};
    ck_ring_commit(call->writer, 2);
}
