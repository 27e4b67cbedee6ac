/* openclmemory.c - memory objects of the program: made, and gone
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An object lives as long as the program or the driver refers to it, so the
 * driver's callback is its end, on whatever thread that comes. Memory belongs
 * to a context: it is a device's where the context has one device alone. What
 * uses the program's own memory (CL_MEM_USE_HOST_PTR) is left out.
 */
#include "agent/inject/opencl/openclmemory.h"

#include <errno.h>

#include "agent/inject/blockrecord.h"
#include "agent/inject/liveblocks.h"
#include "agent/inject/opencl/opencldevice.h"
#include "agent/inject/stacknumber.h"

static struct inject_label label_gone = INJECT_LABEL("released");
static _Atomic bool is_noted;

/* Number of the context's device; 0 = it has several, or that is not known. */
static uint32_t device_of(cl_context context)
{
    cl_device_id device = NULL;
    cl_uint count = 0;

    if (context == NULL ||
        opencl_driver->clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES,
                                        sizeof(count), &count,
                                        NULL) != CL_SUCCESS ||
        count != 1 ||
        opencl_driver->clGetContextInfo(context, CL_CONTEXT_DEVICES,
                                        sizeof(device), &device,
                                        NULL) != CL_SUCCESS) {
        return 0;
    }
    return device_number(device_find(device));
}

static void gone_write(const struct live_block *block)
{
    (void)blockrecord_put(block, CK_KIND_DEVICE_FREED,
                          inject_label_id(&label_gone), inject_now(), 0);
}

/* Its end will not be seen: it counts as released at once. */
static void unfollowed_put(const struct live_block *block)
{
    gone_write(block);
    if (!atomic_exchange(&is_noted, true)) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "some memory objects of OpenCL could not be followed: "
                         "they count as released at once");
    }
}

/* False: it is not recorded, or not followed. */
static bool made_put(const struct opencl_call *call,
                     const struct memory_made *made)
{
    const struct inject_call *of = &call->call;
    struct live_block block = {.address = (uint64_t)(uintptr_t)made->object,
                               .site = of->site,
                               .bytes = made->bytes};

    if (of->writer == NULL || of->writer->slot != of->slot ||
        made->object == NULL || made->bytes == 0 ||
        (made->flags & CL_MEM_USE_HOST_PTR) != 0) {
        return false;
    }
    block.mean = device_of(made->context);
    block.stack = stack_number_find(made->from, block.site);
    if (!blockrecord_put(&block, CK_KIND_DEVICE_ALLOCATED, of->name,
                         inject_now(), 0)) {
        return false;
    }
    if (!liveblocks_add(&block)) {
        unfollowed_put(&block);
        return false;
    }
    return true;
}

/* Its bytes; 0 = nothing is known of it. */
static uint64_t gone_put(const void *object)
{
    struct live_block block;
    int saved = errno;

    if (!liveblocks_may_have(object) || !liveblocks_remove(object, &block)) {
        return 0;
    }
    if (inject_writer() != NULL) {
        gone_write(&block);
    }
    errno = saved;
    return block.bytes;
}

static void CL_CALLBACK object_gone(cl_mem object, void *unused)
{
    (void)unused;
    (void)gone_put(object);
}

/* The driver gives no sign of its end. */
static void object_unfollowed(const void *object)
{
    struct live_block block;

    if (liveblocks_remove(object, &block) && inject_writer() != NULL) {
        unfollowed_put(&block);
    }
}

void memory_object(const struct opencl_call *call,
                   const struct memory_made *made)
{
    int saved = errno;

    if (opencl_driver->clSetMemObjectDestructorCallback != NULL &&
        made_put(call, made) &&
        opencl_driver->clSetMemObjectDestructorCallback(
            (cl_mem)(uintptr_t)made->object, object_gone, NULL) != CL_SUCCESS) {
        object_unfollowed(made->object);
    }
    errno = saved;
}

void memory_shared(const struct opencl_call *call,
                   const struct memory_made *made)
{
    int saved = errno;

    (void)made_put(call, made);
    errno = saved;
}

uint64_t memory_shared_gone(const void *block)
{
    return block == NULL ? 0 : gone_put(block);
}

uint64_t memory_shared_gone_all(cl_uint count, void *const *blocks)
{
    uint64_t bytes = 0;

    for (cl_uint i = 0; blocks != NULL && i < count; i++) {
        bytes += memory_shared_gone(blocks[i]);
    }
    return bytes;
}
