/* cl_callers.c - one line that launches, two ways to it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of 4,000 launches each fourth comes from check(), the others from train();
 * the kernels are alike. make() has 4 MiB of device memory at its peak, 4 MiB
 * and 64 KiB in all, and keeps 2 MiB.
 */
#include <stdio.h>

#include "cl_base.h"

#define LAUNCHES 4000

static cl_command_queue queue;
static cl_kernel add;

__attribute__((noinline)) static void launch(void)
{
    const size_t global = 256;

    cl_must(clEnqueueNDRangeKernel(queue, add, 1, NULL, /* here: launch */
                                   &global, NULL, 0, NULL, NULL),
            "clEnqueueNDRangeKernel");
}

__attribute__((noinline)) static void train(void)
{
    launch();
    __asm__ volatile("# train");
}

__attribute__((noinline)) static void check(void)
{
    launch();
    __asm__ volatile("# check");
}

__attribute__((noinline)) static cl_mem make_one(cl_context context,
                                                 size_t bytes)
{
    cl_int rc;
    cl_mem memory =
        clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &rc);

    cl_must(rc, "clCreateBuffer");
    return memory;
}

__attribute__((noinline)) static cl_mem make(cl_context context)
{
    static char own[4096];
    cl_mem first = make_one(context, 1 << 20);
    cl_mem second = make_one(context, 1 << 20);
    cl_mem kept = make_one(context, 2 << 20);
    cl_mem none;
    void *shared;
    cl_int rc;

    cl_must(clRetainMemObject(second), "clRetainMemObject");
    cl_must(clReleaseMemObject(second), "clReleaseMemObject");
    cl_must(clReleaseMemObject(second), "clReleaseMemObject");
    shared = clSVMAlloc(context, CL_MEM_READ_WRITE, 65536, 0);
    none = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof(own), own, &rc);
    cl_must(rc, "clCreateBuffer");
    if (shared == NULL) {
        printf("no shared memory\n");
    }
    /* Without a queue it fails, and frees nothing. */
    if (clEnqueueSVMFree(NULL, 1, &shared, NULL, NULL, 0, NULL, NULL) ==
        CL_SUCCESS) {
        printf("freed without a queue\n");
    }
    clSVMFree(context, shared);
    cl_must(clReleaseMemObject(none), "clReleaseMemObject");
    cl_must(clReleaseMemObject(first), "clReleaseMemObject");
    return kept;
}

int main(void)
{
    struct cl_base base;
    const float one = 1;
    cl_mem memory, kept;
    cl_int rc;

    cl_base_init(&base);
    kept = make(base.context);
    queue = clCreateCommandQueue(base.context, base.devices[0], 0, &rc);
    cl_must(rc, "clCreateCommandQueue");
    memory = clCreateBuffer(base.context, CL_MEM_READ_WRITE, 1024, NULL, &rc);
    cl_must(rc, "clCreateBuffer");
    add = cl_base_kernel(&base, "add", memory);
    cl_must(clSetKernelArg(add, 1, sizeof(one), &one), "clSetKernelArg");
    for (int i = 0; i < LAUNCHES; i++) {
        if (i % 4 == 3) {
            check();
        } else {
            train();
        }
        if (i % 64 == 63) {
            cl_must(clFinish(queue), "clFinish");
        }
    }
    cl_must(clFinish(queue), "clFinish");
    cl_must(clReleaseKernel(add), "clReleaseKernel");
    cl_must(clReleaseMemObject(memory), "clReleaseMemObject");
    (void)kept; /* until the process ends */
    cl_must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    cl_base_fini(&base);
    printf("%d\n", LAUNCHES);
    return 0;
}
