/* opencldevice.h - devices: identity and clock
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLDEVICE_H
#define CK_AGENT_INJECT_OPENCL_OPENCLDEVICE_H

#include "agent/inject/opencl/opencl.h"
#include "agent/inject/opencl/openclclock.h"

#define DEVICE_MAX 64

struct opencl_device {
    _Atomic(cl_device_id) handle;
    _Atomic uint64_t known;     /* incarnation << 32 | DEVICE number */
    _Atomic int is_ready;       /* the clock's method is set */
    _Atomic int64_t timer_next; /* RAW ns of the next look at its timer */
    struct device_clock clock;
};

/* The device's entry, made at first sight; NULL: the table is full. Entries
 * stay for the life of the process. */
struct opencl_device *device_find(cl_device_id handle);
/* DEVICE number in this process image, recorded before if need be; 0 = not
 * known. `device` may be NULL. */
uint32_t device_number(struct opencl_device *device);
/* Sample the device's timer if it has one and it is time. Not from a
 * recording path. */
void device_timer_look(struct opencl_device *device);
/* Record every device again, with the clock error as it is now. */
void device_say_all(void);

#endif
