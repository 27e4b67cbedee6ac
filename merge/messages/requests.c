/* requests.c - the values of processes' requests, while they are open
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing. What is taken out leaves no tombstone: what follows it
 * up to the next free slot moves up, where it may.
 */
#include "merge/messages/requests.h"

#include <stdlib.h>

#include "merge/model/memory.h"

#define SLOTS_FIRST 256

struct slot {
    uint64_t request;
    uint32_t process;
    uint32_t value; /* 0 = free */
};

struct requests {
    struct slot *slots;
    size_t mask;
    size_t count;
};

static inline size_t home_of(uint32_t process, uint64_t request, size_t mask)
{
    uint64_t hash =
        (request + process * 0xc2b2ae3d27d4eb4fu) * 0x9e3779b97f4a7c15u;

    return (size_t)(hash >> 32) & mask;
}

struct requests *requests_create(void)
{
    struct requests *requests = xcalloc(1, sizeof(*requests));

    requests->mask = SLOTS_FIRST - 1;
    requests->slots = xcalloc(SLOTS_FIRST, sizeof(*requests->slots));
    return requests;
}

void requests_destroy(struct requests *requests)
{
    if (requests == NULL) {
        return;
    }
    free(requests->slots);
    free(requests);
}

/* The slot of the request, or the free one where it belongs. */
static inline size_t
slot_of(const struct requests *requests, uint32_t process, uint64_t request)
{
    size_t at = home_of(process, request, requests->mask);

    while (requests->slots[at].value != 0 &&
           (requests->slots[at].request != request ||
            requests->slots[at].process != process)) {
        at = (at + 1) & requests->mask;
    }
    return at;
}

static void requests_double(struct requests *requests)
{
    struct requests larger = {.mask = requests->mask * 2 + 1,
                              .count = requests->count};

    larger.slots = xcalloc(larger.mask + 1, sizeof(*larger.slots));
    for (size_t i = 0; i <= requests->mask; i++) {
        const struct slot *slot = &requests->slots[i];

        if (slot->value != 0) {
            larger.slots[slot_of(&larger, slot->process, slot->request)] =
                *slot;
        }
    }
    free(requests->slots);
    *requests = larger;
}

/* Free a slot: what was put behind it because it was taken moves up. */
static void slot_free(struct requests *requests, size_t hole)
{
    size_t at = hole;

    requests->slots[hole].value = 0;
    requests->count--;
    for (;;) {
        const struct slot *slot;
        size_t home;

        at = (at + 1) & requests->mask;
        slot = &requests->slots[at];
        if (slot->value == 0) {
            return;
        }
        home = home_of(slot->process, slot->request, requests->mask);
        if (((at - home) & requests->mask) >= ((at - hole) & requests->mask)) {
            requests->slots[hole] = *slot;
            requests->slots[at].value = 0;
            hole = at;
        }
    }
}

void requests_set(struct requests *requests,
                  uint32_t process,
                  uint64_t request,
                  uint32_t value)
{
    size_t at = slot_of(requests, process, request);

    if (requests->slots[at].value != 0) {
        if (value == 0) {
            slot_free(requests, at);
        } else {
            requests->slots[at].value = value;
        }
        return;
    }
    if (value == 0 || requests->count == REQUESTS_MAX) {
        return;
    }
    if (requests->count * 2 > requests->mask) {
        requests_double(requests);
        at = slot_of(requests, process, request);
    }
    requests->slots[at] = (struct slot){request, process, value};
    requests->count++;
}

uint32_t requests_get(const struct requests *requests,
                      uint32_t process,
                      uint64_t request)
{
    return requests->slots[slot_of(requests, process, request)].value;
}
