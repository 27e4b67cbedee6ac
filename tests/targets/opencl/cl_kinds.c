/* cl_kinds.c - 200 kernels and every kind of copy, in numbers that are known
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Option "out-of-order": the queue is. Prints a checksum of all data that it
 * read back, which must not depend on who watches. The comment behind each
 * command is its record: kind bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/targets/opencl/cl_base.h"

#define KERNELS 200
#define FLOATS 4096
#define BYTES (FLOATS * sizeof(float))
#define SIDE 16

static uint64_t sum;

static void sum_add(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++) {
        sum = (sum ^ at[i]) * 1099511628211ull;
    }
}

static void kernels_run(cl_command_queue queue, cl_kernel add)
{
    size_t global[2] = {FLOATS / 4, 1};
    size_t local = 64;

    for (int i = 0; i < KERNELS; i++) {
        float b = (float)i;

        cl_must(clSetKernelArg(add, 1, sizeof(b), &b), "clSetKernelArg");
        if (i % 2 == 0) {
            cl_must(clEnqueueNDRangeKernel(queue, add, 1, NULL, global, &local,
                                           0, NULL, NULL),
                    "clEnqueueNDRangeKernel");
        } else {
            cl_must(clEnqueueNDRangeKernel(queue, add, 2, NULL, global, NULL, 0,
                                           NULL, NULL),
                    "clEnqueueNDRangeKernel");
        }
        cl_must(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL),
                "clEnqueueBarrierWithWaitList");
    }
    cl_must(clEnqueueTask(queue, add, 0, NULL, NULL), "clEnqueueTask");
    cl_must(clFinish(queue), "clFinish");
}

static void
buffers_copy(cl_command_queue queue, cl_mem a, cl_mem b, float *host)
{
    const size_t origin[3] = {0, 0, 0};
    const size_t region[3] = {64, 8, 1};
    cl_event event;
    float zero = 0;
    float *map;
    cl_int rc;

    /* h2d 16384, blocking */
    cl_must(
        clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, BYTES, host, 0, NULL, NULL),
        "write");
    /* d2d 8192 */
    cl_must(clEnqueueCopyBuffer(queue, a, b, 0, 0, BYTES / 2, 0, NULL, &event),
            "copy");
    cl_must(clWaitForEvents(1, &event), "wait");
    cl_must(clReleaseEvent(event), "release");
    /* fill 8192 */
    cl_must(clEnqueueFillBuffer(queue, b, &zero, sizeof(zero), BYTES / 2,
                                BYTES / 2, 0, NULL, NULL),
            "fill");
    cl_must(clFinish(queue), "finish");
    /* h2d 512, d2d 512, d2h 512 */
    cl_must(clEnqueueWriteBufferRect(queue, b, CL_TRUE, origin, origin, region,
                                     128, 0, 64, 0, host, 0, NULL, NULL),
            "write rect");
    cl_must(clEnqueueCopyBufferRect(queue, b, a, origin, origin, region, 128, 0,
                                    128, 0, 0, NULL, NULL),
            "copy rect");
    cl_must(clFinish(queue), "finish");
    cl_must(clEnqueueReadBufferRect(queue, a, CL_TRUE, origin, origin, region,
                                    128, 0, 64, 0, host, 0, NULL, NULL),
            "read rect");
    /* map 4096, map 4096 */
    map = clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_WRITE, 0, BYTES / 4, 0,
                             NULL, NULL, &rc);
    cl_must(rc, "map");
    map[0] += 1;
    cl_must(clEnqueueUnmapMemObject(queue, a, map, 0, NULL, NULL), "unmap");
    /* h2d 16384 */
    cl_must(clEnqueueMigrateMemObjects(queue, 1, &a, 0, 0, NULL, NULL),
            "migrate");
    cl_must(clFinish(queue), "finish");
    /* d2h 16384 with an event, not blocking */
    cl_must(clEnqueueReadBuffer(queue, a, CL_FALSE, 0, BYTES, host, 0, NULL,
                                &event),
            "read");
    cl_must(clWaitForEvents(1, &event), "wait");
    cl_must(clReleaseEvent(event), "release");
    sum_add(host, BYTES);
}

static void
images_copy(const struct cl_base *base, cl_command_queue queue, cl_mem buffer)
{
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                 .image_width = SIDE,
                                 .image_height = SIDE};
    const size_t origin[3] = {0, 0, 0};
    const size_t region[3] = {SIDE, SIDE, 1};
    const float color[4] = {1, 2, 3, 4};
    float host[SIDE * SIDE * 4];
    cl_mem images[2];
    size_t row;
    cl_int rc;
    void *map;

    for (int i = 0; i < 2; i++) {
        images[i] = clCreateImage(base->context, CL_MEM_READ_WRITE, &format,
                                  &shape, NULL, &rc);
        cl_must(rc, "clCreateImage");
    }
    /* fill, d2d, d2d, d2d, h2d, d2h, map, map: 4096 each */
    cl_must(clEnqueueFillImage(queue, images[0], color, origin, region, 0, NULL,
                               NULL),
            "fill image");
    cl_must(clFinish(queue), "finish");
    cl_must(clEnqueueCopyImage(queue, images[0], images[1], origin, origin,
                               region, 0, NULL, NULL),
            "copy image");
    cl_must(clFinish(queue), "finish");
    cl_must(clEnqueueCopyImageToBuffer(queue, images[1], buffer, origin, region,
                                       0, 0, NULL, NULL),
            "image to buffer");
    cl_must(clFinish(queue), "finish");
    cl_must(clEnqueueCopyBufferToImage(queue, buffer, images[0], 0, origin,
                                       region, 0, NULL, NULL),
            "buffer to image");
    cl_must(clFinish(queue), "finish");
    cl_must(clEnqueueReadImage(queue, images[0], CL_TRUE, origin, region, 0, 0,
                               host, 0, NULL, NULL),
            "read image");
    sum_add(host, sizeof(host));
    cl_must(clEnqueueWriteImage(queue, images[1], CL_TRUE, origin, region, 0, 0,
                                host, 0, NULL, NULL),
            "write image");
    map = clEnqueueMapImage(queue, images[1], CL_TRUE, CL_MAP_READ, origin,
                            region, &row, NULL, 0, NULL, NULL, &rc);
    cl_must(rc, "map image");
    sum_add(map, 16);
    cl_must(clEnqueueUnmapMemObject(queue, images[1], map, 0, NULL, NULL),
            "unmap image");
    cl_must(clFinish(queue), "finish");
    for (int i = 0; i < 2; i++) {
        cl_must(clReleaseMemObject(images[i]), "release image");
    }
}

/* Shared virtual memory, where the device has it. */
static void svm_copy(const struct cl_base *base, cl_command_queue queue)
{
    cl_device_svm_capabilities can = 0;
    unsigned char *a, *b;
    int zero = 7;

    (void)clGetDeviceInfo(base->devices[0], CL_DEVICE_SVM_CAPABILITIES,
                          sizeof(can), &can, NULL);
    if ((can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) {
        (void)printf("svm none\n");
        return;
    }
    a = clSVMAlloc(base->context, CL_MEM_READ_WRITE, 1024, 0);
    b = clSVMAlloc(base->context, CL_MEM_READ_WRITE, 1024, 0);
    if (a == NULL || b == NULL) {
        cl_must(CL_OUT_OF_RESOURCES, "clSVMAlloc");
    }
    /* fill 1024, d2d 1024, map 1024, map 1024 */
    cl_must(
        clEnqueueSVMMemFill(queue, a, &zero, sizeof(zero), 1024, 0, NULL, NULL),
        "svm fill");
    cl_must(clFinish(queue), "finish");
    cl_must(clEnqueueSVMMemcpy(queue, CL_TRUE, b, a, 1024, 0, NULL, NULL),
            "svm copy");
    cl_must(
        clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, b, 1024, 0, NULL, NULL),
        "svm map");
    sum_add(b, 1024);
    cl_must(clEnqueueSVMUnmap(queue, b, 0, NULL, NULL), "svm unmap");
    cl_must(clFinish(queue), "finish");
    clSVMFree(base->context, a);
    clSVMFree(base->context, b);
    (void)printf("svm yes\n");
}

int main(int argc, char **argv)
{
    int is_mixed = argc > 1 && strcmp(argv[1], "out-of-order") == 0;
    struct cl_base base;
    cl_command_queue queue;
    float *host = calloc(FLOATS, sizeof(*host));
    cl_kernel add;
    cl_mem a, b;
    cl_int rc;

    if (host == NULL) {
        return 3;
    }
    for (int i = 0; i < FLOATS; i++) {
        host[i] = (float)i;
    }
    cl_base_init(&base);
    queue = clCreateCommandQueue(
        base.context, base.devices[0],
        is_mixed ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &rc);
    cl_must(rc, "clCreateCommandQueue");
    a = clCreateBuffer(base.context, CL_MEM_READ_WRITE, BYTES, NULL, &rc);
    cl_must(rc, "clCreateBuffer");
    b = clCreateBuffer(base.context, CL_MEM_READ_WRITE, BYTES, NULL, &rc);
    cl_must(rc, "clCreateBuffer");
    add = cl_base_kernel(&base, "add", a);

    buffers_copy(queue, a, b, host);
    kernels_run(queue, add);
    images_copy(&base, queue, b);
    svm_copy(&base, queue);
    cl_must(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, BYTES, host, 0, NULL,
                                NULL), /* d2h 16384 */
            "read");
    sum_add(host, BYTES);
    (void)printf("sum %016llx\n", (unsigned long long)sum);

    cl_must(clReleaseKernel(add), "release kernel");
    cl_must(clReleaseMemObject(a), "release buffer");
    cl_must(clReleaseMemObject(b), "release buffer");
    cl_must(clReleaseCommandQueue(queue), "release queue");
    cl_base_fini(&base);
    free(host);
    return 0;
}
