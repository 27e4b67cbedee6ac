/* cupti_host.c - plays a CUDA program on the mock, in numbers that are known
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     cupti_host [THREADS [HOW]]
 *
 * Loads CUDA_INJECTION64_PATH as the driver does, then each thread makes
 * LAUNCHES kernels by cudaLaunchKernel around cuLaunchKernel, 10 by
 * cuLaunchKernel alone, and one graph launch of 20 nodes; the first thread
 * makes one each of all the rest. HOW: exit, _exit, fork, abort, fatal,
 * unknown (a kind that nobody knows), destroy (the context, then _exit).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/cupti/mockcupti.h"

#define LAUNCHES 1000
#define DIRECT 10
#define NODES 20

static _Atomic uint32_t next_correlation = 100;
static int (*inject)(void);

static void kernel_emit(uint32_t correlation, uint64_t start, uint64_t end)
{
    CUpti_ActivityKernel10 kernel = {
        .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        .registersPerThread = 32,
        .start = start,
        .end = end,
        .contextId = 1,
        .streamId = 7,
        .gridX = 128,
        .gridY = 2,
        .gridZ = 1,
        .blockX = 256,
        .blockY = 1,
        .blockZ = 1,
        .staticSharedMemory = 1024,
        .dynamicSharedMemory = 512,
        .correlationId = correlation,
        .name = "saxpy",
    };

    mock_emit(&kernel, sizeof(kernel));
}

static void launch_emit(uint32_t correlation)
{
    uint64_t now = mock_clock();

    kernel_emit(correlation, now, now + 500);
}

static void node_emit(uint32_t correlation, uint64_t node)
{
    uint64_t now = mock_clock();
    CUpti_ActivityKernel10 kernel = {
        .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        .start = now,
        .end = now + 100,
        .contextId = 1,
        .streamId = 7,
        .correlationId = correlation,
        .name = "node",
        .graphNodeId = node,
        .graphId = 3,
    };

    mock_emit(&kernel, sizeof(kernel));
}

static void *thread_main(void *unused)
{
    CUpti_CallbackDomain runtime = CUPTI_CB_DOMAIN_RUNTIME_API;
    CUpti_CallbackDomain driver = CUPTI_CB_DOMAIN_DRIVER_API;
    uint32_t id;

    for (int i = 0; i < LAUNCHES; i++) {
        id = atomic_fetch_add(&next_correlation, 1);
        mock_call(runtime, "cudaLaunchKernel", CUPTI_API_ENTER, id);
        mock_call(driver, "cuLaunchKernel", CUPTI_API_ENTER, id);
        launch_emit(id);
        mock_call(driver, "cuLaunchKernel", CUPTI_API_EXIT, id);
        mock_call(runtime, "cudaLaunchKernel", CUPTI_API_EXIT, id);
    }
    for (int i = 0; i < DIRECT; i++) {
        id = atomic_fetch_add(&next_correlation, 1);
        mock_call(driver, "cuLaunchKernel", CUPTI_API_ENTER, id);
        launch_emit(id);
        mock_call(driver, "cuLaunchKernel", CUPTI_API_EXIT, id);
    }
    id = atomic_fetch_add(&next_correlation, 1);
    mock_call(runtime, "cudaGraphLaunch", CUPTI_API_ENTER, id);
    for (uint64_t node = 1; node <= NODES; node++) {
        node_emit(id, node << 32 | node);
    }
    mock_call(runtime, "cudaGraphLaunch", CUPTI_API_EXIT, id);
    return unused;
}

static void identity_emit(void)
{
    CUpti_ActivityDevice5 device = {
        .kind = CUPTI_ACTIVITY_KIND_DEVICE,
        .globalMemorySize = 1 << 30,
        .numMultiprocessors = 132,
        .coreClockRate = 1980000,
        .computeCapabilityMajor = 9,
        .uuid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
        .name = strdup("Mock GPU"),
    };
    CUpti_ActivityContext3 context = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
                                      .contextId = 1};
    CUpti_ActivityStream stream = {.kind = CUPTI_ACTIVITY_KIND_STREAM,
                                   .contextId = 1,
                                   .streamId = 7,
                                   .priority = 2};

    mock_emit(&device, sizeof(device));
    mock_emit(&context, sizeof(context));
    mock_emit(&stream, sizeof(stream));
}

static void copy_emit(uint8_t kind, uint64_t bytes)
{
    uint64_t now = mock_clock();
    CUpti_ActivityMemcpy6 copy = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
        .copyKind = kind,
        .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
        .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
        .bytes = bytes,
        .start = now,
        .end = now + 10,
        .contextId = 1,
        .streamId = 8,
        .correlationId = 9,
    };

    mock_emit(&copy, sizeof(copy));
}

/* One of each: h2d 100, d2h 200, d2d 300, peer 400, fill 500, sync, overhead,
 * and two kernels with times that cannot be. */
static void rest_emit(void)
{
    uint64_t now = mock_clock();
    CUpti_ActivityMemcpyPtoP4 peer = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                      .copyKind = 10,
                                      .bytes = 400,
                                      .start = now,
                                      .end = now + 10,
                                      .contextId = 1,
                                      .streamId = 8,
                                      .dstDeviceId = 1};
    CUpti_ActivityMemset4 fill = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                  .bytes = 500,
                                  .start = now,
                                  .end = now + 10,
                                  .contextId = 1,
                                  .streamId = 8};
    CUpti_ActivitySynchronization2 sync = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
        .start = now,
        .end = now + 10,
        .contextId = 1,
        .streamId = 0xffffffffu};
    CUpti_ActivityOverhead3 overhead = {
        .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
        .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH,
        .start = now,
        .end = now + 10,
        .overheadData = malloc(8)};

    copy_emit(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 100);
    copy_emit(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 200);
    copy_emit(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 300);
    mock_emit(&peer, sizeof(peer));
    mock_emit(&fill, sizeof(fill));
    mock_emit(&sync, sizeof(sync));
    mock_emit(&overhead, sizeof(overhead));
    kernel_emit(1, 0, 0);
    kernel_emit(2, now, now - 1);
}

static void injection_load(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol =
        library == NULL ? NULL : dlsym(library, "InitializeInjection");

    if (symbol == NULL) {
        (void)fprintf(stderr, "cupti_host: no injection: %s\n", dlerror());
        exit(3);
    }
    memcpy(&inject, &symbol, sizeof(symbol));
    if (inject() != 1 || inject() != 1) {
        exit(4);
    }
}

static void fork_child(void)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        launch_emit(5);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        exit(5);
    }
}

static void end_as(const char *how)
{
    CUpti_Activity unknown = {.kind = (CUpti_ActivityKind)41};

    if (strcmp(how, "_exit") == 0) {
        /* Nothing may hide behind the last flush: wait out two periods. */
        (void)usleep(250000);
        _exit(0);
    }
    if (strcmp(how, "destroy") == 0) {
        mock_context_destroy();
        _exit(0);
    }
    if (strcmp(how, "fork") == 0) {
        fork_child();
    } else if (strcmp(how, "abort") == 0) {
        abort();
    } else if (strcmp(how, "fatal") == 0) {
        mock_fatal();
    } else if (strcmp(how, "unknown") == 0) {
        mock_emit_any(&unknown, sizeof(unknown));
    } else if (strcmp(how, "takeover") == 0) {
        (void)usleep(250000);
    }
    exit(0);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t others[128];

    injection_load();
    identity_emit();
    for (int i = 1; i < threads && i < 128; i++) {
        if (pthread_create(&others[i], NULL, thread_main, NULL) != 0) {
            return 6;
        }
    }
    (void)thread_main(NULL);
    for (int i = 1; i < threads && i < 128; i++) {
        (void)pthread_join(others[i], NULL);
    }
    rest_emit();
    end_as(argc > 2 ? argv[2] : "exit");
    return 0;
}
