/* perfring.h - a ring that the kernel writes an event's records into
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The sampler has two for each CPU. Used by one thread.
 */
#ifndef CK_AGENT_PERF_PERFRING_H
#define CK_AGENT_PERF_PERFRING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/perf/perfevent.h"

/* What came through a ring, and what found no room in it. The kernel counts
 * records, of whatever kind: they are what the ring may hold. */
struct perfring_tally {
    uint64_t taken;
    uint64_t lost;
};

struct perfring {
    int fd;                            /* of the event, owned; -1 = closed */
    struct perf_event_mmap_page *page; /* NULL = not mapped */
    size_t bytes;                      /* of the data */
    uint64_t mark;                     /* perfring_mark() */
    struct perfring_tally tally;
};

/* Data pages of a ring, powers of two. */
struct perfring_pages {
    size_t of[PERFEVENT_RINGS];
};

/* May this process lock as much memory as it likes? */
bool perfring_may_lock(void);
/* The pages of each ring where so many agents have one of each kind on so many
 * CPUs. */
struct perfring_pages
perfring_share(size_t cpus, size_t sharers, bool may_lock);
/* More for samples that come with so many bytes of a stack: room for some of
 * them, or as much as is there for each of so many agents on a CPU. */
void perfring_widen(struct perfring_pages *pages,
                    size_t stack_bytes,
                    size_t sharers,
                    bool may_lock);
/* So many bytes of a stack at most may come with samples in that ring; 0 = it
 * is too small for any. */
size_t perfring_stack(const struct perfring_pages *pages,
                      enum perfevent_ring ring);

/* Map up to so many data pages (a power of two); fewer, or none, where locked
 * memory is short. */
void perfring_map(struct perfring *ring, size_t pages);
/* Unmap it and close its event. */
void perfring_fini(struct perfring *ring);

/* Call `take` for each record; it is borrowed during the call. Nothing is done
 * with a ring that is not mapped. */
typedef void (*perfring_take_f)(void *state,
                                const struct perf_event_header *record);
void perfring_drain(struct perfring *ring, perfring_take_f take, void *state);
/* Bytes that are in it; 0 = it is not mapped. */
size_t perfring_used(const struct perfring *ring);
/* Remember how much is in it, and take no more than that: what comes later is
 * left for the next time. */
void perfring_mark(struct perfring *ring);
void perfring_drain_marked(struct perfring *ring,
                           perfring_take_f take,
                           void *state);

#endif
