/* cl_threads.c - threads with queues of their own, over all devices
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     cl_threads THREADS KERNELS [shared]
 *
 * Thread i launches KERNELS kernels "spin" on device i modulo the devices,
 * waits by events (with a callback of its own on each), and prints nothing;
 * the sum of all results is printed at the end. shared: all use one queue, and
 * wait for each 20th kernel alone.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/targets/opencl/cl_base.h"

#define ITEMS 256
#define THREADS_MAX 16

static struct cl_base base;
static int kernels;
static cl_command_queue shared; /* NULL: each thread has its own */
static _Atomic int called;
static double sums[THREADS_MAX];

static void CL_CALLBACK count(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)data;
    if (status == CL_COMPLETE) {
        atomic_fetch_add(&called, 1);
    }
}

static void launch(cl_command_queue queue, cl_kernel kernel, bool is_awaited)
{
    size_t global = ITEMS;
    cl_event event;

    cl_must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0,
                                   NULL, &event),
            "launch");
    cl_must(clSetEventCallback(event, CL_COMPLETE, count, NULL), "callback");
    if (is_awaited) {
        cl_must(clWaitForEvents(1, &event), "wait");
    }
    cl_must(clReleaseEvent(event), "release event");
}

static void *thread_main(void *number)
{
    int index = *(int *)number;
    cl_device_id device = base.devices[(cl_uint)index % base.count];
    float host[ITEMS] = {0};
    int rounds = 2000;
    cl_int rc = CL_SUCCESS;
    cl_command_queue queue =
        shared != NULL ? shared
                       : clCreateCommandQueue(base.context, device, 0, &rc);
    cl_mem buffer;
    cl_kernel kernel;

    cl_must(rc, "queue");
    buffer =
        clCreateBuffer(base.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                       sizeof(host), host, &rc);
    cl_must(rc, "buffer");
    kernel = cl_base_kernel(&base, "spin", buffer);
    cl_must(clSetKernelArg(kernel, 1, sizeof(rounds), &rounds), "argument");
    for (int i = 0; i < kernels; i++) {
        launch(queue, kernel, shared == NULL || i % 20 == 19);
    }
    cl_must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(host), host,
                                0, NULL, NULL),
            "read");
    for (int i = 0; i < ITEMS; i++) {
        sums[index] += host[i];
    }
    cl_must(clReleaseKernel(kernel), "release");
    cl_must(clReleaseMemObject(buffer), "release");
    if (queue != shared) {
        cl_must(clReleaseCommandQueue(queue), "release");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t ids[THREADS_MAX];
    int numbers[THREADS_MAX];
    double sum = 0;
    cl_int rc;

    kernels = argc > 2 ? atoi(argv[2]) : 50;
    if (threads < 1 || threads > THREADS_MAX) {
        return 2;
    }
    cl_base_init(&base);
    if (argc > 3) {
        shared = clCreateCommandQueue(base.context, base.devices[0], 0, &rc);
        cl_must(rc, "queue");
    }
    for (int i = 0; i < threads; i++) {
        numbers[i] = i;
        if (pthread_create(&ids[i], NULL, thread_main, &numbers[i]) != 0) {
            return 3;
        }
    }
    for (int i = 0; i < threads; i++) {
        (void)pthread_join(ids[i], NULL);
        sum += sums[i];
    }
    if (shared != NULL) {
        cl_must(clReleaseCommandQueue(shared), "release");
    }
    cl_base_fini(&base);
    (void)printf("sum %.17g devices %u\n", sum, base.count);
    /* The last callbacks may still be on their way. */
    for (int i = 0; i < 10000 && atomic_load(&called) < threads * kernels;
         i++) {
        struct timespec pause = {0, 1000000};

        (void)nanosleep(&pause, NULL);
    }
    (void)printf("callbacks %d\n", atomic_load(&called));
    return 0;
}
