/* opencldevice.c - table of devices, their DEVICE records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Identity is the UUID where the driver has one and the device is no CPU: a
 * CPU device is a thread pool of its process, so its scope is the process.
 */
#include "agent/inject/opencl/opencldevice.h"

#include <stdio.h>
#include <string.h>

#ifndef CL_DEVICE_UUID_KHR
#define CL_DEVICE_UUID_KHR 0x106A
#endif
#define DEVICE_TEXT_BYTES 1024
/* Time between two looks at a device's timer. */
#define DEVICE_TIMER_PERIOD CK_TIME_S

static struct opencl_device devices[DEVICE_MAX];

/* The driver's text without control characters; "" when it has none. */
static void
device_string(cl_device_id handle, cl_device_info info, char text[128])
{
    size_t length = 0;
    char *end;

    memset(text, 0, 128);
    if (opencl_driver->clGetDeviceInfo(handle, info, 127, text, &length) !=
        CL_SUCCESS) {
        text[0] = '\0';
    }
    end = text + strlen(text);
    for (char *c = text; c < end; c++) {
        if ((unsigned char)*c < ' ') {
            *c = ' ';
        }
    }
}

static uint64_t device_value(cl_device_id handle, cl_device_info info)
{
    union {
        cl_uint narrow;
        cl_ulong wide;
    } value = {.wide = 0};
    size_t bytes = 0;

    if (opencl_driver->clGetDeviceInfo(handle, info, sizeof(value), &value,
                                       &bytes) != CL_SUCCESS) {
        return 0;
    }
    return bytes == sizeof(value.narrow) ? value.narrow : value.wide;
}

static const char *device_type(uint64_t type)
{
    if ((type & CL_DEVICE_TYPE_GPU) != 0) {
        return "gpu";
    }
    if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0) {
        return "accelerator";
    }
    return (type & CL_DEVICE_TYPE_CPU) != 0 ? "cpu" : "custom";
}

/* "uuid=..." or "scope=process"; returns the characters written. */
static int
device_identity(cl_device_id handle, uint64_t type, char *text, size_t room)
{
    uint8_t uuid[16] = {0};
    size_t bytes = 0;

    if ((type & CL_DEVICE_TYPE_CPU) != 0 ||
        opencl_driver->clGetDeviceInfo(handle, CL_DEVICE_UUID_KHR, sizeof(uuid),
                                       uuid, &bytes) != CL_SUCCESS ||
        bytes != sizeof(uuid)) {
        return snprintf(text, room, "scope=process\n");
    }
    return snprintf(text, room,
                    "uuid=%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
                    "%02x%02x%02x%02x%02x%02x\n",
                    uuid[0], uuid[1], uuid[2], uuid[3], uuid[4], uuid[5],
                    uuid[6], uuid[7], uuid[8], uuid[9], uuid[10], uuid[11],
                    uuid[12], uuid[13], uuid[14], uuid[15]);
}

static void device_say(struct opencl_device *device, uint32_t number)
{
    cl_device_id handle = atomic_load(&device->handle);
    uint64_t type = device_value(handle, CL_DEVICE_TYPE);
    char name[128], vendor[128], driver[128], version[128];
    char text[DEVICE_TEXT_BYTES];
    cl_device_id parent = NULL;
    int length;

    device_string(handle, CL_DEVICE_NAME, name);
    device_string(handle, CL_DEVICE_VENDOR, vendor);
    device_string(handle, CL_DRIVER_VERSION, driver);
    device_string(handle, CL_DEVICE_VERSION, version);
    (void)opencl_driver->clGetDeviceInfo(handle, CL_DEVICE_PARENT_DEVICE,
                                         sizeof(parent), &parent, NULL);
    length = device_identity(handle, type, text, sizeof(text));
    (void)snprintf(
        text + length, sizeof(text) - (size_t)length,
        "api=opencl\nname=%s\nvendor=%s\ndriver=%s\nversion=%s\ntype=%s\n"
        "compute_units=%llu\nclock_mhz=%llu\nmemory_bytes=%llu\n"
        "parent=%u\nclock=%s\nerror_ns=%lld\n",
        name, vendor, driver, version, device_type(type),
        (unsigned long long)device_value(handle, CL_DEVICE_MAX_COMPUTE_UNITS),
        (unsigned long long)device_value(handle, CL_DEVICE_MAX_CLOCK_FREQUENCY),
        (unsigned long long)device_value(handle, CL_DEVICE_GLOBAL_MEM_SIZE),
        parent == NULL ? 0 : device_number(device_find(parent)),
        device_clock_name(&device->clock),
        (long long)device_clock_error(&device->clock));
    if (inject_say(CK_KIND_DEVICE, number, 0, 0, text) == 0) {
        atomic_store(&device->known,
                     (uint64_t)inject_ring.incarnation << 32 | number);
    }
}

/* PoCL stamps are CLOCK_MONOTONIC_RAW; other drivers are asked for a timer. */
static void device_clock_start(struct opencl_device *device)
{
    cl_device_id handle = atomic_load(&device->handle);
    char version[128];

    device_string(handle, CL_DEVICE_VERSION, version);
    if (strstr(version, "PoCL") != NULL) {
        atomic_store(&device->clock.method, CLOCK_METHOD_RAW);
    } else {
        device_timer_look(device);
    }
    atomic_store(&device->is_ready, 1);
}

struct opencl_device *device_find(cl_device_id handle)
{
    for (unsigned i = 0; i < DEVICE_MAX; i++) {
        struct opencl_device *device = &devices[i];
        cl_device_id held = atomic_load(&device->handle);

        if (held == NULL &&
            atomic_compare_exchange_strong(&device->handle, &held, handle)) {
            device_clock_start(device);
            return device;
        }
        if (held == handle) {
            return device;
        }
    }
    return NULL;
}

uint32_t device_number(struct opencl_device *device)
{
    uint64_t known;

    if (device == NULL) {
        return 0;
    }
    known = atomic_load_explicit(&device->known, memory_order_relaxed);
    if ((uint32_t)(known >> 32) == inject_ring.incarnation) {
        return (uint32_t)known;
    }
    if (inject_writer() == NULL) {
        return 0;
    }
    device_say(device, ck_ring_object_id(&inject_ring));
    return (uint32_t)atomic_load(&device->known);
}

void device_timer_look(struct opencl_device *device)
{
    ck_time_t before = ck_time_raw();
    cl_ulong stamp = 0, host = 0;
    ck_time_t next;

    if (device == NULL || opencl_driver->clGetDeviceAndHostTimer == NULL ||
        atomic_load(&device->clock.method) == CLOCK_METHOD_RAW) {
        return;
    }
    next = atomic_load(&device->timer_next);
    if (before < next ||
        !atomic_compare_exchange_strong(&device->timer_next, &next,
                                        before + DEVICE_TIMER_PERIOD)) {
        return;
    }
    if (opencl_driver->clGetDeviceAndHostTimer(atomic_load(&device->handle),
                                               &stamp, &host) != CL_SUCCESS ||
        stamp == 0) {
        atomic_store(&device->timer_next, INT64_MAX);
        return;
    }
    atomic_store(&device->clock.method, CLOCK_METHOD_TIMER);
    (void)device_clock_bound(&device->clock, before, (ck_time_t)stamp,
                             ck_time_raw());
}

void device_say_all(void)
{
    for (unsigned i = 0; i < DEVICE_MAX; i++) {
        uint64_t known = atomic_load(&devices[i].known);

        if (known != 0 && (uint32_t)(known >> 32) == inject_ring.incarnation &&
            inject_writer() != NULL) {
            device_say(&devices[i], (uint32_t)known);
        }
    }
}
