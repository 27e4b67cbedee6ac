/* openclcall.c - waits, and the program's view of its queues
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/opencl/openclawait.h"
#include "agent/inject/opencl/openclqueue.h"

#include <string.h>

cl_int CL_API_CALL wrap_clFinish(cl_command_queue queue)
{
    struct opencl_queue *known = queue_find(queue);
    struct opencl_call call;
    cl_int rc;

    opencl_enter(&call, OPENCL_clFinish, OPENCL_SITE, queue_id(known));
    if (call.call.writer != NULL && known != NULL &&
        opencl_driver->clFlush(queue) == CL_SUCCESS) {
        backlog_wait(&known->backlog, call.object);
    }
    rc = opencl_driver->clFinish(queue);
    opencl_returned(&call);
    if (call.call.writer != NULL && known != NULL) {
        backlog_record_ended(&known->backlog);
    }
    opencl_answer(&call, rc);
    if (call.call.writer != NULL && known != NULL) {
        device_timer_look(known->device);
    }
    return rc;
}

/* The queue of an event; NULL for a user event or a bad one. */
static cl_command_queue event_queue(cl_event event)
{
    cl_command_queue queue = NULL;

    if (event == NULL || opencl_driver->clGetEventInfo(
                             event, CL_EVENT_COMMAND_QUEUE, sizeof(queue),
                             &queue, NULL) != CL_SUCCESS) {
        return NULL;
    }
    return queue;
}

cl_int CL_API_CALL wrap_clWaitForEvents(cl_uint count, const cl_event *events)
{
    cl_command_queue queue = NULL;
    struct await_found ended;
    struct opencl_call call;
    cl_int rc;

    if (count > 0 && events != NULL && inject_writer() != NULL) {
        queue = event_queue(events[0]);
    }
    opencl_enter(&call, OPENCL_clWaitForEvents, OPENCL_SITE,
                 queue_id_of(queue));
    call.arg = count;
    await_find(&ended, &(struct awaited){count, events});
    rc = opencl_driver->clWaitForEvents(count, events);
    if (rc == CL_SUCCESS) {
        await_say_found(&call, CK_KIND_AWAIT_HOST, &ended);
    }
    opencl_answer(&call, rc);
    return rc;
}

cl_event CL_API_CALL wrap_clCreateUserEvent(cl_context context, cl_int *errcode)
{
    struct opencl_call call;
    cl_event event;

    opencl_enter(&call, OPENCL_clCreateUserEvent, OPENCL_SITE, 0);
    event = opencl_driver->clCreateUserEvent(context, errcode);
    if (event != NULL) {
        call.extra = CK_COMMAND_EVENT;
        await_enter(event, &call);
    }
    opencl_leave(&call, event != NULL);
    return event;
}

cl_int CL_API_CALL wrap_clSetUserEventStatus(cl_event event, cl_int status)
{
    struct opencl_call call;
    cl_int rc;

    opencl_enter(&call, OPENCL_clSetUserEventStatus, OPENCL_SITE, 0);
    await_say(&call, CK_KIND_AWAIT_SET, &(struct awaited){1, &event});
    rc = opencl_driver->clSetUserEventStatus(event, status);
    if (rc == CL_SUCCESS) {
        await_set(event);
    }
    opencl_answer(&call, rc);
    return rc;
}

cl_int CL_API_CALL wrap_clRetainEvent(cl_event event)
{
    cl_int rc = opencl_driver->clRetainEvent(event);

    if (rc == CL_SUCCESS) {
        await_retained(event);
    }
    return rc;
}

cl_int CL_API_CALL wrap_clReleaseEvent(cl_event event)
{
    return event != NULL && await_released(event)
               ? CL_SUCCESS
               : opencl_driver->clReleaseEvent(event);
}

/* The references of an event are those that the program knows of. */
cl_int CL_API_CALL wrap_clGetEventInfo(
    cl_event event, cl_event_info what, size_t room, void *value, size_t *bytes)
{
    cl_uint held = what == CL_EVENT_REFERENCE_COUNT
                       ? await_held(event) + backlog_held(event)
                       : 0;
    cl_int rc = opencl_driver->clGetEventInfo(event, what, room, value, bytes);
    cl_uint count;

    if (rc == CL_SUCCESS && held > 0 && value != NULL &&
        room >= sizeof(count)) {
        memcpy(&count, value, sizeof(count));
        count -= count > held ? held : 0;
        memcpy(value, &count, sizeof(count));
    }
    return rc;
}

/* A program that asked for no profiling gets an error, as without ck. */
cl_int CL_API_CALL wrap_clGetEventProfilingInfo(cl_event event,
                                                cl_profiling_info what,
                                                size_t room,
                                                void *value,
                                                size_t *bytes)
{
    struct opencl_queue *queue = queue_find(event_queue(event));

    if (queue != NULL && atomic_load(&queue->change) != QUEUE_UNCHANGED) {
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    }
    return opencl_driver->clGetEventProfilingInfo(event, what, room, value,
                                                  bytes);
}

/* Make the driver's list of properties what the program gave. Returns the
 * bytes that are left of it. */
static size_t
list_restore(enum queue_change change, cl_queue_properties *list, size_t bytes)
{
    size_t count = bytes / sizeof(*list);

    if (change == QUEUE_LIST) {
        return 0;
    }
    for (size_t i = 0; i + 1 < count && list[i] != 0; i += 2) {
        if (list[i] != CL_QUEUE_PROPERTIES) {
            continue;
        }
        if (change == QUEUE_BIT) {
            list[i + 1] &= ~(cl_queue_properties)CL_QUEUE_PROFILING_ENABLE;
            return bytes;
        }
        memmove(&list[i], &list[i + 2], (count - i - 2) * sizeof(*list));
        return bytes - 2 * sizeof(*list);
    }
    return bytes;
}

static cl_int list_answer(cl_command_queue handle,
                          enum queue_change change,
                          size_t room,
                          void *value,
                          size_t *bytes)
{
    cl_queue_properties list[QUEUE_PROPERTIES_MAX + 3] = {0};
    size_t length = 0;
    cl_int rc = opencl_driver->clGetCommandQueueInfo(
        handle, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list), list, &length);

    if (rc != CL_SUCCESS) {
        return rc;
    }
    length = list_restore(change, list, length);
    if (value != NULL && room < length) {
        return CL_INVALID_VALUE;
    }
    if (value != NULL) {
        memcpy(value, list, length);
    }
    if (bytes != NULL) {
        *bytes = length;
    }
    return CL_SUCCESS;
}

cl_int CL_API_CALL wrap_clGetCommandQueueInfo(cl_command_queue handle,
                                              cl_command_queue_info what,
                                              size_t room,
                                              void *value,
                                              size_t *bytes)
{
    struct opencl_queue *queue =
        what == CL_QUEUE_PROPERTIES || what == CL_QUEUE_PROPERTIES_ARRAY
            ? queue_find(handle)
            : NULL;
    enum queue_change change = QUEUE_UNCHANGED;
    cl_command_queue_properties properties;
    cl_int rc;

    if (queue != NULL) {
        change = (enum queue_change)atomic_load(&queue->change);
    }
    if (change != QUEUE_UNCHANGED && what == CL_QUEUE_PROPERTIES_ARRAY) {
        return list_answer(handle, change, room, value, bytes);
    }
    rc = opencl_driver->clGetCommandQueueInfo(handle, what, room, value, bytes);
    if (rc == CL_SUCCESS && change != QUEUE_UNCHANGED && value != NULL &&
        room >= sizeof(properties)) {
        memcpy(&properties, value, sizeof(properties));
        properties &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
        memcpy(value, &properties, sizeof(properties));
    }
    return rc;
}

/* The program may not switch off what ck needs; what it asks is noted. */
cl_int CL_API_CALL
wrap_clSetCommandQueueProperty(cl_command_queue handle,
                               cl_command_queue_properties properties,
                               cl_bool is_on,
                               cl_command_queue_properties *old)
{
    struct opencl_queue *queue = queue_find(handle);
    cl_command_queue_properties bit = CL_QUEUE_PROFILING_ENABLE;
    bool is_added;
    cl_int rc;

    if (queue == NULL || (queue->properties & bit) == 0) {
        return opencl_driver->clSetCommandQueueProperty(handle, properties,
                                                        is_on, old);
    }
    is_added = atomic_load(&queue->change) != QUEUE_UNCHANGED;
    rc = opencl_driver->clSetCommandQueueProperty(
        handle, is_on ? properties : properties & ~bit, is_on, old);
    if (rc != CL_SUCCESS) {
        return rc;
    }
    if (old != NULL && is_added) {
        *old &= ~bit;
    }
    if ((properties & bit) != 0) {
        atomic_store(&queue->change, is_on ? QUEUE_UNCHANGED : QUEUE_BIT);
    }
    return rc;
}
