/* ringclock.c - the ring's clock as a thread's records read it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/ring/ringclock.h"

#include <stdbool.h>

#define TRIES 2
/* A line that is older is not tested: it may be off by what a clock drifts. */
#define TEST_AGE (100 * CK_RINGCLOCK_SPAN)
/* A slot's floor that is further ahead was overwritten. */
#define FLOOR_MAX CK_TIME_S

/* RAW at some moment between two readings of the counter on one CPU. */
struct reading {
    uint64_t before;
    uint64_t after;
    ck_time_t raw;
    uint32_t cpu;
};

static int64_t scaled(uint64_t ticks, uint64_t scale)
{
    return (int64_t)((unsigned __int128)ticks * scale >> 32);
}

/* What a slot has may be overwritten: no sum of it overflows. */
static ck_time_t sum(ck_time_t time, ck_time_t more)
{
    return (ck_time_t)((uint64_t)time + (uint64_t)more);
}

static ck_time_t difference(ck_time_t time, ck_time_t other)
{
    return (ck_time_t)((uint64_t)time - (uint64_t)other);
}

/* Up to TRIES times; false: none was narrow enough, or on one CPU. */
static bool reading_take(struct reading *reading,
                         const struct ck_ring *ring,
                         uint64_t scale)
{
    bool is_one = atomic_load_explicit(&ring->header->is_counter_one,
                                       memory_order_relaxed) != 0;

    for (int i = 0; i < TRIES; i++) {
        reading->cpu = is_one ? CK_RING_ANY_CPU : ck_ringclock_cpu(ring->rseq);
        reading->before = (uint64_t)ck_time_ticks();
        reading->raw = ck_time_raw();
        reading->after = (uint64_t)ck_time_ticks();
        if (reading->after - reading->before < (uint64_t)1 << 24 &&
            scaled(reading->after - reading->before, scale) <=
                CK_RINGCLOCK_WIDTH &&
            (is_one || ((int32_t)reading->cpu >= 0 &&
                        ck_ringclock_cpu(ring->rseq) == reading->cpu))) {
            return true;
        }
    }
    return false;
}

/* The latest stamp that it can have given. */
static ck_time_t line_newest(const struct ck_ring_line *line, uint64_t ticks)
{
    uint64_t passed = ticks - line->from;

    return ck_ringclock_at(
        line, line->from + (passed < line->ticks ? passed : line->ticks));
}

/* Does the line go on through the reading? What it is off by is noted. */
static bool line_holds(struct ck_ring_line *line,
                       const struct ck_ring_line *was,
                       const struct reading *reading)
{
    ck_time_t least = ck_ringclock_at(was, reading->before);
    ck_time_t most = ck_ringclock_at(was, reading->after);
    ck_time_t age = scaled(reading->after - was->from, was->scale);
    ck_time_t off = 0;

    if (was->cpu != reading->cpu || age < 0 || age > TEST_AGE) {
        return false;
    }
    if (reading->raw < least) {
        off = difference(least, reading->raw);
    } else if (reading->raw > most) {
        off = difference(reading->raw, most);
    }
    if (off > CK_RINGCLOCK_SLACK + age / 1000000 * CK_RINGCLOCK_SLACK_PPM) {
        line->strays++;
        line->stray_ns = off > line->stray_ns ? off : line->stray_ns;
    }
    return off == 0;
}

/* No stamp after the line's end is to be before what it gave. Another CPU's
 * counter shows nothing of how far it was gone: no further than RAW is, then.
 */
static ck_time_t line_floor(const struct ck_ring_line *was,
                            const struct reading *reading)
{
    ck_time_t newest = line_newest(was, reading->before);
    ck_time_t most = sum(reading->raw, CK_RINGCLOCK_WIDTH);

    if (was->cpu != CK_RING_ANY_CPU && was->cpu != reading->cpu &&
        newest > most) {
        return most;
    }
    return newest;
}

/* A signal handler may record in between: a line is not in force while it is
 * changed. NULL: a new one. */
static void line_begin(struct ck_ring_line *line,
                       const struct reading *reading,
                       const struct ck_ring_line *goes_on,
                       uint64_t scale)
{
    uint64_t middle = reading->before + (reading->after - reading->before) / 2;

    line->ticks = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (goes_on != NULL) {
        line->scale = goes_on->scale;
        line->base = goes_on->base;
        line->cpu = goes_on->cpu;
    } else {
        line->scale = scale;
        line->base = difference(reading->raw, scaled(middle, scale));
        line->cpu = reading->cpu;
    }
    line->from = reading->after;
    atomic_signal_fence(memory_order_seq_cst);
    line->ticks = (uint32_t)(((uint64_t)CK_RINGCLOCK_SPAN << 32) / scale);
}

/* Does the kernel show the CPU, where that is needed? */
static bool has_cpu(const struct ck_ring *ring)
{
    return atomic_load_explicit(&ring->header->is_counter_one,
                                memory_order_relaxed) != 0 ||
           (ring->rseq != 0 && (int32_t)ck_ringclock_cpu(ring->rseq) >= 0);
}

/* May the thread have a line? Ns a tick, or 0. A rate that no counter has was
 * overwritten, and a line by it would never end. */
static uint64_t line_scale(const struct ck_ring *ring,
                           const struct ck_ring_line *line)
{
    uint64_t scale = atomic_load_explicit(&ring->header->counter_scale,
                                          memory_order_relaxed);

    if (scale < CK_RINGCLOCK_SCALE_LEAST || scale > CK_RINGCLOCK_SCALE_MOST ||
        ck_time_is_skewed || line->strays >= CK_RINGCLOCK_STRAYS ||
        line->misses >= CK_RINGCLOCK_MISSES || !has_cpu(ring)) {
        return 0;
    }
    return scale;
}

/* The thread's next line, from a copy of the one before: a signal handler may
 * put another in its place at any time. */
static ck_time_t
line_next(const struct ck_ring *ring, struct ck_ring_line *line, uint64_t scale)
{
    struct ck_ring_line was = *line;
    struct reading reading = {0};
    bool is_whole, goes_on;

    atomic_signal_fence(memory_order_seq_cst);
    is_whole = scale != 0 && reading_take(&reading, ring, scale);
    if (!is_whole) {
        reading.cpu = CK_RING_ANY_CPU;
        reading.before = (uint64_t)ck_time_ticks(); /* no stamp was later */
        reading.raw = ck_time_raw();
    }
    line->misses = is_whole ? 0 : was.misses + 1;
    goes_on = is_whole && was.ticks != 0 && line_holds(line, &was, &reading);
    if (was.ticks != 0 && !goes_on) {
        line->floor = line_floor(&was, &reading);
        line->ticks = 0;
    }
    if (reading.raw < line->floor &&
        (uint64_t)difference(line->floor, reading.raw) < FLOOR_MAX) {
        return line->floor; /* until RAW has come there */
    }
    line->floor = 0;
    if (is_whole) {
        line_begin(line, &reading, goes_on ? &was : NULL, scale);
    }
    return reading.raw;
}

ck_time_t ck_ringclock_read(const struct ck_ring *ring,
                            struct ck_ring_slot *slot)
{
    struct ck_ring_line *line = slot == NULL ? NULL : &slot->line;
    uint64_t scale = line == NULL ? 0 : line_scale(ring, line);

    if (line == NULL || (scale == 0 && line->floor == 0 && line->ticks == 0)) {
        return ck_time_raw();
    }
    return line_next(ring, line, scale);
}
