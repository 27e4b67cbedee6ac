/* openclcommand.c - recording of a command, and kernels and barriers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/opencl/openclcommand.h"

#include <errno.h>

#include "agent/inject/launchstack.h"
#include "agent/inject/opencl/openclkernel.h"

cl_event *command_enter(struct command *command,
                        const struct command_how *how,
                        const void *site,
                        cl_event *event)
{
    struct opencl_queue *queue = queue_find(how->queue);
    struct pending *pending = NULL;

    command->work = how->work;
    command->is_blocking = how->is_blocking;
    command->from = site;
    command->event = event;
    command->own = NULL;
    command->queue = queue;
    opencl_enter(&command->call, how->function, site, queue_id(queue));
    command->call.bytes = how->work.bytes;
    await_say(&command->call, CK_KIND_AWAIT, &how->awaited);
    if (command->call.call.writer != NULL && how->work.kind != CK_KIND_NONE &&
        queue != NULL && queue->device != NULL) {
        pending = pending_take();
    } else if (command->call.call.writer != NULL && queue == NULL &&
               how->queue != NULL) {
        pending_refuse();
    }
    command->pending = pending;
    if (pending == NULL) {
        return event;
    }
    pending->device = queue->device;
    pending->before =
        device_clock_wants(&queue->device->clock) ? ck_time_raw() : 0;
    return &command->own;
}

cl_int command_leave(struct command *command, cl_int rc)
{
    struct pending *pending = command->pending;
    struct opencl_call *call = &command->call;
    int saved = errno;

    if (pending != NULL && pending->before != 0) {
        pending->after = ck_time_raw();
    }
    if (rc != CL_SUCCESS) {
        call->arg = opencl_error(rc);
    } else if (pending != NULL) {
        call->extra =
            (command->work.name != 0 ? command->work.name : call->call.name) |
            (command->is_blocking ? CK_COMMAND_DONE : 0);
    }
    opencl_leave(call, rc == CL_SUCCESS);
    if (pending == NULL) {
        errno = saved;
        return rc;
    }
    if (rc != CL_SUCCESS) {
        pending_give(pending);
        errno = saved;
        return rc;
    }
    if (command->event != NULL) {
        *command->event = command->own;
        pending_share(pending, command->own, call);
    }
    pending->incarnation = inject_ring.incarnation;
    pending->tid = call->call.writer->slot->tid;
    pending->call = call->call.number;
    pending->queue = call->object;
    pending->event = command->own;
    pending->start = call->call.start;
    pending->work = command->work;
    if (pending->work.name == 0) {
        pending->work.name = call->call.name;
    }
    launch_stack_say(&call->call, command->from);
    queue_watch(command->queue, pending);
    errno = saved;
    return rc;
}

static void work_range(struct command_work *work,
                       cl_uint dimensions,
                       const size_t *global,
                       const size_t *local)
{
    for (cl_uint i = 0; i < 3; i++) {
        bool is_used = i < dimensions;

        work->global[i] =
            is_used && global != NULL ? command_size(global[i]) : is_used;
        if (!is_used) {
            work->global[i] = 1;
        }
        /* 0: the driver's choice */
        work->local[i] = is_used && local != NULL ? command_size(local[i])
                                                  : (is_used ? 0 : 1);
    }
}

cl_int CL_API_CALL wrap_clEnqueueNDRangeKernel(cl_command_queue queue,
                                               cl_kernel kernel,
                                               cl_uint dimensions,
                                               const size_t *offset,
                                               const size_t *global,
                                               const size_t *local,
                                               cl_uint waits,
                                               const cl_event *wait_list,
                                               cl_event *event)
{
    struct command_how how = {
        OPENCL_clEnqueueNDRangeKernel,
        queue,
        {.kind = CK_KIND_KERNEL, .name = kernel_name(kernel)},
        {waits, wait_list},
        CL_FALSE};
    struct command command;
    cl_event *end;

    work_range(&how.work, dimensions, global, local);
    end = command_enter(&command, &how, OPENCL_SITE, event);
    return command_leave(&command, opencl_driver->clEnqueueNDRangeKernel(
                                       queue, kernel, dimensions, offset,
                                       global, local, waits, wait_list, end));
}

cl_int CL_API_CALL wrap_clEnqueueTask(cl_command_queue queue,
                                      cl_kernel kernel,
                                      cl_uint waits,
                                      const cl_event *wait_list,
                                      cl_event *event)
{
    struct command_how how = {OPENCL_clEnqueueTask,
                              queue,
                              {.kind = CK_KIND_KERNEL,
                               .name = kernel_name(kernel),
                               .global = {1, 1, 1},
                               .local = {1, 1, 1}},
                              {waits, wait_list},
                              CL_FALSE};
    struct command command;
    cl_event *end = command_enter(&command, &how, OPENCL_SITE, event);

    return command_leave(&command, opencl_driver->clEnqueueTask(
                                       queue, kernel, waits, wait_list, end));
}

cl_int CL_API_CALL
wrap_clEnqueueNativeKernel(cl_command_queue queue,
                           void(CL_CALLBACK *function)(void *),
                           void *args,
                           size_t args_bytes,
                           cl_uint objects,
                           const cl_mem *list,
                           const void **places,
                           cl_uint waits,
                           const cl_event *wait_list,
                           cl_event *event)
{
    static struct inject_label label = INJECT_LABEL("native kernel");
    struct command_how how = {
        OPENCL_clEnqueueNativeKernel,
        queue,
        {.kind = CK_KIND_KERNEL,
         .name = inject_writer() == NULL ? 0 : inject_label_id(&label),
         .global = {1, 1, 1},
         .local = {1, 1, 1}},
        {waits, wait_list},
        CL_FALSE};
    struct command command;
    cl_event *end = command_enter(&command, &how, OPENCL_SITE, event);

    return command_leave(&command,
                         opencl_driver->clEnqueueNativeKernel(
                             queue, function, args, args_bytes, objects, list,
                             places, waits, wait_list, end));
}

/* Markers, barriers and waits in a queue: the call, and what it waits for. */

/* Others may wait for a marker's event until its end. */
static void marker_watch(const struct opencl_call *call,
                         cl_command_queue handle,
                         cl_event event)
{
    struct opencl_queue *queue = queue_find(handle);
    struct pending *pending = NULL;

    if (call->call.writer != NULL && queue != NULL && queue->device != NULL) {
        pending = pending_take();
    }
    if (pending == NULL) {
        return;
    }
    pending->work = (struct command_work){.kind = CK_KIND_NONE};
    pending->incarnation = inject_ring.incarnation;
    pending->queue = call->object;
    pending->event = event;
    pending_share(pending, event, call);
    queue_watch(queue, pending);
}

cl_int CL_API_CALL wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue,
                                                    cl_uint waits,
                                                    const cl_event *wait_list,
                                                    cl_event *event)
{
    const struct awaited awaited = {waits, wait_list};
    struct opencl_call call;
    cl_int rc;

    opencl_enter(&call, OPENCL_clEnqueueMarkerWithWaitList, OPENCL_SITE,
                 queue_id_of(queue));
    await_say(&call,
              queue_is_in_order(queue) ? CK_KIND_AWAIT_QUEUE : CK_KIND_AWAIT,
              &awaited);
    rc = opencl_driver->clEnqueueMarkerWithWaitList(queue, waits, wait_list,
                                                    event);
    if (rc == CL_SUCCESS && event != NULL) {
        marker_watch(&call, queue, *event);
    }
    opencl_answer(&call, rc);
    return rc;
}

cl_int CL_API_CALL wrap_clEnqueueBarrierWithWaitList(cl_command_queue queue,
                                                     cl_uint waits,
                                                     const cl_event *wait_list,
                                                     cl_event *event)
{
    const struct awaited awaited = {waits, wait_list};
    struct opencl_call call;
    cl_int rc;

    opencl_enter(&call, OPENCL_clEnqueueBarrierWithWaitList, OPENCL_SITE,
                 queue_id_of(queue));
    await_say(&call, CK_KIND_AWAIT_QUEUE, &awaited);
    rc = opencl_driver->clEnqueueBarrierWithWaitList(queue, waits, wait_list,
                                                     event);
    if (rc == CL_SUCCESS && event != NULL) {
        marker_watch(&call, queue, *event);
    }
    opencl_answer(&call, rc);
    return rc;
}

cl_int CL_API_CALL wrap_clEnqueueWaitForEvents(cl_command_queue queue,
                                               cl_uint waits,
                                               const cl_event *wait_list)
{
    const struct awaited awaited = {waits, wait_list};
    struct opencl_call call;
    cl_int rc;

    opencl_enter(&call, OPENCL_clEnqueueWaitForEvents, OPENCL_SITE,
                 queue_id_of(queue));
    await_say(&call, CK_KIND_AWAIT_QUEUE, &awaited);
    rc = opencl_driver->clEnqueueWaitForEvents(queue, waits, wait_list);
    opencl_answer(&call, rc);
    return rc;
}
