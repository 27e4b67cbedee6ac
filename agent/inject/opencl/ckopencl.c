/* ckopencl.c - an OpenCL layer that records commands and host calls
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loaded by the OpenCL loader (OPENCL_LAYERS). The loader asks for a table of
 * functions; entries that stay empty are the driver's. Without an agent the
 * table is empty, and the program runs as if the layer were not there.
 */
#include "agent/inject/opencl/opencl.h"

#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/opencl/openclpending.h"

#define EXPORT __attribute__((visibility("default")))

const struct _cl_icd_dispatch *opencl_driver;

struct inject_label opencl_labels[OPENCL_FUNCTIONS] = {
#define OPENCL_EACH(name) INJECT_LABEL(#name),
#include "agent/inject/opencl/opencl.def"
};

/* The target's table may be shorter than ours: then the rest stays NULL. */
static struct _cl_icd_dispatch driver_table;
static struct _cl_icd_dispatch layer_table;

void opencl_leave(struct opencl_call *call, bool is_ok)
{
    struct ck_call *record;
    int64_t end;

    if (call->call.writer == NULL) {
        return;
    }
    end = call->end != 0 ? call->end : inject_now();
    record = inject_call_leave(&call->call, 2);
    if (record == NULL) {
        return;
    }
    record->e = inject_call_head(&call->call, CK_KIND_API_OPENCL, 2);
    record->e.flags = is_ok ? 0 : CK_FLAG_FAILED;
    record->dur = end - call->call.start;
    record->site = call->call.site;
    record->call = call->call.number;
    record->object = call->object;
    record->bytes = call->bytes;
    record->arg = call->arg;
    record->extra = call->extra;
    inject_call_commit(&call->call, 2);
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what,
                                         size_t room,
                                         void *value,
                                         size_t *bytes)
{
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    static const char name[] = "ck";
    const void *from = what == CL_LAYER_API_VERSION ? (const void *)&version
                                                    : (const void *)name;
    size_t length =
        what == CL_LAYER_API_VERSION ? sizeof(version) : sizeof(name);

    if ((what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) ||
        (value != NULL && room < length)) {
        return CL_INVALID_VALUE;
    }
    if (value != NULL) {
        memcpy(value, from, length);
    }
    if (bytes != NULL) {
        *bytes = length;
    }
    return CL_SUCCESS;
}

/* A program may close the OpenCL library before its commands are written down:
 * the functions that we call stay. */
static void driver_keep(void)
{
    const void *first;
    Dl_info found;

    memcpy(&first, &driver_table.clGetEventInfo, sizeof(first));
    if (first != NULL && dladdr(first, &found) != 0 &&
        found.dli_fname != NULL) {
        (void)dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

/* Before the destructors of all libraries: their order is not known. */
static void opencl_end(void)
{
    if (opencl_driver != NULL) {
        pending_end();
    }
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries,
                                      const struct _cl_icd_dispatch *target,
                                      cl_uint *entries_ret,
                                      const struct _cl_icd_dispatch **ret)
{
    const char *limit = getenv("CK_TEST_OPENCL_POOL");
    size_t bytes = (size_t)entries * sizeof(void *);

    if (target == NULL || entries_ret == NULL || ret == NULL) {
        return CL_INVALID_VALUE;
    }
    *entries_ret = sizeof(layer_table) / sizeof(void *);
    *ret = &layer_table;
    if (getenv(CK_RING_ENV) == NULL) {
        return CL_SUCCESS;
    }
    memcpy(&driver_table, target,
           bytes < sizeof(driver_table) ? bytes : sizeof(driver_table));
    driver_keep();
    if (opencl_driver == NULL) {
        (void)atexit(opencl_end);
    }
    opencl_driver = &driver_table;
    pending_begin(limit == NULL ? PENDING_MAX
                                : (uint32_t)strtoul(limit, NULL, 10));
    inject_load(CK_LIBRARY_OPENCL);
    opencl_wrap(&layer_table);
    return CL_SUCCESS;
}
