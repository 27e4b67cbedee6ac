/* openclkernel.c - kernel objects: created, named, released
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The name is asked for when the kernel is created, so that a launch only
 * looks it up.
 */
#include "agent/inject/opencl/openclkernel.h"

#include "agent/inject/opencl/openclhandle.h"

#define KERNEL_NAME_BYTES 1024

static struct handle_table kernel_handles;

void kernel_enter(cl_kernel kernel)
{
    char name[KERNEL_NAME_BYTES] = "";
    uint64_t id;

    if (kernel == NULL || inject_writer() == NULL) {
        return;
    }
    if (opencl_driver->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME,
                                       sizeof(name) - 1, name,
                                       NULL) != CL_SUCCESS ||
        name[0] == '\0') {
        return;
    }
    id = inject_text_id(name);
    if (id != 0) {
        (void)handle_put(&kernel_handles, kernel,
                         (uint64_t)inject_ring.incarnation << 32 | id);
    }
}

void kernel_forget(cl_kernel kernel)
{
    (void)handle_take(&kernel_handles, kernel);
}

uint32_t kernel_name(cl_kernel kernel)
{
    uint64_t known = handle_get(&kernel_handles, kernel);

    if (known == 0 || (uint32_t)(known >> 32) != inject_ring.incarnation) {
        kernel_enter(kernel);
        known = handle_get(&kernel_handles, kernel);
    }
    return (uint32_t)known;
}

cl_int CL_API_CALL wrap_clCreateKernelsInProgram(cl_program program,
                                                 cl_uint room,
                                                 cl_kernel *kernels,
                                                 cl_uint *count)
{
    cl_uint found = 0;
    struct opencl_call call;
    cl_int rc;

    opencl_enter(&call, OPENCL_clCreateKernelsInProgram, OPENCL_SITE, 0);
    rc =
        opencl_driver->clCreateKernelsInProgram(program, room, kernels, &found);
    opencl_leave(&call, rc == CL_SUCCESS);
    if (rc != CL_SUCCESS) {
        return rc;
    }
    if (count != NULL) {
        *count = found;
    }
    for (cl_uint i = 0; kernels != NULL && i < found; i++) {
        kernel_enter(kernels[i]);
    }
    return rc;
}

cl_int CL_API_CALL wrap_clReleaseKernel(cl_kernel kernel)
{
    cl_uint references = 0;
    struct opencl_call call;
    cl_int rc;

    if (opencl_driver->clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT,
                                       sizeof(references), &references,
                                       NULL) == CL_SUCCESS &&
        references == 1) {
        kernel_forget(kernel);
    }
    opencl_enter(&call, OPENCL_clReleaseKernel, OPENCL_SITE, 0);
    rc = opencl_driver->clReleaseKernel(kernel);
    opencl_leave(&call, rc == CL_SUCCESS);
    return rc;
}
