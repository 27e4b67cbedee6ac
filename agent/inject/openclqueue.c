/* openclqueue.c - table of queues
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/openclqueue.h"

#include <stdio.h>

#include "agent/inject/openclhandle.h"

static struct handle_table queue_handles;
static struct opencl_queue queues[QUEUE_MAX];

static struct opencl_queue *queue_claim(void)
{
    for (unsigned i = 0; i < QUEUE_MAX; i++) {
        int unused = 0;

        if (atomic_compare_exchange_strong(&queues[i].is_used, &unused, 1)) {
            return &queues[i];
        }
    }
    return NULL;
}

static struct opencl_queue *queue_lookup(cl_command_queue handle)
{
    return (struct opencl_queue *)(uintptr_t)handle_get(&queue_handles, handle);
}

/* QUEUE record. */
static void queue_say(struct opencl_queue *queue, uint32_t id)
{
    const char *order =
        (queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0
            ? "out-of-order"
            : "in-order";
    const char *profiling =
        atomic_load(&queue->change) != QUEUE_UNCHANGED ? "added" : "asked";
    char text[128];

    if ((queue->properties & CL_QUEUE_PROFILING_ENABLE) == 0) {
        profiling = "none";
    }
    (void)snprintf(text, sizeof(text), "api=opencl\norder=%s\nprofiling=%s\n",
                   order, profiling);
    if (inject_say(CK_KIND_QUEUE, id, device_number(queue->device), 0, text) ==
        0) {
        atomic_store(&queue->known,
                     (uint64_t)inject_ring.incarnation << 32 | id);
    }
}

void queue_enter(cl_command_queue handle, enum queue_change change)
{
    cl_device_id device = NULL;
    struct opencl_queue *queue = queue_lookup(handle);

    if (queue == NULL) {
        queue = queue_claim();
    }
    if (queue == NULL || opencl_driver->clGetCommandQueueInfo(
                             handle, CL_QUEUE_DEVICE, sizeof(device), &device,
                             NULL) != CL_SUCCESS) {
        return;
    }
    queue->properties = 0;
    (void)opencl_driver->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES,
                                               sizeof(queue->properties),
                                               &queue->properties, NULL);
    queue->device = device_find(device);
    atomic_store(&queue->change, (int)change);
    atomic_store(&queue->known, 0);
    if (!handle_put(&queue_handles, handle, (uint64_t)(uintptr_t)queue)) {
        atomic_store(&queue->is_used, 0);
        return;
    }
    (void)queue_id(queue);
    device_timer_look(queue->device);
}

void queue_forget(cl_command_queue handle)
{
    struct opencl_queue *queue =
        (struct opencl_queue *)(uintptr_t)handle_take(&queue_handles, handle);

    if (queue != NULL) {
        atomic_store(&queue->is_used, 0);
    }
}

struct opencl_queue *queue_find(cl_command_queue handle)
{
    struct opencl_queue *queue = queue_lookup(handle);

    if (queue == NULL && handle != NULL && inject_writer() != NULL) {
        queue_enter(handle, QUEUE_UNCHANGED);
        queue = queue_lookup(handle);
    }
    return queue;
}

uint32_t queue_id(struct opencl_queue *queue)
{
    uint64_t known;

    if (queue == NULL) {
        return 0;
    }
    known = atomic_load_explicit(&queue->known, memory_order_relaxed);
    if ((uint32_t)(known >> 32) == inject_ring.incarnation) {
        return (uint32_t)known;
    }
    if (inject_writer() == NULL) {
        return 0;
    }
    queue_say(queue, ck_ring_object_id(&inject_ring));
    return (uint32_t)atomic_load(&queue->known);
}

uint32_t queue_id_of(cl_command_queue handle)
{
    return queue_id(queue_find(handle));
}

bool queue_is_in_order(cl_command_queue handle)
{
    const struct opencl_queue *queue = queue_find(handle);

    return queue != NULL &&
           (queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
}
