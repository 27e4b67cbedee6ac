/* device_cuda.c - train's accelerator through the CUDA driver API and NVRTC
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Builds wherever the CUDA headers are; libcuda comes from the driver.
 */
#include "tests/targets/train/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <nvrtc.h>

#include "tests/targets/train/ill.h"

#define GROUP_ITEMS 128

struct device {
    CUcontext context;
    CUstream stream;
    CUmodule module;
    CUfunction kernels[KERNEL_COUNT];
    CUdeviceptr buffers[BUFFER_COUNT];
    char name[128];
};

static char error_text[4096];

static int fail(const char *what, CUresult code)
{
    const char *text = NULL;

    (void)cuGetErrorString(code, &text);
    (void)snprintf(error_text, sizeof(error_text), "%s: %s", what,
                   text != NULL ? text : "unknown CUDA error");
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

static int context_create(struct device *device, int index)
{
    CUdevice id;
    int count = 0;
    CUresult code = cuInit(0);

    if (code == CUDA_SUCCESS) {
        code = cuDeviceGetCount(&count);
    }
    if (code != CUDA_SUCCESS || count == 0) {
        return fail("no CUDA device", code);
    }
    code = cuDeviceGet(&id, index % count);
    if (code == CUDA_SUCCESS) {
        (void)cuDeviceGetName(device->name, sizeof(device->name), id);
        code = cuDevicePrimaryCtxRetain(&device->context, id);
    }
    if (code == CUDA_SUCCESS) {
        code = cuCtxSetCurrent(device->context);
    }
    if (code == CUDA_SUCCESS) {
        code = cuStreamCreate(&device->stream, CU_STREAM_NON_BLOCKING);
    }
    return code == CUDA_SUCCESS ? 0 : fail("CUDA context", code);
}

/* The kernels as PTX of the oldest architecture that NVRTC still knows; the
 * driver translates. The caller frees. */
static char *kernels_compile(void)
{
    static const char *const prefix =
        "#define KERNEL extern \"C\" __global__\n#define GLOBAL\n"
        "#define ITEM ((int)(blockIdx.x * blockDim.x + threadIdx.x))\n";
    size_t length = strlen(prefix) + strlen(kernel_source) + 1;
    char *text = malloc(length);
    char *ptx = NULL;
    size_t bytes = 0;
    nvrtcProgram program = NULL;

    if (text == NULL) {
        return NULL;
    }
    (void)snprintf(text, length, "%s%s", prefix, kernel_source);
    if (nvrtcCreateProgram(&program, text, "train.cu", 0, NULL, NULL) !=
            NVRTC_SUCCESS ||
        nvrtcCompileProgram(program, 0, NULL) != NVRTC_SUCCESS ||
        nvrtcGetPTXSize(program, &bytes) != NVRTC_SUCCESS) {
        size_t room = 0;

        (void)snprintf(error_text, sizeof(error_text), "NVRTC failed");
        if (program != NULL &&
            nvrtcGetProgramLogSize(program, &room) == NVRTC_SUCCESS &&
            room <= sizeof(error_text)) {
            (void)nvrtcGetProgramLog(program, error_text);
        }
    } else {
        ptx = malloc(bytes);
        if (ptx != NULL && nvrtcGetPTX(program, ptx) != NVRTC_SUCCESS) {
            free(ptx);
            ptx = NULL;
        }
    }
    (void)nvrtcDestroyProgram(&program);
    free(text);
    return ptx;
}

static int kernels_load(struct device *device)
{
    char *ptx = kernels_compile();
    CUresult code;

    if (ptx == NULL) {
        return -1;
    }
    code = cuModuleLoadData(&device->module, ptx);
    free(ptx);
    for (int k = 0; code == CUDA_SUCCESS && k < KERNEL_COUNT; k++) {
        code = cuModuleGetFunction(&device->kernels[k], device->module,
                                   kernel_name((enum kernel)k));
    }
    return code == CUDA_SUCCESS ? 0 : fail("loading the kernels", code);
}

struct device *device_create(int index, int batch)
{
    struct device *device = calloc(1, sizeof(*device));

    if (device == NULL || context_create(device, index) != 0 ||
        kernels_load(device) != 0) {
        goto error;
    }
    for (int b = 0; b < BUFFER_COUNT; b++) {
        size_t bytes = sizeof(float) * buffer_floats((enum buffer)b, batch);
        CUresult code = cuMemAlloc(&device->buffers[b], bytes);

        if (code == CUDA_SUCCESS) {
            code = cuMemsetD8(device->buffers[b], 0, bytes);
        }
        if (code != CUDA_SUCCESS) {
            (void)fail("cuMemAlloc", code);
            goto error;
        }
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
    for (int b = 0; b < BUFFER_COUNT; b++) {
        if (device->buffers[b] != 0) {
            (void)cuMemFree(device->buffers[b]);
        }
    }
    if (device->module != NULL) {
        (void)cuModuleUnload(device->module);
    }
    if (device->stream != NULL) {
        (void)cuStreamDestroy(device->stream);
    }
    free(device);
}

int device_write(struct device *device,
                 enum buffer buffer,
                 const void *host,
                 size_t bytes,
                 int is_blocking)
{
    CUresult code =
        cuMemcpyHtoDAsync(device->buffers[buffer], host, bytes, device->stream);

    if (code == CUDA_SUCCESS && is_blocking) {
        code = cuStreamSynchronize(device->stream);
    }
    return code == CUDA_SUCCESS ? 0 : fail("cuMemcpyHtoDAsync", code);
}

int device_read(struct device *device,
                enum buffer buffer,
                size_t offset,
                void *host,
                size_t bytes)
{
    CUresult code = cuMemcpyDtoHAsync(host, device->buffers[buffer] + offset,
                                      bytes, device->stream);

    if (code == CUDA_SUCCESS) {
        code = cuStreamSynchronize(device->stream);
    }
    return code == CUDA_SUCCESS ? 0 : fail("cuMemcpyDtoHAsync", code);
}

int device_run(struct device *device, enum kernel kernel, int batch, float rate)
{
    void *arguments[BUFFER_COUNT + 2];
    unsigned groups =
        (unsigned)((kernel_items(kernel, batch) + GROUP_ITEMS - 1) /
                   GROUP_ITEMS);
    CUresult code;

    for (int b = 0; b < BUFFER_COUNT; b++) {
        arguments[b] = &device->buffers[b];
    }
    arguments[BUFFER_COUNT] = &batch;
    arguments[BUFFER_COUNT + 1] = &rate;
    code = cuLaunchKernel(device->kernels[kernel], groups, 1, 1, GROUP_ITEMS, 1,
                          1, 0, device->stream, arguments, NULL);
    return code == CUDA_SUCCESS ? 0 : fail(kernel_name(kernel), code);
}

int device_finish(struct device *device)
{
    CUresult code = cuStreamSynchronize(device->stream);

    return code == CUDA_SUCCESS ? 0 : fail("cuStreamSynchronize", code);
}

struct hold {
    double ms;
    double begin_us;
    double *held_us;
};

/* Runs in the stream, on a thread of the driver. */
static void CUDA_CB hold_run(void *argument)
{
    struct hold *hold = argument;

    ill_pause(hold->ms);
    *hold->held_us += ill_now_us() - hold->begin_us;
    free(hold);
}

int device_hold(struct device *device, double ms, double *held_us)
{
    struct hold *hold = calloc(1, sizeof(*hold));
    CUresult code;

    if (hold == NULL) {
        return fail("device_hold", CUDA_ERROR_OUT_OF_MEMORY);
    }
    *hold = (struct hold){ms, ill_now_us(), held_us};
    code = cuLaunchHostFunc(device->stream, hold_run, hold);
    if (code != CUDA_SUCCESS) {
        free(hold);
        return fail("cuLaunchHostFunc", code);
    }
    return 0;
}
