/* cl_many.c - more queues than any program has, and more commands that wait
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * cl_many COUNT: so many queues without profiling, a command with an event on
 * each. What the events answer is counted, then once more when all queues are
 * released. cl_many COUNT held: so many commands of one queue that begin when
 * all are enqueued.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cl_base.h"

static void ask(const cl_event *events, int count)
{
    int without = 0, references = 0;

    for (int i = 0; i < count; i++) {
        cl_ulong stamp;
        cl_uint held = 0;

        without += clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END,
                                           sizeof(stamp), &stamp, NULL) ==
                   CL_PROFILING_INFO_NOT_AVAILABLE;
        cl_must(clGetEventInfo(events[i], CL_EVENT_REFERENCE_COUNT,
                               sizeof(held), &held, NULL),
                "clGetEventInfo");
        references += (int)held;
    }
    printf("%d events, %d without profiling, %d references\n", count, without,
           references);
}

static int held(int count)
{
    const int zero = 0;
    struct cl_base base;
    cl_command_queue queue;
    cl_mem memory;
    cl_event gate;
    cl_int rc;

    cl_base_init(&base);
    queue = clCreateCommandQueue(base.context, base.devices[0], 0, &rc);
    cl_must(rc, "clCreateCommandQueue");
    memory = clCreateBuffer(base.context, CL_MEM_READ_WRITE, 64, NULL, &rc);
    cl_must(rc, "clCreateBuffer");
    gate = clCreateUserEvent(base.context, &rc);
    cl_must(rc, "clCreateUserEvent");
    for (int i = 0; i < count; i++) {
        cl_must(clEnqueueFillBuffer(queue, memory, &zero, sizeof(zero), 0, 64,
                                    i == 0, i == 0 ? &gate : NULL, NULL),
                "clEnqueueFillBuffer");
    }
    cl_must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    cl_must(clFinish(queue), "clFinish");
    cl_must(clReleaseEvent(gate), "clReleaseEvent");
    cl_must(clReleaseMemObject(memory), "clReleaseMemObject");
    cl_must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    cl_base_fini(&base);
    printf("%d commands\n", count);
    return 0;
}

int main(int argc, char **argv)
{
    int count = argc >= 2 ? atoi(argv[1]) : 1;
    cl_command_queue *queues = calloc((size_t)count, sizeof(cl_command_queue));
    cl_event *events = calloc((size_t)count, sizeof(cl_event));
    const int zero = 0;
    struct cl_base base;
    cl_mem memory;
    cl_int rc;

    if (argc == 3) {
        return held(count);
    }
    if (queues == NULL || events == NULL) {
        return 1;
    }
    cl_base_init(&base);
    memory = clCreateBuffer(base.context, CL_MEM_READ_WRITE, 64, NULL, &rc);
    cl_must(rc, "clCreateBuffer");
    for (int i = 0; i < count; i++) {
        queues[i] = clCreateCommandQueue(base.context, base.devices[0], 0, &rc);
        cl_must(rc, "clCreateCommandQueue");
        cl_must(clEnqueueFillBuffer(queues[i], memory, &zero, sizeof(zero), 0,
                                    64, 0, NULL, &events[i]),
                "clEnqueueFillBuffer");
    }
    for (int i = 0; i < count; i++) {
        cl_must(clFinish(queues[i]), "clFinish");
    }
    ask(events, count);
    for (int i = 0; i < count; i++) {
        cl_must(clReleaseCommandQueue(queues[i]), "clReleaseCommandQueue");
    }
    ask(events, count);
    for (int i = 0; i < count; i++) {
        cl_must(clReleaseEvent(events[i]), "clReleaseEvent");
    }
    cl_must(clReleaseMemObject(memory), "clReleaseMemObject");
    cl_base_fini(&base);
    free(queues);
    free(events);
    return 0;
}
