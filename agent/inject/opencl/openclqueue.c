/* openclqueue.c - table of queues
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/opencl/openclqueue.h"

#include <stdio.h>

#include "agent/inject/opencl/openclhandle.h"

static struct handle_table queue_handles;
static struct opencl_queue queues[QUEUE_MAX];

/* The first entry in that state, from where the last one was found. A queue
 * whose commands never end keeps its own: they would hold up another one's. */
static struct opencl_queue *queue_take(int state)
{
    static _Atomic uint32_t next;
    uint32_t at = atomic_load_explicit(&next, memory_order_relaxed);

    for (uint32_t i = 0; i < QUEUE_MAX; i++) {
        struct opencl_queue *queue = &queues[(at + i) % QUEUE_MAX];
        int held = state;

        if (atomic_load(&queue->state) == state &&
            backlog_is_empty(&queue->backlog) &&
            atomic_compare_exchange_strong(&queue->state, &held, QUEUE_TAKEN)) {
            atomic_store_explicit(&next, at + i + 1, memory_order_relaxed);
            return queue;
        }
    }
    return NULL;
}

static struct opencl_queue *queue_claim(void)
{
    struct opencl_queue *queue = queue_take(QUEUE_FREE);

    if (queue == NULL) {
        queue = queue_take(QUEUE_RELEASED);
        if (queue != NULL) {
            (void)handle_take(&queue_handles,
                              (const void *)atomic_load(&queue->handle));
        }
    }
    return queue;
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

bool queue_enter(cl_command_queue handle, enum queue_change change)
{
    cl_device_id device = NULL;
    struct opencl_queue *queue = queue_lookup(handle);

    if (queue == NULL) {
        queue = queue_claim();
    }
    if (queue == NULL) {
        return false;
    }
    if (opencl_driver->clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE,
                                             sizeof(device), &device,
                                             NULL) != CL_SUCCESS) {
        (void)handle_take(&queue_handles, handle);
        atomic_store(&queue->state, QUEUE_FREE);
        return false;
    }
    atomic_store(&queue->handle, (uintptr_t)handle);
    atomic_store(&queue->state, QUEUE_TAKEN);
    queue->properties = 0;
    (void)opencl_driver->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES,
                                               sizeof(queue->properties),
                                               &queue->properties, NULL);
    queue->device = device_find(device);
    atomic_store(&queue->change, (int)change);
    atomic_store(&queue->known, 0);
    if (!handle_put(&queue_handles, handle, (uint64_t)(uintptr_t)queue)) {
        atomic_store(&queue->state, QUEUE_FREE);
        return false;
    }
    (void)queue_id(queue);
    device_timer_look(queue->device);
    return true;
}

void queue_release(cl_command_queue handle)
{
    struct opencl_queue *queue = queue_lookup(handle);

    if (queue != NULL) {
        atomic_store(&queue->state, QUEUE_RELEASED);
    }
}

struct opencl_queue *queue_find(cl_command_queue handle)
{
    struct opencl_queue *queue = queue_lookup(handle);

    if (queue == NULL && handle != NULL && inject_writer() != NULL) {
        (void)queue_enter(handle, QUEUE_UNCHANGED);
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

static bool is_in_order(const struct opencl_queue *queue)
{
    return (queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
}

bool queue_is_in_order(cl_command_queue handle)
{
    const struct opencl_queue *queue = queue_find(handle);

    return queue != NULL && is_in_order(queue);
}

void queue_watch(struct opencl_queue *queue, struct pending *pending)
{
    pending_watch(pending);
    if (is_in_order(queue)) {
        backlog_add(&queue->backlog, pending);
    } else {
        pending_callback(pending);
    }
}
