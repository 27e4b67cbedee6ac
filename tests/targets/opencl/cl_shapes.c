/* cl_shapes.c - programs of known shape, to check a report's answer with
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     cl_shapes SHAPE
 *
 * What is true of each, before the report is read:
 *
 *     remote   5 times a kernel `spin` of about 40 ms on device 0, then `add`
 *              on device 1, which waits for spin's event: device 1 is idle
 *              because of spin on device 0
 *     turns    5 times `spin` of about 40 ms on device 0, waited for, then the
 *              same on device 1: each is idle because the host waits for what
 *              the other one does
 *     user     5 times `add` waits for a user event that another thread sets
 *              after sleeping for 40 ms: the device is idle because of the
 *              sleep
 *     barrier  the same through a marker in another queue and a barrier
 *     never    `spin` without an end, `add` twice behind it, _exit after 0.4 s
 *     gate     `add` waits for a user event that is never set, _exit after 0.4
 * s done     `add` 50 times, the last one waited for, _exit at once sub two
 * halves of device 0 and device 0 itself work at once, for about 0.2 s copies
 * 16 writes of 8 MiB from one line, 4 reads of 8 MiB from another bound copies
 * of 32 MiB, 20 times, each with a short kernel fail     3 `add` behind a user
 * event that is set to an error (they end with -14), 2 launches that are
 * refused (-54) build    clBuildProgram for most of the time before the first
 * kernel slow     sleeps of 0.2 s and 0.1 s and a build before the first kernel
 *     lone     one kernel without anything special
 *
 * "line NAME NUMBER" on stdout: the line of that call in this file.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/targets/opencl/cl_base.h"

#define ROUNDS 5
#define MEBI ((size_t)1 << 20)
#define CHUNK (8 * MEBI)
/* What is to be a launch of 40 ms. */
#define SPIN_NS 40000000.0

struct shape {
    struct cl_base base;
    cl_command_queue queue;
    cl_command_queue other; /* of the second device, if there is one */
    cl_mem buffer;
    cl_kernel add;
    cl_kernel spin;
    cl_int rounds; /* of `spin` in 40 ms */
};

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    (void)nanosleep(&time, NULL);
}

static cl_command_queue queue_make(struct shape *shape, cl_device_id device)
{
    cl_int rc;
    cl_command_queue queue = clCreateCommandQueue(
        shape->base.context, device, CL_QUEUE_PROFILING_ENABLE, &rc);

    cl_must(rc, "queue");
    return queue;
}

static void launch(const struct shape *shape,
                   cl_command_queue queue,
                   cl_kernel kernel,
                   cl_event wait,
                   cl_event *end)
{
    size_t global = 1;

    (void)shape;
    cl_must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL,
                                   wait != NULL, wait != NULL ? &wait : NULL,
                                   end),
            "launch");
}

static void spin_set(struct shape *shape, cl_int rounds)
{
    cl_must(clSetKernelArg(shape->spin, 1, sizeof(rounds), &rounds), "rounds");
}

/* Kernels are compiled, and it is known how long a round takes. */
static void shape_warm(struct shape *shape)
{
    cl_ulong start = 0, end = 0;
    cl_int rounds = 1 << 22;
    cl_event event;

    spin_set(shape, 1);
    for (int i = 0; i < 2; i++) {
        launch(shape, shape->queue, shape->spin, NULL, &event);
        cl_must(clWaitForEvents(1, &event), "wait");
        cl_must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
                                        sizeof(start), &start, NULL),
                "start");
        cl_must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END,
                                        sizeof(end), &end, NULL),
                "end");
        cl_must(clReleaseEvent(event), "release");
        spin_set(shape, rounds);
    }
    shape->rounds = (cl_int)(rounds * (SPIN_NS / (double)(end - start + 1)));
    spin_set(shape, shape->rounds);
    launch(shape, shape->other, shape->add, NULL, NULL);
    launch(shape, shape->queue, shape->add, NULL, NULL);
    cl_must(clFinish(shape->other), "finish");
    cl_must(clFinish(shape->queue), "finish");
}

static void shape_init(struct shape *shape)
{
    float b = 1;
    cl_int rc;

    cl_base_init(&shape->base);
    shape->queue = queue_make(shape, shape->base.devices[0]);
    shape->other =
        queue_make(shape, shape->base.devices[shape->base.count > 1]);
    shape->buffer =
        clCreateBuffer(shape->base.context, CL_MEM_READ_WRITE, 256, NULL, &rc);
    cl_must(rc, "buffer");
    shape->add = cl_base_kernel(&shape->base, "add", shape->buffer);
    shape->spin = cl_base_kernel(&shape->base, "spin", shape->buffer);
    cl_must(clSetKernelArg(shape->add, 1, sizeof(b), &b), "argument");
    spin_set(shape, 1);
}

static void shape_fini(struct shape *shape)
{
    cl_must(clReleaseKernel(shape->add), "release");
    cl_must(clReleaseKernel(shape->spin), "release");
    cl_must(clReleaseMemObject(shape->buffer), "release");
    cl_must(clReleaseCommandQueue(shape->queue), "release");
    cl_must(clReleaseCommandQueue(shape->other), "release");
    cl_base_fini(&shape->base);
}

static void remote_run(struct shape *shape)
{
    shape_warm(shape);
    for (int i = 0; i < ROUNDS; i++) {
        size_t global = 1;
        cl_event end;

        if (i == 0) {
            (void)printf("line spin %d\n", __LINE__ + 2);
        }
        cl_must(clEnqueueNDRangeKernel(shape->queue, shape->spin, 1, NULL,
                                       &global, NULL, 0, NULL, &end),
                "spin");
        launch(shape, shape->other, shape->add, end, NULL);
        cl_must(clFlush(shape->queue), "flush");
        cl_must(clFinish(shape->other), "finish");
        cl_must(clReleaseEvent(end), "release");
    }
}

static void turns_run(struct shape *shape)
{
    cl_mem buffer;
    cl_kernel second;
    cl_int rc;

    shape_warm(shape);
    buffer =
        clCreateBuffer(shape->base.context, CL_MEM_READ_WRITE, 256, NULL, &rc);
    cl_must(rc, "buffer");
    second = cl_base_kernel(&shape->base, "spin", buffer);
    cl_must(clSetKernelArg(second, 1, sizeof(shape->rounds), &shape->rounds),
            "argument");
    for (int i = 0; i < ROUNDS; i++) {
        launch(shape, shape->queue, shape->spin, NULL, NULL);
        cl_must(clFinish(shape->queue), "finish");
        launch(shape, shape->other, second, NULL, NULL);
        cl_must(clFinish(shape->other), "finish");
    }
    cl_must(clReleaseKernel(second), "release");
    cl_must(clReleaseMemObject(buffer), "release");
}

static void *setter_run(void *event)
{
    sleep_ms(40);
    cl_must(clSetUserEventStatus(event, CL_COMPLETE), "set");
    return NULL;
}

static void user_run(struct shape *shape, int is_indirect)
{
    (void)printf("line sleep %d\n", 54 + 4);
    shape_warm(shape);
    for (int i = 0; i < ROUNDS; i++) {
        cl_int rc;
        cl_event gate = clCreateUserEvent(shape->base.context, &rc);
        pthread_t setter;

        cl_must(rc, "user event");
        if (pthread_create(&setter, NULL, setter_run, gate) != 0) {
            exit(4);
        }
        if (is_indirect) {
            cl_event marker;

            cl_must(
                clEnqueueMarkerWithWaitList(shape->other, 1, &gate, &marker),
                "marker");
            cl_must(
                clEnqueueBarrierWithWaitList(shape->queue, 1, &marker, NULL),
                "barrier");
            cl_must(clFlush(shape->other), "flush");
            launch(shape, shape->queue, shape->add, NULL, NULL);
            cl_must(clReleaseEvent(marker), "release");
        } else {
            launch(shape, shape->queue, shape->add, gate, NULL);
        }
        cl_must(clFinish(shape->queue), "finish");
        (void)pthread_join(setter, NULL);
        cl_must(clReleaseEvent(gate), "release");
    }
}

static void never_run(struct shape *shape)
{
    shape_warm(shape);
    spin_set(shape, INT_MAX);
    launch(shape, shape->queue, shape->spin, NULL, NULL);
    launch(shape, shape->queue, shape->add, NULL, NULL);
    launch(shape, shape->queue, shape->add, NULL, NULL);
    cl_must(clFlush(shape->queue), "flush");
    sleep_ms(400);
    (void)fflush(stdout);
    _exit(0);
}

static void gate_run(struct shape *shape)
{
    cl_int rc;
    cl_event gate = clCreateUserEvent(shape->base.context, &rc);

    cl_must(rc, "user event");
    shape_warm(shape);
    launch(shape, shape->queue, shape->add, gate, NULL);
    cl_must(clFlush(shape->queue), "flush");
    sleep_ms(400);
    (void)fflush(stdout);
    _exit(0);
}

static void done_run(struct shape *shape)
{
    cl_event end;

    shape_warm(shape);
    for (int i = 0; i < 49; i++) {
        launch(shape, shape->queue, shape->add, NULL, NULL);
    }
    launch(shape, shape->queue, shape->add, NULL, &end);
    cl_must(clWaitForEvents(1, &end), "wait");
    (void)fflush(stdout);
    _exit(0);
}

static void sub_run(struct shape *shape)
{
    const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY,
                                                   1, 0};
    cl_device_id parent = shape->base.devices[0];
    cl_device_id subs[2];
    cl_command_queue queues[3];
    cl_context context;
    cl_program program;
    cl_kernel kernels[3];
    cl_mem buffer;
    cl_int rc;

    shape_warm(shape);
    cl_must(clCreateSubDevices(parent, halves, 2, subs, NULL), "sub-devices");
    context = clCreateContext(
        NULL, 3, (cl_device_id[]){parent, subs[0], subs[1]}, NULL, NULL, &rc);
    cl_must(rc, "context");
    program = cl_base_program(context);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 256, NULL, &rc);
    cl_must(rc, "buffer");
    for (int i = 0; i < 3; i++) {
        queues[i] =
            clCreateCommandQueue(context, i < 2 ? subs[i] : parent, 0, &rc);
        cl_must(rc, "queue");
        kernels[i] = clCreateKernel(program, "spin", &rc);
        cl_must(rc, "kernel");
        cl_must(clSetKernelArg(kernels[i], 0, sizeof(buffer), &buffer), "arg");
        cl_must(clSetKernelArg(kernels[i], 1, sizeof(shape->rounds),
                               &shape->rounds),
                "arg");
    }
    for (int i = 0; i < 3 * ROUNDS; i++) {
        launch(shape, queues[i % 3], kernels[i % 3], NULL, NULL);
        cl_must(clFlush(queues[i % 3]), "flush");
    }
    for (int i = 0; i < 3; i++) {
        cl_must(clFinish(queues[i]), "finish");
    }
}

static void copies_run(struct shape *shape, int kernels)
{
    size_t bytes = kernels ? 4 * CHUNK : CHUNK;
    char *host = calloc(1, bytes);
    cl_int rc;
    cl_mem buffer = clCreateBuffer(shape->base.context, CL_MEM_READ_WRITE,
                                   bytes, NULL, &rc);

    cl_must(rc, "buffer");
    if (kernels) {
        shape_warm(shape);
    }
    for (int i = 0; i < (kernels ? 20 : 16); i++) {
        if (i == 0) {
            (void)printf("line write %d\n", __LINE__ + 2);
        }
        cl_must(clEnqueueWriteBuffer(shape->queue, buffer, CL_TRUE, 0, bytes,
                                     host, 0, NULL, NULL),
                "write");
        if (kernels) {
            launch(shape, shape->queue, shape->add, NULL, NULL);
        }
    }
    for (int i = 0; i < 4 && !kernels; i++) {
        if (i == 0) {
            (void)printf("line read %d\n", __LINE__ + 2);
        }
        cl_must(clEnqueueReadBuffer(shape->queue, buffer, CL_TRUE, 0, bytes,
                                    host, 0, NULL, NULL),
                "read");
    }
    cl_must(clFinish(shape->queue), "finish");
    cl_must(clReleaseMemObject(buffer), "release");
    free(host);
}

static void fail_run(struct shape *shape)
{
    size_t global = 64, local = 1 << 30;
    cl_event gate, ends[3];
    cl_int rc;

    shape_warm(shape);
    gate = clCreateUserEvent(shape->base.context, &rc);
    cl_must(rc, "user event");
    (void)printf("line launch %d\n", 82);
    for (int i = 0; i < 3; i++) {
        launch(shape, shape->queue, shape->add, gate, &ends[i]);
    }
    cl_must(clSetUserEventStatus(gate, -5), "set");
    rc = clWaitForEvents(1, &ends[2]);
    (void)printf("wait rc %d\n", (int)rc);
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            (void)printf("line refused %d\n", __LINE__ + 2);
        }
        rc = clEnqueueNDRangeKernel(shape->queue, shape->add, 1, NULL, &global,
                                    &local, 0, NULL, NULL);
        (void)printf("launch rc %d\n", (int)rc);
    }
    for (int i = 0; i < 3; i++) {
        cl_must(clReleaseEvent(ends[i]), "release");
    }
    cl_must(clReleaseEvent(gate), "release");
}

/* A program that takes long to compile, and is in no cache. */
static void long_build(struct shape *shape, int kernels)
{
    size_t room = 1 << 20, used = 0;
    char *text = malloc(room);
    const char *const *texts = (const char *const *)&text;
    cl_program program;
    cl_kernel kernel;
    struct timespec now;
    cl_int rc;

    if (text == NULL) {
        exit(4);
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    used += (size_t)snprintf(text, room, "/* %ld %ld */\n", (long)now.tv_sec,
                             now.tv_nsec);
    for (int i = 0; i < kernels; i++) {
        used += (size_t)snprintf(
            text + used, room - used,
            "__kernel void k%d(__global float *a)\n{\n"
            "    float x = a[get_global_id(0)];\n"
            "    for (int i = 0; i < %d; i++) {\n"
            "        x = sin(x) * cos(x) + pow(x, %d.5f) + exp(x);\n    }\n"
            "    a[get_global_id(0)] = x;\n}\n",
            i, i + 2, i);
    }
    program = clCreateProgramWithSource(shape->base.context, 1,
                                        (const char **)texts, NULL, &rc);
    cl_must(rc, "program");
    (void)printf("line build %d\n", __LINE__ + 1);
    cl_must(clBuildProgram(program, 0, NULL, "", NULL, NULL), "build");
    kernel = clCreateKernel(program, "k0", &rc);
    cl_must(rc, "kernel");
    cl_must(clSetKernelArg(kernel, 0, sizeof(shape->buffer), &shape->buffer),
            "argument");
    launch(shape, shape->queue, kernel, NULL, NULL);
    cl_must(clFinish(shape->queue), "finish");
    cl_must(clReleaseKernel(kernel), "release");
    cl_must(clReleaseProgram(program), "release");
    free(text);
}

static void slow_run(struct shape *shape)
{
    sleep_ms(200);
    sleep_ms(100);
    long_build(shape, 4);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "lone";
    struct shape shape;

    shape_init(&shape);
    if (strcmp(how, "turns") == 0) {
        turns_run(&shape);
    } else if (strcmp(how, "remote") == 0) {
        remote_run(&shape);
    } else if (strcmp(how, "user") == 0 || strcmp(how, "barrier") == 0) {
        user_run(&shape, strcmp(how, "barrier") == 0);
    } else if (strcmp(how, "never") == 0) {
        never_run(&shape);
    } else if (strcmp(how, "gate") == 0) {
        gate_run(&shape);
    } else if (strcmp(how, "done") == 0) {
        done_run(&shape);
    } else if (strcmp(how, "sub") == 0) {
        sub_run(&shape);
    } else if (strcmp(how, "copies") == 0 || strcmp(how, "bound") == 0) {
        copies_run(&shape, strcmp(how, "bound") == 0);
    } else if (strcmp(how, "fail") == 0) {
        fail_run(&shape);
    } else if (strcmp(how, "build") == 0) {
        long_build(&shape, 3000);
    } else if (strcmp(how, "slow") == 0) {
        slow_run(&shape);
    } else {
        shape_warm(&shape);
    }
    shape_fini(&shape);
    return 0;
}
