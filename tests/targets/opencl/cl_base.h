/* cl_base.h - first steps of the OpenCL test programs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_TARGETS_OPENCL_CL_BASE_H
#define CK_TESTS_TARGETS_OPENCL_CL_BASE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#define CL_DEVICES_MAX 8

struct cl_base {
    cl_context context;
    cl_program program;
    cl_device_id devices[CL_DEVICES_MAX];
    cl_uint count;
};

/* All devices of the first platform, one context, the program built. Kernels:
 * add(float *a, float b), spin(float *a, int rounds). */
void cl_base_init(struct cl_base *base);
void cl_base_fini(struct cl_base *base);
/* The same program in another context, built. */
cl_program cl_base_program(cl_context context);
/* Ends the program with one line when rc is not CL_SUCCESS. */
void cl_must(cl_int rc, const char *what);
/* A kernel with its first argument set. */
cl_kernel
cl_base_kernel(const struct cl_base *base, const char *name, cl_mem first);

#endif
