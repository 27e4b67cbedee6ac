/* openclimage.c - copies and fills of images
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes are elements times the element's size, which the driver is asked for.
 */
#include "agent/inject/opencl/openclcommand.h"
#include "agent/inject/opencl/openclmap.h"

static uint64_t image_bytes(cl_mem image, const size_t region[3])
{
    size_t element = 0;

    if (image == NULL || opencl_driver->clGetImageInfo(
                             image, CL_IMAGE_ELEMENT_SIZE, sizeof(element),
                             &element, NULL) != CL_SUCCESS) {
        return 0;
    }
    return command_box(region, element);
}

cl_int CL_API_CALL wrap_clEnqueueReadImage(cl_command_queue queue,
                                           cl_mem image,
                                           cl_bool is_blocking,
                                           const size_t origin[3],
                                           const size_t region[3],
                                           size_t row,
                                           size_t slice,
                                           void *host,
                                           cl_uint waits,
                                           const cl_event *wait_list,
                                           cl_event *event)
{
    return COMMAND_BLOCKING(
        clEnqueueReadImage, CK_KIND_COPY_D2H, image_bytes(image, region), queue,
        image, is_blocking, origin, region, row, slice, host, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueWriteImage(cl_command_queue queue,
                                            cl_mem image,
                                            cl_bool is_blocking,
                                            const size_t origin[3],
                                            const size_t region[3],
                                            size_t row,
                                            size_t slice,
                                            const void *host,
                                            cl_uint waits,
                                            const cl_event *wait_list,
                                            cl_event *event)
{
    return COMMAND_BLOCKING(clEnqueueWriteImage, CK_KIND_COPY_H2D,
                            image_bytes(image, region), queue, image,
                            is_blocking, origin, region, row, slice, host,
                            waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueCopyImage(cl_command_queue queue,
                                           cl_mem from,
                                           cl_mem to,
                                           const size_t from_origin[3],
                                           const size_t to_origin[3],
                                           const size_t region[3],
                                           cl_uint waits,
                                           const cl_event *wait_list,
                                           cl_event *event)
{
    return COMMAND_CALL(clEnqueueCopyImage, CK_KIND_COPY_D2D,
                        image_bytes(from, region), queue, from, to, from_origin,
                        to_origin, region, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueCopyImageToBuffer(cl_command_queue queue,
                                                   cl_mem image,
                                                   cl_mem buffer,
                                                   const size_t origin[3],
                                                   const size_t region[3],
                                                   size_t offset,
                                                   cl_uint waits,
                                                   const cl_event *wait_list,
                                                   cl_event *event)
{
    return COMMAND_CALL(clEnqueueCopyImageToBuffer, CK_KIND_COPY_D2D,
                        image_bytes(image, region), queue, image, buffer,
                        origin, region, offset, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueCopyBufferToImage(cl_command_queue queue,
                                                   cl_mem buffer,
                                                   cl_mem image,
                                                   size_t offset,
                                                   const size_t origin[3],
                                                   const size_t region[3],
                                                   cl_uint waits,
                                                   const cl_event *wait_list,
                                                   cl_event *event)
{
    return COMMAND_CALL(clEnqueueCopyBufferToImage, CK_KIND_COPY_D2D,
                        image_bytes(image, region), queue, buffer, image,
                        offset, origin, region, waits, wait_list);
}

cl_int CL_API_CALL wrap_clEnqueueFillImage(cl_command_queue queue,
                                           cl_mem image,
                                           const void *color,
                                           const size_t origin[3],
                                           const size_t region[3],
                                           cl_uint waits,
                                           const cl_event *wait_list,
                                           cl_event *event)
{
    return COMMAND_CALL(clEnqueueFillImage, CK_KIND_FILL,
                        image_bytes(image, region), queue, image, color, origin,
                        region, waits, wait_list);
}

void *CL_API_CALL wrap_clEnqueueMapImage(cl_command_queue queue,
                                         cl_mem image,
                                         cl_bool is_blocking,
                                         cl_map_flags flags,
                                         const size_t origin[3],
                                         const size_t region[3],
                                         size_t *row,
                                         size_t *slice,
                                         cl_uint waits,
                                         const cl_event *wait_list,
                                         cl_event *event,
                                         cl_int *errcode)
{
    struct command_how how = {
        OPENCL_clEnqueueMapImage,
        queue,
        {.kind = CK_KIND_COPY_MAP, .bytes = image_bytes(image, region)},
        {waits, wait_list},
        is_blocking};
    struct command command;
    cl_int rc = CL_SUCCESS;
    cl_event *end = command_enter(&command, &how, OPENCL_SITE, event);
    void *host = opencl_driver->clEnqueueMapImage(
        queue, image, is_blocking, flags, origin, region, row, slice, waits,
        wait_list, end, &rc);

    map_enter(host, how.work.bytes);
    rc = command_leave(&command, rc);
    if (errcode != NULL) {
        *errcode = rc;
    }
    return host;
}
