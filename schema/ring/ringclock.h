/* ringclock.h - the ring's clock as a thread's records read it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the kernel does not keep time by the processor's counter (kvm-clock,
 * Hyper-V), a reading of RAW costs up to three times one of the counter. So RAW
 * is read once a CK_RINGCLOCK_SPAN by each thread, and between two readings the
 * counter goes on from the first one:
 *
 *   stamp = base + counter * scale        (a line; base belongs to the slot)
 *
 * A line holds for one span, and on the CPU on which it was made (rseq shows
 * that) unless the collector has found that all have the same counter. Each
 * reading is also a test of the line before it: RAW between two readings
 * of the counter is to be between the line's two stamps. If it is, the line
 * goes on; if not, another one begins, and what it was off by is remembered in
 * the slot (`stray_ns`). A stamp is off from RAW by the widest reading that is
 * accepted (CK_RINGCLOCK_WIDTH), by CK_RINGCLOCK_SLACK more before it counts as
 * astray, and by what the counter gains within a span; a counter that jumps is
 * found at the next reading, and stamps of the span before it may be off by the
 * jump. A thread's stamps do not go back, unless its counter does within a
 * span.
 *
 * All libraries of a process share the line of a thread's slot, so that calls
 * and marks that they record in one thread are in order; texts have RAW itself.
 * Runs inside the target, under the rules of ring.h. Async-signal-safe.
 */
#ifndef CK_SCHEMA_RING_RINGCLOCK_H
#define CK_SCHEMA_RING_RINGCLOCK_H

#include <stdint.h>

#include "schema/ring/ring.h"
#include "schema/time.h"

#define CK_RINGCLOCK_SPAN CK_TIME_MS
/* The counter before and behind a reading of RAW: no more apart, ns. */
#define CK_RINGCLOCK_WIDTH 250
/* Of 1 to 16 GHz. */
#define CK_RINGCLOCK_SCALE_MOST ((uint64_t)1 << 32)
#define CK_RINGCLOCK_SCALE_LEAST ((uint64_t)1 << 28)
/* What a line may be off by beyond the width and not be called astray, ns, and
 * for the time since its last reading. */
#define CK_RINGCLOCK_SLACK 250
#define CK_RINGCLOCK_SLACK_PPM 20
/* Of so many in a slot, or so many readings in turn that were too wide, RAW is
 * read each time from then on. */
#define CK_RINGCLOCK_STRAYS 8
#define CK_RINGCLOCK_MISSES 64

/* RAW, and a new line where one may be had. `slot` may be NULL. */
__attribute__((visibility("hidden"))) ck_time_t
ck_ringclock_read(const struct ck_ring *ring, struct ck_ring_slot *slot);

/* The CPU that this thread is on, as the kernel keeps it for restartable
 * sequences (rseq(2)) at that place of the thread's own memory; negative as an
 * int32_t where it does not. */
static inline uint32_t ck_ringclock_cpu(int64_t rseq)
{
    uint32_t cpu = CK_RING_ANY_CPU;

#if defined(__x86_64__)
    __asm__ volatile("movl %%fs:4(%1), %0" : "=r"(cpu) : "r"(rseq));
#else
    (void)rseq;
#endif
    return cpu;
}

/* What a line makes of a counter, wherever it holds. It may be overwritten: no
 * sum of it overflows. */
static inline int64_t ck_ringclock_at(const struct ck_ring_line *line,
                                      uint64_t ticks)
{
    return (int64_t)((uint64_t)line->base +
                     (uint64_t)((unsigned __int128)ticks * line->scale >> 32));
}

/* Now, for a record of this thread: ticks or nanoseconds (ck_ring.clock). */
static inline int64_t ck_ringclock_now(const struct ck_ring *ring,
                                       struct ck_ring_slot *slot)
{
    uint64_t ticks;

    if (ring->clock == CK_CLOCK_TSC) {
        return ck_time_ticks();
    }
    if (__builtin_expect(slot == NULL || slot->line.ticks == 0, 0)) {
        return ck_ringclock_read(ring, slot);
    }
    ticks = (uint64_t)ck_time_ticks();
    /* rseq is on a page that nothing else here needs. */
    if (__builtin_expect(ticks - slot->line.from >= slot->line.ticks ||
                             (slot->line.cpu != CK_RING_ANY_CPU &&
                              ck_ringclock_cpu(ring->rseq) != slot->line.cpu),
                         0)) {
        return ck_ringclock_read(ring, slot);
    }
    return ck_ringclock_at(&slot->line, ticks);
}

#endif
