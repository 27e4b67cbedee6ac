/* cl_base.c - first steps of the OpenCL test programs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/targets/opencl/cl_base.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const source =
    "__kernel void add(__global float *a, float b)\n"
    "{\n"
    "    a[get_global_id(0)] += b;\n"
    "}\n"
    "__kernel void spin(__global float *a, int rounds)\n"
    "{\n"
    "    float x = a[get_global_id(0)];\n"
    "    for (int i = 0; i < rounds; i++) {\n"
    "        x = x * 1.0001f + 0.5f;\n"
    "    }\n"
    "    a[get_global_id(0)] = x;\n"
    "}\n";

void cl_must(cl_int rc, const char *what)
{
    if (rc != CL_SUCCESS) {
        (void)fprintf(stderr, "%s: OpenCL error %d\n", what, (int)rc);
        exit(3);
    }
}

cl_program cl_base_program(cl_context context)
{
    const char *text = source;
    cl_int rc;
    cl_program program =
        clCreateProgramWithSource(context, 1, &text, NULL, &rc);

    cl_must(rc, "clCreateProgramWithSource");
    cl_must(clBuildProgram(program, 0, NULL, "", NULL, NULL), "clBuildProgram");
    return program;
}

void cl_base_init(struct cl_base *base)
{
    cl_platform_id platform;
    cl_int rc;

    cl_must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    cl_must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, CL_DEVICES_MAX,
                           base->devices, &base->count),
            "clGetDeviceIDs");
    base->context =
        clCreateContext(NULL, base->count, base->devices, NULL, NULL, &rc);
    cl_must(rc, "clCreateContext");
    base->program = cl_base_program(base->context);
}

void cl_base_fini(struct cl_base *base)
{
    cl_must(clReleaseProgram(base->program), "clReleaseProgram");
    cl_must(clReleaseContext(base->context), "clReleaseContext");
}

cl_kernel
cl_base_kernel(const struct cl_base *base, const char *name, cl_mem first)
{
    cl_int rc;
    cl_kernel kernel = clCreateKernel(base->program, name, &rc);

    cl_must(rc, "clCreateKernel");
    cl_must(clSetKernelArg(kernel, 0, sizeof(first), &first), "clSetKernelArg");
    return kernel;
}
