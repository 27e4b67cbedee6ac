/* openclobject.c - queues: created and released
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A queue of the program gets profiling as well, because only then has a
 * command its stamps. What the program asked for is kept, and is what
 * clGetCommandQueueInfo and clGetEventProfilingInfo go on to answer.
 */
#include "agent/inject/opencl/openclqueue.h"

#include <string.h>

/* Whether the layer records in this process at all. */
static bool is_recording(void)
{
    return inject_writer() != NULL || inject_ring.header != NULL;
}

cl_command_queue CL_API_CALL
wrap_clCreateCommandQueue(cl_context context,
                          cl_device_id device,
                          cl_command_queue_properties properties,
                          cl_int *errcode)
{
    enum queue_change change = QUEUE_UNCHANGED;
    cl_command_queue_properties asked = properties;
    struct opencl_call call;
    cl_command_queue queue;

    if (is_recording() && (asked & CL_QUEUE_PROFILING_ENABLE) == 0) {
        properties |= CL_QUEUE_PROFILING_ENABLE;
        change = QUEUE_BIT;
    }
    opencl_enter(&call, OPENCL_clCreateCommandQueue, OPENCL_SITE, 0);
    queue = opencl_driver->clCreateCommandQueue(context, device, properties,
                                                errcode);
    if (queue == NULL && change != QUEUE_UNCHANGED) {
        change = QUEUE_UNCHANGED;
        queue = opencl_driver->clCreateCommandQueue(context, device, asked,
                                                    errcode);
    }
    opencl_returned(&call);
    if (queue != NULL && is_recording() && !queue_enter(queue, change) &&
        change != QUEUE_UNCHANGED) {
        /* There is no room to remember what it asked for. */
        (void)opencl_driver->clReleaseCommandQueue(queue);
        queue = opencl_driver->clCreateCommandQueue(context, device, asked,
                                                    errcode);
    }
    call.object = queue == NULL ? 0 : queue_id_of(queue);
    opencl_leave(&call, queue != NULL);
    return queue;
}

/* The program's list with the profiling bit: copied to `list`. */
static enum queue_change
properties_extend(const cl_queue_properties *asked,
                  cl_queue_properties list[QUEUE_PROPERTIES_MAX + 3])
{
    size_t n = 0;
    size_t at = SIZE_MAX;

    while (asked != NULL && asked[n] != 0) {
        if (n + 2 > QUEUE_PROPERTIES_MAX) {
            return QUEUE_UNCHANGED;
        }
        if (asked[n] == CL_QUEUE_PROPERTIES) {
            at = n + 1;
        }
        list[n] = asked[n];
        list[n + 1] = asked[n + 1];
        n += 2;
    }
    if (at == SIZE_MAX) {
        list[n] = CL_QUEUE_PROPERTIES;
        list[n + 1] = CL_QUEUE_PROFILING_ENABLE;
        list[n + 2] = 0;
        return asked == NULL ? QUEUE_LIST : QUEUE_PAIR;
    }
    list[n] = 0;
    if ((list[at] & (CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE)) != 0) {
        return QUEUE_UNCHANGED;
    }
    list[at] |= CL_QUEUE_PROFILING_ENABLE;
    return QUEUE_BIT;
}

cl_command_queue CL_API_CALL
wrap_clCreateCommandQueueWithProperties(cl_context context,
                                        cl_device_id device,
                                        const cl_queue_properties *asked,
                                        cl_int *errcode)
{
    cl_queue_properties list[QUEUE_PROPERTIES_MAX + 3];
    enum queue_change change =
        is_recording() ? properties_extend(asked, list) : QUEUE_UNCHANGED;
    struct opencl_call call;
    cl_command_queue queue;

    opencl_enter(&call, OPENCL_clCreateCommandQueueWithProperties, OPENCL_SITE,
                 0);
    queue = opencl_driver->clCreateCommandQueueWithProperties(
        context, device, change == QUEUE_UNCHANGED ? asked : list, errcode);
    if (queue == NULL && change != QUEUE_UNCHANGED) {
        change = QUEUE_UNCHANGED;
        queue = opencl_driver->clCreateCommandQueueWithProperties(
            context, device, asked, errcode);
    }
    opencl_returned(&call);
    if (queue != NULL && is_recording() && !queue_enter(queue, change) &&
        change != QUEUE_UNCHANGED) {
        (void)opencl_driver->clReleaseCommandQueue(queue);
        queue = opencl_driver->clCreateCommandQueueWithProperties(
            context, device, asked, errcode);
    }
    call.object = queue == NULL ? 0 : queue_id_of(queue);
    opencl_leave(&call, queue != NULL);
    return queue;
}

cl_int CL_API_CALL wrap_clReleaseCommandQueue(cl_command_queue queue)
{
    uint32_t id = queue_id_of(queue);
    cl_uint references = 0;
    struct opencl_call call;
    cl_int rc;

    if (opencl_driver->clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT,
                                             sizeof(references), &references,
                                             NULL) == CL_SUCCESS &&
        references == 1) {
        queue_release(queue);
    }
    opencl_enter(&call, OPENCL_clReleaseCommandQueue, OPENCL_SITE, id);
    rc = opencl_driver->clReleaseCommandQueue(queue);
    opencl_leave(&call, rc == CL_SUCCESS);
    return rc;
}
