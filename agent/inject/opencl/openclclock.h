/* openclclock.h - from a device's profiling clock to the event clock
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device stamp D and two host stamps around it (RAW ns, before <= the
 * moment of D <= after) bound the offset: before - D <= offset <= after - D.
 * The tightest bounds of all samples are kept; they widen with time by the
 * drift that two crystals may have (CLOCK_DRIFT_PPM). Stamps come from
 * clGetDeviceAndHostTimer where the driver has it (method TIMER), else from
 * the QUEUED stamp of each command and the call that enqueued it (CAUSAL).
 * A driver whose stamps are RAW already (PoCL) is taken at its word and
 * checked against the same bounds; one contradiction ends that.
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLCLOCK_H
#define CK_AGENT_INJECT_OPENCL_OPENCLCLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

#define CLOCK_DRIFT_PPM 50
/* A stamp of a RAW device may miss its bounds by its own resolution. */
#define CLOCK_RAW_SLACK ((ck_time_t)1000)

enum clock_method {
    CLOCK_METHOD_CAUSAL = 0,
    CLOCK_METHOD_TIMER = 1,
    CLOCK_METHOD_RAW = 2,
};

/* One a device; zero-initialised but for the method. Any thread. */
struct device_clock {
    _Atomic int method;  /* enum clock_method */
    _Atomic int64_t low; /* bounds of offset = event - device, ns */
    _Atomic int64_t high;
    _Atomic int64_t seen; /* RAW ns of the last bound; 0 = none yet */
    _Atomic uint32_t samples;
};

/* Take a sample in. Returns false when it contradicts a RAW device, which is
 * then CAUSAL. */
bool device_clock_bound(struct device_clock *clock,
                        ck_time_t before,
                        ck_time_t device,
                        ck_time_t after);
/* A device stamp on the event clock; false when no bound is known yet. */
bool device_clock_event(struct device_clock *clock,
                        ck_time_t device,
                        ck_time_t *event);
/* Half the width between the bounds, -1 when there are none. */
ck_time_t device_clock_error(struct device_clock *clock);
/* "raw", "timer" or "causal". */
const char *device_clock_name(const struct device_clock *clock);
/* Whether the next command should bring a sample (a RAW device: rarely). */
bool device_clock_wants(struct device_clock *clock);

#endif
