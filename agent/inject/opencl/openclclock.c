/* openclclock.c - offset of a device clock by causality
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads may interleave while they tighten the two bounds; each bound is
 * true by itself, so any mixture is.
 */
#include "agent/inject/opencl/openclclock.h"

/* A RAW device is checked at its first commands and then now and then. */
#define CLOCK_RAW_FIRST 16
#define CLOCK_RAW_EVERY 64

static ck_time_t clock_drift(ck_time_t elapsed)
{
    return elapsed <= 0 ? 0 : elapsed / (1000000 / CLOCK_DRIFT_PPM);
}

/* Bounds in the wrong order mean that the clock drifted more than allowed, or
 * stepped: then only the newest sample counts. */
static void clock_tighten(struct device_clock *clock,
                          ck_time_t low,
                          ck_time_t high,
                          ck_time_t now)
{
    ck_time_t seen = atomic_exchange(&clock->seen, now);
    ck_time_t drift = clock_drift(now - seen);
    ck_time_t old_low = atomic_load(&clock->low) - drift;
    ck_time_t old_high = atomic_load(&clock->high) + drift;

    if (seen != 0 && old_low <= high && low <= old_high) {
        low = old_low > low ? old_low : low;
        high = old_high < high ? old_high : high;
    }
    atomic_store(&clock->low, low);
    atomic_store(&clock->high, high);
}

bool device_clock_bound(struct device_clock *clock,
                        ck_time_t before,
                        ck_time_t device,
                        ck_time_t after)
{
    if (before > after) {
        return true;
    }
    if (atomic_load_explicit(&clock->method, memory_order_relaxed) !=
        CLOCK_METHOD_RAW) {
        clock_tighten(clock, before - device, after - device, after);
        return true;
    }
    if (device >= before - CLOCK_RAW_SLACK &&
        device <= after + CLOCK_RAW_SLACK) {
        return true;
    }
    atomic_store(&clock->method, CLOCK_METHOD_CAUSAL);
    clock_tighten(clock, before - device, after - device, after);
    return false;
}

bool device_clock_event(struct device_clock *clock,
                        ck_time_t device,
                        ck_time_t *event)
{
    ck_time_t low;

    if (atomic_load_explicit(&clock->method, memory_order_relaxed) ==
        CLOCK_METHOD_RAW) {
        *event = device;
        return true;
    }
    if (atomic_load(&clock->seen) == 0) {
        return false;
    }
    low = atomic_load(&clock->low);
    *event = device + low + (atomic_load(&clock->high) - low) / 2;
    return true;
}

ck_time_t device_clock_error(struct device_clock *clock)
{
    if (atomic_load(&clock->method) == CLOCK_METHOD_RAW) {
        return 0;
    }
    if (atomic_load(&clock->seen) == 0) {
        return -1;
    }
    return (atomic_load(&clock->high) - atomic_load(&clock->low) + 1) / 2;
}

const char *device_clock_name(const struct device_clock *clock)
{
    static const char *const names[] = {"causal", "timer", "raw"};

    return names[atomic_load(&clock->method)];
}

bool device_clock_wants(struct device_clock *clock)
{
    uint32_t sample;

    if (atomic_load_explicit(&clock->method, memory_order_relaxed) !=
        CLOCK_METHOD_RAW) {
        return true;
    }
    /* Some are counted once for two threads. */
    sample = atomic_load_explicit(&clock->samples, memory_order_relaxed);
    atomic_store_explicit(&clock->samples, sample + 1, memory_order_relaxed);
    return sample < CLOCK_RAW_FIRST || sample % CLOCK_RAW_EVERY == 0;
}
