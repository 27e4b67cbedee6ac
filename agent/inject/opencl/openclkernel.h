/* openclkernel.h - names of kernels, by handle
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLKERNEL_H
#define CK_AGENT_INJECT_OPENCL_OPENCLKERNEL_H

#include "agent/inject/opencl/opencl.h"

/* Ask the driver for the name of a kernel just created. */
void kernel_enter(cl_kernel kernel);
/* The last reference goes. */
void kernel_forget(cl_kernel kernel);
/* Id of its NAME record; 0 = not known, or recording is off. */
uint32_t kernel_name(cl_kernel kernel);

#endif
