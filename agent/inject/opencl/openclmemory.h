/* openclmemory.h - memory objects of the program: made, and gone
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLMEMORY_H
#define CK_AGENT_INJECT_OPENCL_OPENCLMEMORY_H

#include "agent/inject/opencl/opencl.h"

/* What a call has made. */
struct memory_made {
    cl_context context;
    const void *object; /* NULL = nothing */
    cl_mem_flags flags;
    uint64_t bytes;
    const void *from; /* return address of the wrapper */
};

/* A buffer or an image: recorded, and its end when the driver deletes it. */
void memory_object(const struct opencl_call *call,
                   const struct memory_made *made);
/* Shared virtual memory: its end is the call that gives it back. */
void memory_shared(const struct opencl_call *call,
                   const struct memory_made *made);
/* Such memory goes; its bytes. */
uint64_t memory_shared_gone(const void *block);
uint64_t memory_shared_gone_all(cl_uint count, void *const *blocks);

#endif
