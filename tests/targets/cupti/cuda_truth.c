/* cuda_truth.c - CUDA work whose numbers are known
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     cuda_truth [KERNELS [HOW]]      HOW: exit, _exit, reset, fork, hold,
 *                                     busy, marks, hang, replay
 *
 * Driver API and NVRTC, so it builds wherever the CUDA headers are. On one
 * stream: KERNELS empty kernels, a kernel that spins 1 ms, a copy of 64 MB to
 * the device, within it and back, a fill, a wait for an event of a second
 * stream, and a graph of 20 kernels launched 100 times. Prints what a tracer
 * must find as "kind count bytes" lines. "hold" launches until it is killed,
 * and prints "ready" first; so does "busy", with kernels of a millisecond and
 * no pause, so that the device is never idle, and "hang", which waits for a
 * kernel that never ends. "marks" launches KERNELS kernels, one at a time, that
 * read the device's %globaltimer at their begin and end: "mark START END BEFORE
 * AFTER" lines, the latter two CLOCK_MONOTONIC_RAW of the host around it.
 * "replay" launches a graph of 1000 empty kernels KERNELS times. Without a GPU
 * it prints that and exits with 77.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <nvrtc.h>

#define BYTES ((size_t)64 << 20)
#define NODES 20
#define REPLAYS 100

static const char *const source =
    "extern \"C\" __global__ void empty() {}\n"
    "extern \"C\" __global__ void spin(long long cycles)\n"
    "{\n"
    "    long long start = clock64();\n"
    "    while (clock64() - start < cycles) {}\n"
    "}\n"
    "__device__ unsigned long long now()\n"
    "{\n"
    "    unsigned long long t;\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));\n"
    "    return t;\n"
    "}\n"
    "extern \"C\" __global__ void mark(unsigned long long *out,\n"
    "                                unsigned long long ns)\n"
    "{\n"
    "    unsigned long long start = now();\n"
    "    if (threadIdx.x != 0) return;\n"
    "    while (now() - start < ns) {}\n"
    "    out[0] = start;\n"
    "    out[1] = now();\n"
    "}\n";

static CUcontext context;
static CUstream streams[2];
static CUfunction empty, spin, mark;

static void must(CUresult rc, const char *what)
{
    const char *text = NULL;

    if (rc != CUDA_SUCCESS) {
        (void)cuGetErrorString(rc, &text);
        (void)fprintf(stderr, "cuda_truth: %s: %s (%d)\n", what,
                      text == NULL ? "?" : text, (int)rc);
        exit(3);
    }
}

static void nvrtc_must(nvrtcResult rc, const char *what)
{
    if (rc != NVRTC_SUCCESS) {
        (void)fprintf(stderr, "cuda_truth: %s: %s\n", what,
                      nvrtcGetErrorString(rc));
        exit(3);
    }
}

static void device_open(CUdevice *device)
{
    CUresult rc = cuInit(0);
    int count = 0;

    if (rc == CUDA_SUCCESS) {
        rc = cuDeviceGetCount(&count);
    }
    if (rc != CUDA_SUCCESS || count == 0) {
        (void)printf("no CUDA device (%d)\n", (int)rc);
        exit(77);
    }
    must(cuDeviceGet(device, 0), "cuDeviceGet");
    must(cuDevicePrimaryCtxRetain(&context, *device), "primary context");
    must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

static void kernels_build(CUdevice device)
{
    nvrtcProgram program;
    char option[64];
    const char *options[1] = {option};
    CUmodule module;
    size_t bytes;
    char *ptx;
    int major, minor;

    must(cuDeviceGetAttribute(
             &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
         "capability");
    must(cuDeviceGetAttribute(
             &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
         "capability");
    (void)snprintf(option, sizeof(option), "--gpu-architecture=compute_%d%d",
                   major, minor);
    nvrtc_must(nvrtcCreateProgram(&program, source, "truth.cu", 0, NULL, NULL),
               "nvrtcCreateProgram");
    nvrtc_must(nvrtcCompileProgram(program, 1, options), "nvrtcCompileProgram");
    nvrtc_must(nvrtcGetPTXSize(program, &bytes), "nvrtcGetPTXSize");
    ptx = malloc(bytes);
    if (ptx == NULL) {
        exit(3);
    }
    nvrtc_must(nvrtcGetPTX(program, ptx), "nvrtcGetPTX");
    must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    must(cuModuleGetFunction(&empty, module, "empty"), "empty");
    must(cuModuleGetFunction(&spin, module, "spin"), "spin");
    must(cuModuleGetFunction(&mark, module, "mark"), "mark");
    free(ptx);
    (void)nvrtcDestroyProgram(&program);
}

static void launch(CUfunction kernel, void **arguments, CUstream stream)
{
    must(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL),
         "cuLaunchKernel");
}

/* One millisecond by the clock that the device reports. */
static void spin_run(CUdevice device)
{
    long long cycles;
    void *arguments[] = {&cycles};
    int khz = 0;

    must(cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device),
         "clock rate");
    cycles = khz;
    launch(spin, arguments, streams[0]);
    must(cuStreamSynchronize(streams[0]), "cuStreamSynchronize");
}

static void copies_run(void)
{
    CUdeviceptr a, b;
    CUevent event;
    void *host;

    must(cuMemHostAlloc(&host, BYTES, 0), "cuMemHostAlloc");
    memset(host, 1, BYTES);
    must(cuMemAlloc(&a, BYTES), "cuMemAlloc");
    must(cuMemAlloc(&b, BYTES), "cuMemAlloc");
    must(cuMemcpyHtoDAsync(a, host, BYTES, streams[0]), "h2d");
    must(cuMemcpyDtoDAsync(b, a, BYTES, streams[0]), "d2d");
    must(cuMemsetD8Async(a, 2, BYTES, streams[0]), "fill");
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    must(cuEventRecord(event, streams[0]), "cuEventRecord");
    must(cuStreamWaitEvent(streams[1], event, 0), "cuStreamWaitEvent");
    must(cuMemcpyDtoHAsync(host, b, BYTES, streams[1]), "d2h");
    must(cuStreamSynchronize(streams[1]), "cuStreamSynchronize");
    must(cuEventDestroy(event), "cuEventDestroy");
    must(cuMemFree(a), "cuMemFree");
    must(cuMemFree(b), "cuMemFree");
    must(cuMemFreeHost(host), "cuMemFreeHost");
}

/* A graph of so many empty kernels, launched so often. */
static void graphs_run(int nodes, int replays)
{
    CUgraphExec graph;
    CUgraph captured;

    must(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
         "cuStreamBeginCapture");
    for (int i = 0; i < nodes; i++) {
        launch(empty, NULL, streams[0]);
    }
    must(cuStreamEndCapture(streams[0], &captured), "cuStreamEndCapture");
    must(cuGraphInstantiate(&graph, captured, 0), "cuGraphInstantiate");
    for (int i = 0; i < replays; i++) {
        must(cuGraphLaunch(graph, streams[0]), "cuGraphLaunch");
    }
    must(cuStreamSynchronize(streams[0]), "cuStreamSynchronize");
    must(cuGraphExecDestroy(graph), "cuGraphExecDestroy");
    must(cuGraphDestroy(captured), "cuGraphDestroy");
}

static void hold(void)
{
    (void)printf("ready\n");
    (void)fflush(stdout);
    for (;;) {
        launch(empty, NULL, streams[0]);
        (void)usleep(50);
    }
}

/* Kernels of a millisecond at two gigahertz; never ends with 0. */
static void busy(long long cycles)
{
    void *arguments[] = {&cycles};

    (void)printf("ready\n");
    (void)fflush(stdout);
    do {
        launch(spin, arguments, streams[0]);
    } while (cycles < INT64_MAX);
    must(cuStreamSynchronize(streams[0]), "cuStreamSynchronize");
}

static unsigned long long raw_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return (unsigned long long)ts.tv_sec * 1000000000u +
           (unsigned long long)ts.tv_nsec;
}

static void marks_run(int count)
{
    unsigned long long *out, ns = 20000, before, after;
    void *arguments[] = {&out, &ns};

    must(cuMemHostAlloc((void **)&out, 2 * sizeof(*out), 0), "cuMemHostAlloc");
    for (int i = 0; i < count; i++) {
        ns = 20000 + 50 * (unsigned long long)(i % 100);
        before = raw_ns();
        launch(mark, arguments, streams[0]);
        must(cuStreamSynchronize(streams[0]), "cuStreamSynchronize");
        after = raw_ns();
        (void)printf("mark %llu %llu %llu %llu\n", out[0], out[1], before,
                     after);
        (void)usleep(9000); /* over so long a time drift shows */
    }
}

/* Those that do one thing only; false: it is none of them. */
static int alone(const char *how, int kernels)
{
    if (strcmp(how, "hold") == 0) {
        hold();
    } else if (strcmp(how, "busy") == 0) {
        busy(2000000);
    } else if (strcmp(how, "hang") == 0) {
        busy(INT64_MAX);
    } else if (strcmp(how, "marks") == 0) {
        marks_run(kernels);
    } else if (strcmp(how, "replay") == 0) {
        graphs_run(1000, kernels);
        (void)printf("kernel %d 0\n", 1000 * kernels);
    } else {
        return 0;
    }
    return 1;
}

static void end_as(const char *how)
{
    CUdevice device = 0;
    pid_t child;
    int status = 0;

    (void)fflush(stdout);
    if (strcmp(how, "_exit") == 0) {
        (void)usleep(300000);
        _exit(0);
    }
    if (strcmp(how, "reset") == 0) {
        must(cuDevicePrimaryCtxReset(device), "cuDevicePrimaryCtxReset");
        _exit(0);
    }
    if (strcmp(how, "fork") == 0) {
        child = fork();
        if (child == 0) {
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            exit(5);
        }
    }
    exit(0);
}

int main(int argc, char **argv)
{
    int kernels = argc > 1 ? atoi(argv[1]) : 1000;
    const char *how = argc > 2 ? argv[2] : "exit";
    unsigned long long begin;
    CUdevice device;

    device_open(&device);
    kernels_build(device);
    for (int i = 0; i < 2; i++) {
        must(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "stream");
    }
    if (alone(how, kernels)) {
        return 0;
    }
    begin = raw_ns();
    for (int i = 0; i < kernels; i++) {
        launch(empty, NULL, streams[0]);
    }
    (void)printf("launch_ns %.1f\n",
                 (double)(raw_ns() - begin) / (kernels > 0 ? kernels : 1));
    must(cuStreamSynchronize(streams[0]), "cuStreamSynchronize");
    spin_run(device);
    copies_run();
    graphs_run(NODES, REPLAYS);
    (void)printf("kernel %d 0\nh2d 1 %zu\nd2h 1 %zu\nd2d 1 %zu\nfill 1 %zu\n",
                 kernels + 1 + NODES * REPLAYS, BYTES, BYTES, BYTES, BYTES);
    (void)printf("memory 2 %zu\n", BYTES);
    (void)printf("call cuLaunchKernel %d\ncall cuGraphLaunch %d\n",
                 kernels + 1 + NODES, REPLAYS);
    end_as(how);
    return 0;
}
