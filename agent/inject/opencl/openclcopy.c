/* openclcopy.c - copies and fills of buffers and shared virtual memory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/opencl/openclcommand.h"

cl_int CL_API_CALL wrap_clEnqueueReadBuffer(cl_command_queue queue,
                                            cl_mem buffer,
                                            cl_bool is_blocking,
                                            size_t offset,
                                            size_t size,
                                            void *host,
                                            cl_uint waits,
                                            const cl_event *wait_list,
                                            cl_event *event)
{
    return COMMAND_BLOCKING(clEnqueueReadBuffer, CK_KIND_COPY_D2H, size, queue,
                            buffer, is_blocking, offset, size, host, waits,
                            wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueWriteBuffer(cl_command_queue queue,
                                             cl_mem buffer,
                                             cl_bool is_blocking,
                                             size_t offset,
                                             size_t size,
                                             const void *host,
                                             cl_uint waits,
                                             const cl_event *wait_list,
                                             cl_event *event)
{
    return COMMAND_BLOCKING(clEnqueueWriteBuffer, CK_KIND_COPY_H2D, size, queue,
                            buffer, is_blocking, offset, size, host, waits,
                            wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueReadBufferRect(cl_command_queue queue,
                                                cl_mem buffer,
                                                cl_bool is_blocking,
                                                const size_t buffer_origin[3],
                                                const size_t host_origin[3],
                                                const size_t region[3],
                                                size_t buffer_row,
                                                size_t buffer_slice,
                                                size_t host_row,
                                                size_t host_slice,
                                                void *host,
                                                cl_uint waits,
                                                const cl_event *wait_list,
                                                cl_event *event)
{
    return COMMAND_BLOCKING(
        clEnqueueReadBufferRect, CK_KIND_COPY_D2H, command_box(region, 1),
        queue, buffer, is_blocking, buffer_origin, host_origin, region,
        buffer_row, buffer_slice, host_row, host_slice, host, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueWriteBufferRect(cl_command_queue queue,
                                                 cl_mem buffer,
                                                 cl_bool is_blocking,
                                                 const size_t buffer_origin[3],
                                                 const size_t host_origin[3],
                                                 const size_t region[3],
                                                 size_t buffer_row,
                                                 size_t buffer_slice,
                                                 size_t host_row,
                                                 size_t host_slice,
                                                 const void *host,
                                                 cl_uint waits,
                                                 const cl_event *wait_list,
                                                 cl_event *event)
{
    return COMMAND_BLOCKING(
        clEnqueueWriteBufferRect, CK_KIND_COPY_H2D, command_box(region, 1),
        queue, buffer, is_blocking, buffer_origin, host_origin, region,
        buffer_row, buffer_slice, host_row, host_slice, host, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueCopyBuffer(cl_command_queue queue,
                                            cl_mem from,
                                            cl_mem to,
                                            size_t from_offset,
                                            size_t to_offset,
                                            size_t size,
                                            cl_uint waits,
                                            const cl_event *wait_list,
                                            cl_event *event)
{
    return COMMAND_CALL(clEnqueueCopyBuffer, CK_KIND_COPY_D2D, size, queue,
                        from, to, from_offset, to_offset, size, waits,
                        wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueCopyBufferRect(cl_command_queue queue,
                                                cl_mem from,
                                                cl_mem to,
                                                const size_t from_origin[3],
                                                const size_t to_origin[3],
                                                const size_t region[3],
                                                size_t from_row,
                                                size_t from_slice,
                                                size_t to_row,
                                                size_t to_slice,
                                                cl_uint waits,
                                                const cl_event *wait_list,
                                                cl_event *event)
{
    return COMMAND_CALL(clEnqueueCopyBufferRect, CK_KIND_COPY_D2D,
                        command_box(region, 1), queue, from, to, from_origin,
                        to_origin, region, from_row, from_slice, to_row,
                        to_slice, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueFillBuffer(cl_command_queue queue,
                                            cl_mem buffer,
                                            const void *pattern,
                                            size_t pattern_size,
                                            size_t offset,
                                            size_t size,
                                            cl_uint waits,
                                            const cl_event *wait_list,
                                            cl_event *event)
{
    return COMMAND_CALL(clEnqueueFillBuffer, CK_KIND_FILL, size, queue, buffer,
                        pattern, pattern_size, offset, size, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueSVMMemcpy(cl_command_queue queue,
                                           cl_bool is_blocking,
                                           void *to,
                                           const void *from,
                                           size_t size,
                                           cl_uint waits,
                                           const cl_event *wait_list,
                                           cl_event *event)
{
    return COMMAND_BLOCKING(clEnqueueSVMMemcpy, CK_KIND_COPY_D2D, size, queue,
                            is_blocking, to, from, size, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueSVMMemFill(cl_command_queue queue,
                                            void *to,
                                            const void *pattern,
                                            size_t pattern_size,
                                            size_t size,
                                            cl_uint waits,
                                            const cl_event *wait_list,
                                            cl_event *event)
{
    return COMMAND_CALL(clEnqueueSVMMemFill, CK_KIND_FILL, size, queue, to,
                        pattern, pattern_size, size, waits, wait_list);
}

/* Bytes of all the objects. */
static uint64_t objects_bytes(cl_uint count, const cl_mem *objects)
{
    uint64_t bytes = 0;

    for (cl_uint i = 0; objects != NULL && i < count; i++) {
        size_t size = 0;

        (void)opencl_driver->clGetMemObjectInfo(objects[i], CL_MEM_SIZE,
                                                sizeof(size), &size, NULL);
        bytes += size;
    }
    return bytes;
}

cl_int CL_API_CALL wrap_clEnqueueMigrateMemObjects(cl_command_queue queue,
                                                   cl_uint count,
                                                   const cl_mem *objects,
                                                   cl_mem_migration_flags flags,
                                                   cl_uint waits,
                                                   const cl_event *wait_list,
                                                   cl_event *event)
{
    return COMMAND_CALL(clEnqueueMigrateMemObjects,
                        (flags & CL_MIGRATE_MEM_OBJECT_HOST) != 0
                            ? CK_KIND_COPY_D2H
                            : CK_KIND_COPY_H2D,
                        objects_bytes(count, objects), queue, count, objects,
                        flags, waits, wait_list);
}

/* Bytes of all the ranges; without sizes a range is a whole allocation, of
 * unknown size. */
static uint64_t ranges_bytes(cl_uint count, const size_t *sizes)
{
    uint64_t bytes = 0;

    for (cl_uint i = 0; sizes != NULL && i < count; i++) {
        bytes += sizes[i];
    }
    return bytes;
}

cl_int CL_API_CALL wrap_clEnqueueSVMMigrateMem(cl_command_queue queue,
                                               cl_uint count,
                                               const void **pointers,
                                               const size_t *sizes,
                                               cl_mem_migration_flags flags,
                                               cl_uint waits,
                                               const cl_event *wait_list,
                                               cl_event *event)
{
    return COMMAND_CALL(clEnqueueSVMMigrateMem,
                        (flags & CL_MIGRATE_MEM_OBJECT_HOST) != 0
                            ? CK_KIND_COPY_D2H
                            : CK_KIND_COPY_H2D,
                        ranges_bytes(count, sizes), queue, count, pointers,
                        sizes, flags, waits, wait_list);
}

/* Frees after the commands before it: no data moves. */
cl_int CL_API_CALL wrap_clEnqueueSVMFree(
    cl_command_queue queue,
    cl_uint count,
    void *pointers[],
    void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *),
    void *data,
    cl_uint waits,
    const cl_event *wait_list,
    cl_event *event)
{
    struct opencl_call call;
    cl_int rc;

    opencl_enter(&call, OPENCL_clEnqueueSVMFree, OPENCL_SITE,
                 queue_id_of(queue));
    rc = opencl_driver->clEnqueueSVMFree(queue, count, pointers, function, data,
                                         waits, wait_list, event);
    opencl_leave(&call, rc == CL_SUCCESS);
    return rc;
}
