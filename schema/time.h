/* time.h - the time type, and the two clocks an event may carry
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The event clock of ck is CLOCK_MONOTONIC_RAW in int64 nanoseconds. A
 * recorder may instead store raw ticks of the time stamp counter (TSC), which
 * cost a third; the collector stores (ticks, RAW) pairs beside them and merge
 * converts. Injected libraries include it and compile schema/time.c.
 */
#ifndef CK_SCHEMA_TIME_H
#define CK_SCHEMA_TIME_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds, a point on CLOCK_MONOTONIC_RAW or a duration. */
typedef int64_t ck_time_t;

#define CK_TIME_US ((ck_time_t)1000)
#define CK_TIME_MS ((ck_time_t)1000000)
#define CK_TIME_S ((ck_time_t)1000000000)

/* The clock a ring's records are stamped with. */
enum ck_clock {
    CK_CLOCK_RAW = 0,      /* CLOCK_MONOTONIC_RAW, ns */
    CK_CLOCK_TSC = 1,      /* ticks of the TSC (x86-64) or CNTVCT (aarch64) */
    CK_CLOCK_REALTIME = 2, /* only as a secondary clock, ns */
    CK_CLOCK_MONOTONIC = 3,
    CK_CLOCK_BOOTTIME = 4,
    CK_CLOCK_DEVICE = 5, /* a device's own counter, ns */
};

/* What this process reads as RAW is not what ck means by it: it is in another
 * time namespace than its agent, or (tests only) has CK_TEST_CLOCK
 * (schema/skew.h). */
extern int ck_time_is_skewed __attribute__((visibility("hidden")));
/* RAW of what was read. Async-signal-safe. */
__attribute__((visibility("hidden"))) ck_time_t ck_time_skew(ck_time_t raw);

/* What the time namespace of this process adds to the machine's "monotonic"
 * (and RAW) or "boottime" clock, ns. */
__attribute__((visibility("hidden"))) ck_time_t
ck_time_space(const char *clock);
/* In a program: RAW is from now on that of its agent, to whose clock a
 * namespace adds `space`. `near` is what RAW was there within the last second:
 * nothing is asked where this process agrees with that. RAW then, as it was
 * read. Keeps errno. */
__attribute__((visibility("hidden"))) ck_time_t
ck_time_space_look(ck_time_t near, ck_time_t space);

/* Now on a clock of the system, ns. Async-signal-safe, any thread. */
static inline int64_t ck_time_of(clockid_t clock)
{
    struct timespec ts;

    (void)clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * CK_TIME_S + ts.tv_nsec;
}

/* Now on CLOCK_MONOTONIC_RAW. Async-signal-safe, any thread. */
static inline ck_time_t ck_time_raw(void)
{
    ck_time_t raw = ck_time_of(CLOCK_MONOTONIC_RAW);

    return __builtin_expect(ck_time_is_skewed, 0) ? ck_time_skew(raw) : raw;
}

/* The machine's RAW by a system call: a program that ends at once needs no page
 * of the clock then, which cost it two faults. Keeps errno. */
__attribute__((visibility("hidden"))) ck_time_t ck_time_raw_asked(void);

/* Ticks of the processor's invariant counter, not ordered with neighbouring
 * instructions (a fence costs as much as the read). Ticks, not nanoseconds.
 */
static inline int64_t ck_time_ticks(void)
{
#if defined(__x86_64__)
    uint32_t lo, hi;

    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (int64_t)(((uint64_t)hi << 32) | lo);
#elif defined(__aarch64__)
    uint64_t v;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return (int64_t)v;
#else
    return ck_time_raw();
#endif
}

/* Now on the ring's clock: ticks or nanoseconds. */
static inline int64_t ck_time_stamp(enum ck_clock clock)
{
    return clock == CK_CLOCK_TSC ? ck_time_ticks() : ck_time_raw();
}

#endif
