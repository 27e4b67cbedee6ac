/* device_opencl.c - train's accelerator through OpenCL
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A GPU where a platform offers one, else a CPU device (PoCL).
 */
#define CL_TARGET_OPENCL_VERSION 120

#include "tests/targets/train/device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>
#include <pthread.h>

#include "tests/targets/train/ill.h"

#define PLATFORMS_MAX 16
#define DEVICES_MAX 64
#define GROUP_ITEMS 16

struct device {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernels[KERNEL_COUNT];
    cl_mem buffers[BUFFER_COUNT];
    char name[128];
};

static char error_text[4096];

static int fail(const char *what, cl_int code)
{
    (void)snprintf(error_text, sizeof(error_text), "%s: OpenCL error %d", what,
                   (int)code);
    return -1;
}

const char *device_error(void)
{
    return error_text;
}

const char *device_name(const struct device *device)
{
    return device->name;
}

/* All devices of one type over all platforms. */
static cl_uint devices_list(cl_device_type type, cl_device_id *list)
{
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0;
    cl_uint count = 0;

    if (clGetPlatformIDs(PLATFORMS_MAX, platforms, &platform_count) !=
        CL_SUCCESS) {
        return 0;
    }
    for (cl_uint i = 0; i < platform_count && i < PLATFORMS_MAX; i++) {
        cl_uint got = 0;

        if (clGetDeviceIDs(platforms[i], type, DEVICES_MAX - count,
                           list + count, &got) == CL_SUCCESS) {
            count += got < DEVICES_MAX - count ? got : DEVICES_MAX - count;
        }
        if (count == DEVICES_MAX) {
            break;
        }
    }
    return count;
}

static int device_pick(int index, cl_device_id *picked)
{
    cl_device_id list[DEVICES_MAX];
    cl_uint count = devices_list(CL_DEVICE_TYPE_GPU, list);

    if (count == 0) {
        count = devices_list(CL_DEVICE_TYPE_ALL, list);
    }
    if (count == 0) {
        (void)snprintf(error_text, sizeof(error_text),
                       "no OpenCL device: install pocl-opencl-icd");
        return -1;
    }
    *picked = list[(cl_uint)index % count];
    return 0;
}

static int program_build(struct device *device, cl_device_id id)
{
    static const char *const prefix =
        "#define KERNEL __kernel\n#define GLOBAL __global\n"
        "#define ITEM ((int)get_global_id(0))\n";
    const char *texts[2] = {prefix, kernel_source};
    cl_int code;

    device->program =
        clCreateProgramWithSource(device->context, 2, texts, NULL, &code);
    if (code != CL_SUCCESS) {
        return fail("clCreateProgramWithSource", code);
    }
    code = clBuildProgram(device->program, 1, &id, "", NULL, NULL);
    if (code != CL_SUCCESS) {
        int used = snprintf(error_text, sizeof(error_text),
                            "kernels do not compile:\n");

        (void)clGetProgramBuildInfo(device->program, id, CL_PROGRAM_BUILD_LOG,
                                    sizeof(error_text) - (size_t)used,
                                    error_text + used, NULL);
        return -1;
    }
    return 0;
}

/* All kernels take all buffers; batch and rate are set at each launch. */
static int kernels_create(struct device *device)
{
    for (int k = 0; k < KERNEL_COUNT; k++) {
        cl_int code;

        device->kernels[k] =
            clCreateKernel(device->program, kernel_name((enum kernel)k), &code);
        for (cl_uint b = 0; code == CL_SUCCESS && b < BUFFER_COUNT; b++) {
            code = clSetKernelArg(device->kernels[k], b, sizeof(cl_mem),
                                  &device->buffers[b]);
        }
        if (code != CL_SUCCESS) {
            return fail(kernel_name((enum kernel)k), code);
        }
    }
    return 0;
}

static int buffers_create(struct device *device, int batch)
{
    for (int b = 0; b < BUFFER_COUNT; b++) {
        size_t bytes = sizeof(float) * buffer_floats((enum buffer)b, batch);
        void *zeros = calloc(1, bytes);
        cl_int code;

        device->buffers[b] = clCreateBuffer(
            device->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes,
            zeros, &code);
        free(zeros);
        if (code != CL_SUCCESS) {
            return fail("clCreateBuffer", code);
        }
    }
    return 0;
}

struct device *device_create(int index, int batch)
{
    struct device *device = calloc(1, sizeof(*device));
    cl_device_id id;
    cl_int code;

    if (device == NULL || device_pick(index, &id) != 0) {
        goto error;
    }
    (void)clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof(device->name) - 1,
                          device->name, NULL);
    device->context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        (void)fail("clCreateContext", code);
        goto error;
    }
    device->queue = clCreateCommandQueue(device->context, id, 0, &code);
    if (code != CL_SUCCESS) {
        (void)fail("clCreateCommandQueue", code);
        goto error;
    }
    if (program_build(device, id) != 0 || buffers_create(device, batch) != 0 ||
        kernels_create(device) != 0) {
        goto error;
    }
    return device;
error:
    device_destroy(device);
    return NULL;
}

void device_destroy(struct device *device)
{
    if (device == NULL) {
        return;
    }
    for (int k = 0; k < KERNEL_COUNT; k++) {
        if (device->kernels[k] != NULL) {
            (void)clReleaseKernel(device->kernels[k]);
        }
    }
    for (int b = 0; b < BUFFER_COUNT; b++) {
        if (device->buffers[b] != NULL) {
            (void)clReleaseMemObject(device->buffers[b]);
        }
    }
    if (device->program != NULL) {
        (void)clReleaseProgram(device->program);
    }
    if (device->queue != NULL) {
        (void)clReleaseCommandQueue(device->queue);
    }
    if (device->context != NULL) {
        (void)clReleaseContext(device->context);
    }
    free(device);
}

int device_write(struct device *device,
                 enum buffer buffer,
                 const void *host,
                 size_t bytes,
                 int is_blocking)
{
    cl_int code = clEnqueueWriteBuffer(device->queue, device->buffers[buffer],
                                       is_blocking ? CL_TRUE : CL_FALSE, 0,
                                       bytes, host, 0, NULL, NULL);

    return code == CL_SUCCESS ? 0 : fail("clEnqueueWriteBuffer", code);
}

int device_read(struct device *device,
                enum buffer buffer,
                size_t offset,
                void *host,
                size_t bytes)
{
    cl_int code =
        clEnqueueReadBuffer(device->queue, device->buffers[buffer], CL_TRUE,
                            offset, bytes, host, 0, NULL, NULL);

    return code == CL_SUCCESS ? 0 : fail("clEnqueueReadBuffer", code);
}

int device_run(struct device *device, enum kernel kernel, int batch, float rate)
{
    cl_kernel handle = device->kernels[kernel];
    size_t local = GROUP_ITEMS;
    size_t global = (kernel_items(kernel, batch) + local - 1) / local * local;
    cl_int code = clSetKernelArg(handle, BUFFER_COUNT, sizeof(batch), &batch);

    if (code == CL_SUCCESS) {
        code = clSetKernelArg(handle, BUFFER_COUNT + 1, sizeof(rate), &rate);
    }
    if (code == CL_SUCCESS) {
        code = clEnqueueNDRangeKernel(device->queue, handle, 1, NULL, &global,
                                      &local, 0, NULL, NULL);
    }
    return code == CL_SUCCESS ? 0 : fail(kernel_name(kernel), code);
}

int device_finish(struct device *device)
{
    cl_int code = clFinish(device->queue);

    return code == CL_SUCCESS ? 0 : fail("clFinish", code);
}

/* The queue waits for an event that a thread completes in time. */
struct hold {
    cl_event event;
    double ms;
    _Atomic double begin_us; /* when all was queued; 0 = not yet */
    double *held_us;
};

static void *hold_end(void *argument)
{
    struct hold *hold = argument;

    ill_pause(hold->ms);
    while (atomic_load(&hold->begin_us) == 0) {
        ill_pause(0.05);
    }
    *hold->held_us += ill_now_us() - atomic_load(&hold->begin_us);
    (void)clSetUserEventStatus(hold->event, CL_COMPLETE);
    (void)clReleaseEvent(hold->event);
    free(hold);
    return NULL;
}

int device_hold(struct device *device, double ms, double *held_us)
{
    struct hold *hold = calloc(1, sizeof(*hold));
    pthread_t thread;
    cl_int code = CL_OUT_OF_HOST_MEMORY;

    if (hold == NULL) {
        return fail("device_hold", code);
    }
    hold->ms = ms;
    hold->held_us = held_us;
    hold->event = clCreateUserEvent(device->context, &code);
    if (code == CL_SUCCESS) {
        code =
            clEnqueueBarrierWithWaitList(device->queue, 1, &hold->event, NULL);
    }
    if (code != CL_SUCCESS ||
        pthread_create(&thread, NULL, hold_end, hold) != 0) {
        free(hold);
        return fail("device_hold", code);
    }
    (void)pthread_detach(thread);
    /* What the host took until here is its own, and no fault of the device. */
    atomic_store(&hold->begin_us, ill_now_us());
    return 0;
}
