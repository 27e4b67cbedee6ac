/* cl_end.c - commands that are not complete when their program goes on
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     cl_end HOW COUNT
 *
 * COUNT kernels wait for a user event. Then, by HOW:
 *     never    exit while they still wait
 *     late     release queue, kernel and buffer, let them run, wait, exit
 *     run      let them run, clFinish, exit
 *     fork     a child exits at once; then as run
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/opencl/cl_base.h"

struct work {
    struct cl_base base;
    cl_command_queue queue;
    cl_mem buffer;
    cl_kernel add;
    cl_event gate;
    cl_event last;
};

static void work_start(struct work *work, int count)
{
    size_t global = 64;
    float b = 1;
    cl_int rc;

    cl_base_init(&work->base);
    work->queue =
        clCreateCommandQueue(work->base.context, work->base.devices[0], 0, &rc);
    cl_must(rc, "queue");
    work->buffer =
        clCreateBuffer(work->base.context, CL_MEM_READ_WRITE, 256, NULL, &rc);
    cl_must(rc, "buffer");
    work->add = cl_base_kernel(&work->base, "add", work->buffer);
    cl_must(clSetKernelArg(work->add, 1, sizeof(b), &b), "argument");
    work->gate = clCreateUserEvent(work->base.context, &rc);
    cl_must(rc, "user event");
    for (int i = 0; i < count; i++) {
        cl_event *end = i + 1 == count ? &work->last : NULL;

        cl_must(clEnqueueNDRangeKernel(work->queue, work->add, 1, NULL, &global,
                                       NULL, 1, &work->gate, end),
                "launch");
    }
    cl_must(clFlush(work->queue), "flush");
}

static void work_release(struct work *work)
{
    cl_must(clReleaseKernel(work->add), "release kernel");
    cl_must(clReleaseMemObject(work->buffer), "release buffer");
    cl_must(clReleaseCommandQueue(work->queue), "release queue");
}

static void child_run(void)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        exit(5);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "run";
    struct work work;

    work_start(&work, argc > 2 ? atoi(argv[2]) : 10);
    if (strcmp(how, "never") == 0) {
        exit(0);
    }
    if (strcmp(how, "fork") == 0) {
        child_run();
    }
    if (strcmp(how, "late") == 0) {
        work_release(&work);
    }
    cl_must(clSetUserEventStatus(work.gate, CL_COMPLETE), "user event");
    (void)printf("wait rc %d\n", (int)clWaitForEvents(1, &work.last));
    if (strcmp(how, "late") != 0) {
        work_release(&work);
    }
    return 0;
}
