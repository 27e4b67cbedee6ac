/* opencl_cost.c - a program that only launches
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     opencl_cost plain LAUNCHES
 *         kernels of one work-item with an event each, no wait before the end;
 *         prints ns a launch
 *     opencl_cost stamps LAUNCHES
 *         the same loop with what every tool does that times commands: the
 * queue has profiling, each event is kept until it is complete, and its four
 *         stamps are read
 *     opencl_cost callbacks LAUNCHES
 *         the same, read in a callback of each event
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/targets/opencl/cl_base.h"

/* Launches between two looks at what is complete. */
#define LOOK_EVERY 256

static atomic_ullong stamps; /* their sum: they were read */
static atomic_long looked;

static double now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void stamps_read(cl_event event)
{
    static const cl_profiling_info what[4] = {
        CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};

    for (int i = 0; i < 4; i++) {
        cl_ulong stamp = 0;

        cl_must(clGetEventProfilingInfo(event, what[i], sizeof(stamp), &stamp,
                                        NULL),
                "clGetEventProfilingInfo");
        atomic_fetch_add_explicit(&stamps, stamp, memory_order_relaxed);
    }
    atomic_fetch_add(&looked, 1);
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *data)
{
    (void)status;
    (void)data;
    stamps_read(event);
    cl_must(clReleaseEvent(event), "clReleaseEvent");
}

/* Reads what is complete of events[from] to events[to - 1], in order; returns
 * where it stopped. */
static long look(cl_event *events, long from, long to)
{
    for (; from < to; from++) {
        cl_int status = CL_QUEUED;

        cl_must(clGetEventInfo(events[from], CL_EVENT_COMMAND_EXECUTION_STATUS,
                               sizeof(status), &status, NULL),
                "clGetEventInfo");
        if (status != CL_COMPLETE) {
            break;
        }
        stamps_read(events[from]);
        cl_must(clReleaseEvent(events[from]), "clReleaseEvent");
    }
    return from;
}

static void launch(cl_command_queue queue,
                   cl_kernel kernel,
                   const char *mode,
                   long launches)
{
    const size_t one = 1;
    cl_event *events = calloc((size_t)launches, sizeof(cl_event));
    long read = 0;

    for (long i = 0; events != NULL && i < launches; i++) {
        cl_must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0,
                                       NULL, &events[i]),
                "clEnqueueNDRangeKernel");
        if (strcmp(mode, "plain") == 0) {
            cl_must(clReleaseEvent(events[i]), "clReleaseEvent");
        } else if (strcmp(mode, "callbacks") == 0) {
            cl_must(
                clSetEventCallback(events[i], CL_COMPLETE, on_complete, NULL),
                "clSetEventCallback");
        } else if (i % LOOK_EVERY == 0) {
            read = look(events, read, i);
        }
    }
    cl_must(clFinish(queue), "clFinish");
    if (strcmp(mode, "stamps") == 0) {
        look(events, read, launches);
    }
    free(events);
}

int main(int argc, char **argv)
{
    const char *mode = argc == 3 ? argv[1] : "";
    long launches = argc == 3 ? atol(argv[2]) : 0;
    const cl_float half = 0.5F;
    struct cl_base base;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem memory;
    cl_int rc;
    double begin;

    if (launches < 1 || strstr("plain stamps callbacks", mode) == NULL) {
        (void)fprintf(stderr,
                      "usage: opencl_cost plain|stamps|callbacks LAUNCHES\n");
        return 2;
    }
    cl_base_init(&base);
    queue = clCreateCommandQueue(
        base.context, base.devices[0],
        strcmp(mode, "plain") == 0 ? 0 : CL_QUEUE_PROFILING_ENABLE, &rc);
    cl_must(rc, "clCreateCommandQueue");
    memory = clCreateBuffer(base.context, CL_MEM_READ_WRITE, 64, NULL, &rc);
    cl_must(rc, "clCreateBuffer");
    kernel = cl_base_kernel(&base, "add", memory);
    cl_must(clSetKernelArg(kernel, 1, sizeof(half), &half), "clSetKernelArg");
    launch(queue, kernel, "plain", 1000); /* compiles it */
    begin = now_ns();
    launch(queue, kernel, mode, launches);
    printf("%.1f\n", (now_ns() - begin) / (double)launches);
    cl_must(clReleaseKernel(kernel), "clReleaseKernel");
    cl_must(clReleaseMemObject(memory), "clReleaseMemObject");
    cl_must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    cl_base_fini(&base);
    return 0;
}
