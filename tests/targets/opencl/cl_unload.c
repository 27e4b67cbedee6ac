/* cl_unload.c - uses OpenCL as a plug-in does: opens it, works, closes it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * cl_unload [keep]: with the argument it is not closed before the end. A
 * command that is not waited for, and its event, are left behind.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;

/* The function of that name in `call`. */
#define FIND(name)                                                             \
    __typeof__(name) *call_##name;                                             \
    find(#name, &call_##name, sizeof(call_##name))

static void find(const char *name, void *function, size_t bytes)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, bytes);
}

static int work(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_event event;
    cl_mem memory;
    const int zero = 0;
    cl_int rc;

    FIND(clGetPlatformIDs);
    FIND(clGetDeviceIDs);
    FIND(clCreateContext);
    FIND(clCreateCommandQueue);
    FIND(clCreateBuffer);
    FIND(clEnqueueFillBuffer);
    FIND(clFinish);
    if (call_clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        call_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) !=
            CL_SUCCESS) {
        return 77;
    }
    context = call_clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
    queue = call_clCreateCommandQueue(context, device, 0, &rc);
    memory = call_clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &rc);
    for (int i = 0; i < 10; i++) {
        rc = call_clEnqueueFillBuffer(queue, memory, &zero, sizeof(zero), 0,
                                      4096, 0, NULL, &event);
        if (rc != CL_SUCCESS || (i == 8 && call_clFinish(queue) != 0)) {
            return 1;
        }
    }
    /* The last one has ended, unless its event is asked for. */
    return call_clFinish(queue) == CL_SUCCESS ? 0 : 1;
}

int main(int argc, char **argv)
{
    int status;

    (void)argv;
    library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return 77;
    }
    status = work();
    if (argc == 1 && dlclose(library) != 0) {
        return 2;
    }
    (void)puts("done");
    return status;
}
