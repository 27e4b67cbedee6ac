/* opencl.h - what the files of ckopencl share
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program calls the loader, the loader calls the layer's wrapper, the
 * wrapper calls the driver through opencl_driver. Wrappers run on any thread
 * of the program; a command's end is reported on a thread of the driver.
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCL_H
#define CK_AGENT_INJECT_OPENCL_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_icd.h>

#include "agent/inject/inject.h"

/* The layer below, or the driver. Set before the first call. */
extern const struct _cl_icd_dispatch *opencl_driver;

/* Each wrapped function: its number, its label and its wrapper. */
enum opencl_function {
#define OPENCL_EACH(name) OPENCL_##name,
#include "agent/inject/opencl/opencl.def"
    OPENCL_FUNCTIONS
};
extern struct inject_label opencl_labels[OPENCL_FUNCTIONS];

/* Wrappers by hand. A function has the type of its place in the table: headers
 * of different years name that type differently, and the place alike. */
#define OPENCL_HAND(name)                                                      \
    __typeof__(*((struct _cl_icd_dispatch *)0)->name) wrap_##name;
#define OPENCL_QUIET OPENCL_HAND
#include "agent/inject/opencl/opencl.def"

/* A host call being recorded. */
struct opencl_call {
    struct inject_call call;
    uint32_t object; /* queue id */
    uint64_t bytes;
    uint64_t arg;
    uint64_t extra;
    int64_t end; /* when the driver returned; 0: taken in opencl_leave() */
};

#define OPENCL_SITE __builtin_return_address(0)

static inline void opencl_enter(struct opencl_call *call,
                                enum opencl_function function,
                                const void *site,
                                uint32_t object)
{
    call->object = object;
    call->bytes = 0;
    call->arg = 0;
    call->extra = 0;
    call->end = 0;
    inject_call_enter(&call->call, &opencl_labels[function], CK_KIND_API_OPENCL,
                      site, object, 0);
}

/* The driver has returned; ck's own work on the result follows. */
static inline void opencl_returned(struct opencl_call *call)
{
    if (call->call.writer != NULL) {
        call->end = inject_now();
    }
}

/* Wrap in `layer` what the driver has (openclentry.c). */
void opencl_wrap(struct _cl_icd_dispatch *layer);

/* Write the call's record; is_ok: the driver returned success. */
void opencl_leave(struct opencl_call *call, bool is_ok);

/* An error as it is stored; 0 = none. */
static inline uint32_t opencl_error(cl_int rc)
{
    return rc < 0 ? 0u - (uint32_t)rc : 0;
}

/* The same with what the driver answered. */
static inline void opencl_answer(struct opencl_call *call, cl_int rc)
{
    if (rc != CL_SUCCESS) {
        call->arg = opencl_error(rc);
    }
    opencl_leave(call, rc == CL_SUCCESS);
}

#endif
