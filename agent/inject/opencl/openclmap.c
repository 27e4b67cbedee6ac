/* openclmap.c - maps and unmaps
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of an unmap are those of the map that gave the pointer.
 */
#include "agent/inject/opencl/openclmap.h"

#include "agent/inject/opencl/openclcommand.h"
#include "agent/inject/opencl/openclhandle.h"

static struct handle_table maps;

void map_enter(const void *host, uint64_t bytes)
{
    if (host != NULL && bytes != 0) {
        (void)handle_put(&maps, host, bytes);
    }
}

uint64_t map_bytes(const void *host)
{
    return handle_get(&maps, host);
}

void *CL_API_CALL wrap_clEnqueueMapBuffer(cl_command_queue queue,
                                          cl_mem buffer,
                                          cl_bool is_blocking,
                                          cl_map_flags flags,
                                          size_t offset,
                                          size_t size,
                                          cl_uint waits,
                                          const cl_event *wait_list,
                                          cl_event *event,
                                          cl_int *errcode)
{
    struct command_how how = {OPENCL_clEnqueueMapBuffer,
                              queue,
                              {.kind = CK_KIND_COPY_MAP, .bytes = size},
                              {waits, wait_list},
                              is_blocking};
    struct command command;
    cl_int rc = CL_SUCCESS;
    cl_event *end = command_enter(&command, &how, OPENCL_SITE, event);
    void *host = opencl_driver->clEnqueueMapBuffer(queue, buffer, is_blocking,
                                                   flags, offset, size, waits,
                                                   wait_list, end, &rc);

    map_enter(host, size);
    rc = command_leave(&command, rc);
    if (errcode != NULL) {
        *errcode = rc;
    }
    return host;
}

cl_int CL_API_CALL wrap_clEnqueueUnmapMemObject(cl_command_queue queue,
                                                cl_mem object,
                                                void *host,
                                                cl_uint waits,
                                                const cl_event *wait_list,
                                                cl_event *event)
{
    return COMMAND_CALL(clEnqueueUnmapMemObject, CK_KIND_COPY_MAP,
                        map_bytes(host), queue, object, host, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueSVMMap(cl_command_queue queue,
                                        cl_bool is_blocking,
                                        cl_map_flags flags,
                                        void *host,
                                        size_t size,
                                        cl_uint waits,
                                        const cl_event *wait_list,
                                        cl_event *event)
{
    struct command_how how = {OPENCL_clEnqueueSVMMap,
                              queue,
                              {.kind = CK_KIND_COPY_MAP, .bytes = size},
                              {waits, wait_list},
                              is_blocking};
    struct command command;
    cl_event *end;

    map_enter(host, size);
    end = command_enter(&command, &how, OPENCL_SITE, event);
    return command_leave(&command, opencl_driver->clEnqueueSVMMap(
                                       queue, is_blocking, flags, host, size,
                                       waits, wait_list, end));
}

cl_int CL_API_CALL wrap_clEnqueueSVMUnmap(cl_command_queue queue,
                                          void *host,
                                          cl_uint waits,
                                          const cl_event *wait_list,
                                          cl_event *event)
{
    return COMMAND_CALL(clEnqueueSVMUnmap, CK_KIND_COPY_MAP, map_bytes(host),
                        queue, host, waits, wait_list);
}
