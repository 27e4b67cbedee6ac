/* cl_view.c - prints what a program can see of its queues and events
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every line must be the same with and without a tracer. Stamps themselves
 * are not printed, only their order.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/targets/opencl/cl_base.h"

static void queue_print(const char *name, cl_command_queue queue)
{
    cl_command_queue_properties bits = 0;
    cl_queue_properties list[16] = {0};
    cl_uint references = 0;
    size_t bytes = 0;
    cl_int rc;

    cl_must(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(bits),
                                  &bits, NULL),
            "properties");
    cl_must(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT,
                                  sizeof(references), &references, NULL),
            "references");
    rc = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list),
                               list, &bytes);
    (void)printf("%s: bits %llx references %u list %d %zu", name,
                 (unsigned long long)bits, references, (int)rc, bytes);
    for (size_t i = 0; rc == CL_SUCCESS && i < bytes / sizeof(list[0]); i++) {
        (void)printf(" %llx", (unsigned long long)list[i]);
    }
    (void)printf("\n");
}

static void event_print(const char *name, cl_command_queue queue, cl_mem buffer)
{
    static const cl_profiling_info what[] = {
        CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    cl_ulong last = 0, stamp = 0;
    float value = 1;
    cl_event event;

    cl_must(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(value),
                                 &value, 0, NULL, &event),
            "write");
    cl_must(clWaitForEvents(1, &event), "wait");
    for (int i = 0; i < 4; i++) {
        cl_int rc = clGetEventProfilingInfo(event, what[i], sizeof(stamp),
                                            &stamp, NULL);

        (void)printf("%s: stamp %d rc %d%s\n", name, i, (int)rc,
                     rc == CL_SUCCESS && stamp >= last ? " ordered" : "");
        last = stamp;
    }
    cl_must(clReleaseEvent(event), "release");
}

static cl_uint references_of(cl_event event)
{
    cl_uint references = 0;

    cl_must(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(references),
                           &references, NULL),
            "references");
    return references;
}

static void *queue_finish(void *queue)
{
    cl_must(clFinish(queue), "finish");
    return NULL;
}

/* Of a command that waits for a user event, so that it has not ended; then
 * while another thread waits for it and the one behind it. */
static void
references_print(const struct cl_base *base, const char *name, cl_mem buffer)
{
    float value = 1;
    pthread_t thread;
    cl_int rc;
    cl_command_queue queue =
        clCreateCommandQueue(base->context, base->devices[0], 0, &rc);
    cl_event gate = clCreateUserEvent(base->context, &rc);
    cl_event end;

    cl_must(rc, "user event");
    cl_must(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(value),
                                 &value, 1, &gate, &end),
            "write");
    (void)printf("%s: references %u and %u\n", name, references_of(end),
                 references_of(gate));
    cl_must(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(value),
                                 &value, 0, NULL, NULL),
            "write");
    (void)pthread_create(&thread, NULL, queue_finish, queue);
    (void)usleep(200000);
    (void)printf("%s: references %u while a thread waits\n", name,
                 references_of(end));
    cl_must(clSetUserEventStatus(gate, CL_COMPLETE), "set");
    cl_must(clWaitForEvents(1, &end), "wait");
    (void)pthread_join(thread, NULL);
    cl_must(clReleaseEvent(end), "release");
    cl_must(clReleaseEvent(gate), "release");
    cl_must(clReleaseCommandQueue(queue), "release queue");
}

static void queue_try(const struct cl_base *base,
                      const char *name,
                      const cl_queue_properties *list,
                      cl_mem buffer)
{
    cl_int rc;
    cl_command_queue queue = clCreateCommandQueueWithProperties(
        base->context, base->devices[0], list, &rc);

    if (queue == NULL) {
        (void)printf("%s: not made, rc %d\n", name, (int)rc);
        return;
    }
    queue_print(name, queue);
    event_print(name, queue, buffer);
    cl_must(clReleaseCommandQueue(queue), "release queue");
}

int main(void)
{
    static const cl_queue_properties empty[] = {0};
    static const cl_queue_properties zero[] = {CL_QUEUE_PROPERTIES, 0, 0};
    static const cl_queue_properties asked[] = {CL_QUEUE_PROPERTIES,
                                                CL_QUEUE_PROFILING_ENABLE, 0};
    static const cl_queue_properties mixed[] = {
        CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    static const cl_queue_properties wrong[] = {0x7777, 1, 0};
    struct cl_base base;
    cl_command_queue queue;
    cl_mem buffer;
    cl_int rc;

    cl_base_init(&base);
    buffer = clCreateBuffer(base.context, CL_MEM_READ_WRITE, 64, NULL, &rc);
    cl_must(rc, "clCreateBuffer");
    queue_try(&base, "none", NULL, buffer);
    queue_try(&base, "empty", empty, buffer);
    queue_try(&base, "zero", zero, buffer);
    queue_try(&base, "asked", asked, buffer);
    queue_try(&base, "mixed", mixed, buffer);
    queue_try(&base, "wrong", wrong, buffer);
    for (int i = 0; i < 2; i++) {
        queue =
            clCreateCommandQueue(base.context, base.devices[0],
                                 i == 0 ? 0 : CL_QUEUE_PROFILING_ENABLE, &rc);
        cl_must(rc, "clCreateCommandQueue");
        queue_print(i == 0 ? "old" : "old asked", queue);
        event_print(i == 0 ? "old" : "old asked", queue, buffer);
        cl_must(clReleaseCommandQueue(queue), "release queue");
    }
    references_print(&base, "gated", buffer);
    rc = clEnqueueReadBuffer(NULL, buffer, CL_TRUE, 0, 4, &rc, 0, NULL, NULL);
    (void)printf("no queue: rc %d\n", (int)rc);
    cl_must(clReleaseMemObject(buffer), "release buffer");
    cl_base_fini(&base);
    return 0;
}
