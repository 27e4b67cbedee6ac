/* opencl_cost.c - a program that only launches
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     opencl_cost plain LAUNCHES
 *         kernels of one work-item with an event each, no wait before the end;
 *         prints a launch's time, its CPU time on all threads (ns), their
 *         switches and first touches of pages (of 1,000 launches)
 *     opencl_cost stamps LAUNCHES
 *         the same loop with what every tool does that times commands: the
 * queue has profiling, each event is kept until it is complete, and its four
 *         stamps are read
 *     opencl_cost records LAUNCHES
 *         the same, and what every tool does that records calls and commands:
 *         two looks at a counter and a record of a call each launch, and a
 *         record of its command; their memory was touched before
 *     opencl_cost waiting LAUNCHES
 *         the plain loop with commands that wait for an event of the program,
 *         which is never set: prints the CPU time of the launching thread alone
 *     opencl_cost callbacks LAUNCHES
 *         as stamps, read in a callback of each event
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "schema/time.h"
#include "tests/targets/opencl/cl_base.h"

/* Launches between two looks at what is complete. */
#define LOOK_EVERY 256

/* As ck's records have them. */
#define CALL_WORDS 8
#define COMMAND_WORDS 12

static uint64_t *records; /* NULL: none is written */
static uint64_t *record;  /* the next one */

static atomic_ullong stamps; /* their sum: they were read */
static atomic_long looked;

static double clock_ns(clockid_t clock)
{
    struct timespec ts;

    (void)clock_gettime(clock, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* What the process has used so far. */
struct used {
    double wall;
    double cpu;
    double switches;
    double pages;
};

static struct used used_look(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (struct used){
        .wall = clock_ns(CLOCK_MONOTONIC),
        .cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3,
        .switches = (double)(usage.ru_nvcsw + usage.ru_nivcsw),
        .pages = (double)usage.ru_minflt,
    };
}

static void stamps_read(cl_event event)
{
    static const cl_profiling_info what[4] = {
        CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};

    for (int i = 0; i < 4; i++) {
        cl_ulong stamp = 0;

        cl_must(clGetEventProfilingInfo(event, what[i], sizeof(stamp), &stamp,
                                        NULL),
                "clGetEventProfilingInfo");
        atomic_fetch_add_explicit(&stamps, stamp, memory_order_relaxed);
    }
    atomic_fetch_add(&looked, 1);
}

static void record_write(int words, uint64_t first, uint64_t second)
{
    record[0] = first;
    record[1] = second;
    for (int i = 2; i < words; i++) {
        record[i] = (uint64_t)i;
    }
    record += words;
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *data)
{
    (void)status;
    (void)data;
    stamps_read(event);
    cl_must(clReleaseEvent(event), "clReleaseEvent");
}

/* Reads what is complete of events[from] to events[to - 1], in order; returns
 * where it stopped. */
static long look(cl_event *events, long from, long to)
{
    for (; from < to; from++) {
        cl_int status = CL_QUEUED;

        cl_must(clGetEventInfo(events[from], CL_EVENT_COMMAND_EXECUTION_STATUS,
                               sizeof(status), &status, NULL),
                "clGetEventInfo");
        if (status != CL_COMPLETE) {
            break;
        }
        stamps_read(events[from]);
        if (records != NULL) {
            record_write(COMMAND_WORDS, (uint64_t)from, 0);
        }
        cl_must(clReleaseEvent(events[from]), "clReleaseEvent");
    }
    return from;
}

static void launch(cl_command_queue queue,
                   cl_kernel kernel,
                   const char *mode,
                   long launches)
{
    const size_t one = 1;
    cl_event *events = calloc((size_t)launches, sizeof(cl_event));
    long read = 0;

    for (long i = 0; events != NULL && i < launches; i++) {
        uint64_t before = records == NULL ? 0 : (uint64_t)ck_time_ticks();

        cl_must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0,
                                       NULL, &events[i]),
                "clEnqueueNDRangeKernel");
        if (records != NULL) {
            record_write(CALL_WORDS, before, (uint64_t)ck_time_ticks());
        }
        if (strcmp(mode, "plain") == 0) {
            cl_must(clReleaseEvent(events[i]), "clReleaseEvent");
        } else if (strcmp(mode, "callbacks") == 0) {
            cl_must(
                clSetEventCallback(events[i], CL_COMPLETE, on_complete, NULL),
                "clSetEventCallback");
        } else if (i % LOOK_EVERY == 0) {
            read = look(events, read, i);
        }
    }
    cl_must(clFinish(queue), "clFinish");
    if (strcmp(mode, "stamps") == 0 || strcmp(mode, "records") == 0) {
        look(events, read, launches);
    }
    free(events);
}

/* Ends the process: the commands would have to be run. */
_Noreturn static void launch_waiting(cl_context context,
                                     cl_command_queue queue,
                                     cl_kernel kernel,
                                     long launches)
{
    const size_t one = 1;
    cl_int rc;
    cl_event gate = clCreateUserEvent(context, &rc);
    double begin;

    cl_must(rc, "clCreateUserEvent");
    begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (long i = 0; i < launches; i++) {
        cl_event event;

        cl_must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 1,
                                       &gate, &event),
                "clEnqueueNDRangeKernel");
        cl_must(clReleaseEvent(event), "clReleaseEvent");
    }
    printf("%.1f\n",
           (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)launches);
    (void)fflush(stdout);
    _exit(0);
}

static void records_make(long launches)
{
    size_t bytes =
        (size_t)launches * (CALL_WORDS + COMMAND_WORDS) * sizeof(*records);

    records = malloc(bytes);
    cl_must(records == NULL ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS, "malloc");
    memset(records, 1, bytes);
    record = records;
}

int main(int argc, char **argv)
{
    const char *mode = argc == 3 ? argv[1] : "";
    long launches = argc == 3 ? atol(argv[2]) : 0;
    const cl_float half = 0.5F;
    struct cl_base base;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem memory;
    cl_int rc;
    struct used begin;
    struct used end;

    if (launches < 1 ||
        strstr("plain stamps records callbacks waiting", mode) == NULL) {
        (void)fprintf(stderr,
                      "usage: opencl_cost "
                      "plain|stamps|records|waiting|callbacks LAUNCHES\n");
        return 2;
    }
    cl_base_init(&base);
    queue = clCreateCommandQueue(base.context, base.devices[0],
                                 strcmp(mode, "plain") == 0 ||
                                         strcmp(mode, "waiting") == 0
                                     ? 0
                                     : CL_QUEUE_PROFILING_ENABLE,
                                 &rc);
    cl_must(rc, "clCreateCommandQueue");
    memory = clCreateBuffer(base.context, CL_MEM_READ_WRITE, 64, NULL, &rc);
    cl_must(rc, "clCreateBuffer");
    kernel = cl_base_kernel(&base, "add", memory);
    cl_must(clSetKernelArg(kernel, 1, sizeof(half), &half), "clSetKernelArg");
    launch(queue, kernel, "plain", 1000); /* compiles it */
    if (strcmp(mode, "waiting") == 0) {
        launch_waiting(base.context, queue, kernel, launches);
    }
    if (strcmp(mode, "records") == 0) {
        records_make(launches);
    }
    begin = used_look();
    launch(queue, kernel, mode, launches);
    end = used_look();
    printf("%.1f %.1f %.1f %.1f\n", (end.wall - begin.wall) / (double)launches,
           (end.cpu - begin.cpu) / (double)launches,
           (end.switches - begin.switches) / (double)launches * 1e3,
           (end.pages - begin.pages) / (double)launches * 1e3);
    free(records);
    cl_must(clReleaseKernel(kernel), "clReleaseKernel");
    cl_must(clReleaseMemObject(memory), "clReleaseMemObject");
    cl_must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    cl_base_fini(&base);
    return 0;
}
