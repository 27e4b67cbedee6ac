/* cupti_host.c - plays a CUDA program on the mock, in numbers that are known
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     cupti_host [THREADS [HOW [STEPS [WORD]]]]
 *
 * Loads CUDA_INJECTION64_PATH as the driver does, if it is set, then each
 * thread makes LAUNCHES kernels by cudaLaunchKernel around cuLaunchKernel, 10
 * by cuLaunchKernel alone, and one graph launch of 20 nodes; the first thread
 * makes one each of all the rest. HOW: exit, _exit, fork, abort, fatal, term
 * (SIGTERM), quick (quick_exit), again (three contexts, one behind the other,
 * with 200 launches in each), racing (8 threads of 500 launches, while contexts
 * end), other (another thread calls exit), unknown (a kind without a name),
 * reset, release, destroy (the context ends in that call, then _exit), steal
 * (another client takes the buffers, 500 launches, and 300 when it is over),
 * rival (the same by a client that calls CUPTI as a profiler does, 500
 * launches, 100 more behind 2.3 s, and 300 when it has ended), share (a
 * second subscriber, 500 launches), held (CUPTI is let go of: 300 launches),
 * later (400 when ck has looked at all before), flood (150,000 launches), paced
 * (400 more in 0.2 s), graphs (200 graph launches of 50 nodes, 8 us each, one
 * each ms), kill (as paced, then SIGKILL), cost (prints ns of a launch's
 * callbacks beside an empty subscriber's), capture (6000 launches into a graph,
 * then paced), names (8000 kernels of as many names), and as cuda_truth does
 * hold, marks and replay, memory (three blocks of 4 MiB in fields_make, one of
 * them given back by another thread, whose record comes first; 1 MiB of managed
 * memory and 2 MiB of the host's in halo_make), memory_late (a block whose
 * record comes behind 4,096 more calls for memory); and as gpujob.py training
 * (STEPS of 20 kernels, 20 us each; WORD graph: a graph launch each; profile:
 * behind ten that another client has the records of).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/targets/cupti/mockcupti.h"

extern cuptiSubscribe_f cuptiSubscribe;
extern cuptiActivityRegisterCallbacks_f cuptiActivityRegisterCallbacks;
extern cuptiActivityEnable_f cuptiActivityEnable;
extern cuptiActivityFlushAll_f cuptiActivityFlushAll;
extern cuptiSubscribe_v2_f cuptiSubscribe_v2;
extern cuptiActivityEnable_v2_f cuptiActivityEnable_v2;
extern cuptiActivityRegisterCallbacks_v2_f cuptiActivityRegisterCallbacks_v2;
extern cuptiActivityGetNextRecord_v2_f cuptiActivityGetNextRecord_v2;
extern cuptiActivityGetNextRecord_f cuptiActivityGetNextRecord;

#define LAUNCHES 1000
#define THREADS 256
#define DIRECT 10
#define NODES 20

static _Atomic uint32_t next_correlation = 100;
static int (*inject)(void);

static void kernel_emit(uint32_t correlation, uint64_t start, uint64_t end)
{
    struct cupti_kernel kernel = {
        .kind = CUPTI_KIND_KERNEL,
        .registers = 32,
        .start = start,
        .end = end,
        .context = 1,
        .stream = 7,
        .grid = {128, 2, 1},
        .block = {256, 1, 1},
        .static_shared = 1024,
        .dynamic_shared = 512,
        .correlation = correlation,
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
    struct cupti_kernel kernel = {
        .kind = CUPTI_KIND_KERNEL,
        .start = now,
        .end = now + 100,
        .context = 1,
        .stream = 7,
        .correlation = correlation,
        .name = "_Z4nodePfi",
        .graph_node = node,
        .graph = 3,
    };

    mock_emit(&kernel, sizeof(kernel));
}

/* In place of its nodes. */
static void graph_emit(uint32_t correlation)
{
    uint64_t now = mock_clock();
    struct cupti_graph graph = {.kind = CUPTI_KIND_GRAPH,
                                .correlation = correlation,
                                .start = now,
                                .end = now + 2000,
                                .graph = 3,
                                .context = 1,
                                .stream = 7};

    mock_emit(&graph, sizeof(graph));
}

/* One that is busy for NODES_LONG * NODE_LENGTH, behind the other. */
#define NODES_LONG 50
#define NODE_LENGTH 8000u
static void graph_launch(void)
{
    uint32_t id = atomic_fetch_add(&next_correlation, 1);
    uint64_t start;

    mock_call(CUPTI_DOMAIN_DRIVER, "cuGraphLaunch", CUPTI_ENTER, id);
    start = mock_clock();
    mock_call(CUPTI_DOMAIN_DRIVER, "cuGraphLaunch", CUPTI_EXIT, id);
    while (mock_clock() < start + (uint64_t)NODES_LONG * NODE_LENGTH) {
    }
    for (uint64_t node = 0; node < NODES_LONG; node++) {
        struct cupti_kernel kernel = {
            .kind = CUPTI_KIND_KERNEL,
            .start = start + node * NODE_LENGTH,
            .end = start + (node + 1) * NODE_LENGTH,
            .context = 1,
            .stream = 7,
            .correlation = id,
            .name = "_Z4nodePfi",
            .graph_node = node + 1,
            .graph = 3,
        };

        mock_emit(&kernel, sizeof(kernel));
    }
}

static void graphs(void)
{
    for (int i = 0; i < 200; i++) {
        uint64_t next = mock_clock() + 1000000;

        graph_launch();
        while (mock_clock() < next) {
            (void)usleep(100);
        }
    }
}

static void *thread_main(void *unused)
{
    uint32_t runtime = CUPTI_DOMAIN_RUNTIME;
    uint32_t driver = CUPTI_DOMAIN_DRIVER;
    uint32_t id;

    for (int i = 0; i < LAUNCHES; i++) {
        id = atomic_fetch_add(&next_correlation, 1);
        mock_call(runtime, "cudaLaunchKernel", CUPTI_ENTER, id);
        mock_call(driver, "cuLaunchKernel", CUPTI_ENTER, id);
        launch_emit(id);
        mock_call(driver, "cuLaunchKernel", CUPTI_EXIT, id);
        mock_call(runtime, "cudaLaunchKernel", CUPTI_EXIT, id);
    }
    for (int i = 0; i < DIRECT; i++) {
        id = atomic_fetch_add(&next_correlation, 1);
        mock_call(driver, "cuLaunchKernel", CUPTI_ENTER, id);
        launch_emit(id);
        mock_call(driver, "cuLaunchKernel", CUPTI_EXIT, id);
    }
    id = atomic_fetch_add(&next_correlation, 1);
    mock_call(runtime, "cudaGraphLaunch", CUPTI_ENTER, id);
    mock_call(driver, "cuGraphLaunch", CUPTI_ENTER, id);
    if (mock_is_enabled(CUPTI_KIND_GRAPH)) {
        graph_emit(id);
    }
    for (uint64_t node = 1; node <= NODES && !mock_is_enabled(CUPTI_KIND_GRAPH);
         node++) {
        node_emit(id, node << 32 | node);
    }
    mock_call(driver, "cuGraphLaunch", CUPTI_EXIT, id);
    mock_call(runtime, "cudaGraphLaunch", CUPTI_EXIT, id);
    return unused;
}

static uint32_t version_now(void)
{
    const char *text = getenv("MOCK_VERSION");

    return text == NULL ? 130001 : (uint32_t)atoi(text);
}

static void identity_emit(void)
{
    /* A version before 13.0 keeps the name. */
    bool is_given = version_now() >= 130000;
    struct cupti_device device = {
        .kind = CUPTI_KIND_DEVICE,
        .memory = 1 << 30,
        .units = 132,
        .clock_khz = 1980000,
        .capability_major = 9,
        .uuid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
        .name = is_given ? strdup("Mock GPU") : "Mock GPU",
    };
    struct cupti_context context = {.kind = CUPTI_KIND_CONTEXT, .context = 1};
    struct cupti_stream stream = {
        .kind = CUPTI_KIND_STREAM, .context = 1, .stream = 7, .priority = 2};

    mock_emit(&device, sizeof(device));
    mock_emit(&context, sizeof(context));
    mock_emit(&stream, sizeof(stream));
}

static void copy_emit(uint8_t kind, uint64_t bytes)
{
    uint64_t now = mock_clock();
    struct cupti_memcpy copy = {
        .kind = CUPTI_KIND_MEMCPY,
        .copy = kind,
        .from = 1,
        .to = 3,
        .bytes = bytes,
        .start = now,
        .end = now + 10,
        .context = 1,
        .stream = 8,
        .correlation = 9,
    };

    mock_emit(&copy, sizeof(copy));
}

/* One of each: h2d 100, d2h 200, d2d 300, peer 400, fill 500, sync, overhead,
 * and two kernels with times that cannot be. */
static void rest_emit(void)
{
    uint64_t now = mock_clock();
    struct cupti_peer peer = {.kind = CUPTI_KIND_MEMCPY2,
                              .copy = 10,
                              .bytes = 400,
                              .start = now,
                              .end = now + 10,
                              .context = 1,
                              .stream = 8,
                              .to_device = 1};
    struct cupti_memset fill = {.kind = CUPTI_KIND_MEMSET,
                                .bytes = 500,
                                .start = now,
                                .end = now + 10,
                                .context = 1,
                                .stream = 8};
    struct cupti_sync sync = {.kind = CUPTI_KIND_SYNC,
                              .type = 4,
                              .start = now,
                              .end = now + 10,
                              .context = 1,
                              .stream = 0xffffffffu};
    struct cupti_overhead overhead = {.kind = CUPTI_KIND_OVERHEAD,
                                      .overhead = CUPTI_OVERHEAD_FLUSH,
                                      .start = now,
                                      .end = now + 10,
                                      .data = malloc(8)};

    copy_emit(CUPTI_COPY_HTOD, 100);
    copy_emit(CUPTI_COPY_DTOH, 200);
    copy_emit(CUPTI_COPY_DTOD, 300);
    mock_emit(&peer, sizeof(peer));
    mock_emit(&fill, sizeof(fill));
    mock_emit(&sync, sizeof(sync));
    mock_emit(&overhead, sizeof(overhead));
    kernel_emit(atomic_fetch_add(&next_correlation, 1), 0, 0);
    kernel_emit(atomic_fetch_add(&next_correlation, 1), now, now - 1);
}

/* ---- memory -------------------------------------------------------------- */

#define FIELD ((uint64_t)4 << 20)
#define HALO ((uint64_t)1 << 20)

static void memory_emit(const struct cupti_memory *of)
{
    struct cupti_memory memory = *of;

    memory.kind = CUPTI_KIND_MEMORY2;
    memory.time = memory.time == 0 ? mock_clock() : memory.time;
    memory.process = (uint32_t)getpid();
    memory.context = 1;
    mock_emit(&memory, sizeof(memory));
}

static struct cupti_memory
given(uint32_t correlation, uint32_t what, uint64_t address, uint64_t bytes)
{
    return (struct cupti_memory){.operation = CUPTI_MEMORY_GIVEN,
                                 .memory = what,
                                 .correlation = correlation,
                                 .address = address,
                                 .bytes = bytes,
                                 .time = mock_clock()};
}

/* As cudaMalloc(), in the function that calls it: the runtime's call around the
 * driver's. */
#define MAKE(memory, what, address, bytes)                                     \
    do {                                                                       \
        uint32_t id = atomic_fetch_add(&next_correlation, 1);                  \
                                                                               \
        mock_call(CUPTI_DOMAIN_RUNTIME, "cudaMalloc", CUPTI_ENTER, id);        \
        mock_call(CUPTI_DOMAIN_DRIVER, "cuMemAlloc", CUPTI_ENTER, id);         \
        *(memory) = given(id, what, address, bytes);                           \
        mock_call(CUPTI_DOMAIN_DRIVER, "cuMemAlloc", CUPTI_EXIT, id);          \
        mock_call(CUPTI_DOMAIN_RUNTIME, "cudaMalloc", CUPTI_EXIT, id);         \
    } while (0)

/* The record of its end comes before that of its begin. */
__attribute__((noinline)) static void fields_make(void)
{
    struct cupti_memory first, more;

    MAKE(&first, CUPTI_MEMORY_DEVICE, FIELD, FIELD);
    MAKE(&more, CUPTI_MEMORY_DEVICE, 2 * FIELD, FIELD);
    memory_emit(&more);
    MAKE(&more, CUPTI_MEMORY_DEVICE, 3 * FIELD, FIELD);
    memory_emit(&more);
    (void)usleep(1000);
    memory_emit(&(struct cupti_memory){.operation = CUPTI_MEMORY_RELEASED,
                                       .memory = CUPTI_MEMORY_DEVICE,
                                       .address = FIELD,
                                       .bytes = FIELD});
    memory_emit(&first);
}

__attribute__((noinline)) static void halo_make(void)
{
    struct cupti_memory memory;

    MAKE(&memory, CUPTI_MEMORY_MANAGED, 1, HALO);

    memory_emit(&memory);
    MAKE(&memory, 2 /* pinned */, 2, 2 * HALO);
    memory_emit(&memory);
}

static void memory_play(void)
{
    fields_make();
    halo_make();
}

/* A record that comes when ck has forgotten the call. */
static void memory_late(void)
{
    struct cupti_memory first, more;

    MAKE(&first, CUPTI_MEMORY_DEVICE, FIELD, FIELD);
    for (int i = 0; i < 4096; i++) {
        MAKE(&more, CUPTI_MEMORY_DEVICE, FIELD, FIELD);
    }
    memory_emit(&first);
}

static void injection_load(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol =
        library == NULL ? NULL : dlsym(library, "InitializeInjection");

    if (path == NULL) {
        return;
    }
    if (symbol == NULL) {
        (void)fprintf(stderr, "cupti_host: no injection: %s\n", dlerror());
        exit(3);
    }
    memcpy(&inject, &symbol, sizeof(symbol));
    if (inject() != 1 || inject() != 1) {
        exit(4);
    }
}

/* As a cuInit() that takes so many ms; CUDA is not ready for a flush then. */
static void init_end(void)
{
    const char *text = getenv("CUPTI_HOST_INIT_MS");

    if (text != NULL) {
        (void)usleep(1000 * (unsigned)atoi(text));
        if (mock_flushes() != 0) {
            (void)fprintf(stderr, "cupti_host: a flush within cuInit()\n");
            exit(8);
        }
    }
}

static void launches(int count);

static void fork_child(void)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        launches(100);
        mock_call(CUPTI_DOMAIN_RUNTIME, "cudaDeviceReset", CUPTI_ENTER, 1);
        mock_call(CUPTI_DOMAIN_RUNTIME, "cudaDeviceReset", CUPTI_EXIT, 1);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        exit(5);
    }
}

static void launch_begin(uint32_t id)
{
    mock_call(CUPTI_DOMAIN_RUNTIME, "cudaLaunchKernel", CUPTI_ENTER, id);
    mock_call(CUPTI_DOMAIN_DRIVER, "cuLaunchKernel", CUPTI_ENTER, id);
}

static void launch_end(uint32_t id)
{
    mock_call(CUPTI_DOMAIN_DRIVER, "cuLaunchKernel", CUPTI_EXIT, id);
    mock_call(CUPTI_DOMAIN_RUNTIME, "cudaLaunchKernel", CUPTI_EXIT, id);
}

static void launch(void)
{
    uint32_t id = atomic_fetch_add(&next_correlation, 1);

    launch_begin(id);
    launch_emit(id);
    launch_end(id);
}

static void synchronize(void)
{
    uint32_t id = atomic_fetch_add(&next_correlation, 1);

    mock_call(CUPTI_DOMAIN_RUNTIME, "cudaDeviceSynchronize", CUPTI_ENTER, id);
    mock_call(CUPTI_DOMAIN_RUNTIME, "cudaDeviceSynchronize", CUPTI_EXIT, id);
}

static void launches(int count)
{
    for (int i = 0; i < count; i++) {
        launch();
    }
    synchronize();
}

#define WAIT_MS 30000

static bool is_calm(unsigned flushes)
{
    return mock_is_empty() && (int)(mock_flushes() - flushes) >= 0;
}

static bool is_taken_over(unsigned stamps)
{
    return (int)(mock_stamps() - stamps) >= 0;
}

static bool is_had_back(unsigned unused)
{
    (void)unused;
    return !mock_is_stolen();
}

/* Wait, as long as it takes on a machine that is busy elsewhere. */
static void wait_for(bool (*is_done)(unsigned), unsigned of)
{
    for (int i = 0; i < WAIT_MS && !is_done(of); i++) {
        (void)usleep(1000);
    }
    if (!is_done(of)) {
        (void)fprintf(stderr, "cupti_host: waited for nothing\n");
        _exit(9);
    }
}

/* Until ck has all that there is, and has looked at it: what follows a flush
 * is done when the next one begins. */
static void settle(void)
{
    wait_for(is_calm, mock_flushes() + 3);
}

/* Another client takes the buffers; ck has them back after some two seconds.
 */
static void steal(void)
{
    settle();
    mock_steal();
    launches(500);
    wait_for(is_had_back, 0);
    launches(300);
}

static _Atomic unsigned rival_kernels;

static void rival_requested(uint8_t **bytes, size_t *size, size_t *records)
{
    *size = 1 << 16;
    *bytes = malloc(*size);
    *records = 0;
}

static void rival_completed(
    void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
    struct cupti_record *record = NULL;

    (void)context;
    (void)stream;
    (void)size;
    while (cuptiActivityGetNextRecord(bytes, valid, &record) == CUPTI_OK) {
        rival_kernels += record->kind == CUPTI_KIND_KERNEL;
    }
    free(bytes);
}

static bool is_without_rival(unsigned unused)
{
    (void)unused;
    return !mock_is_client(rival_requested);
}

/* A profiler that is longer than ck waits for one without reports of it; it
 * gets its own, all of it and no more. */
static void rival(void)
{
    settle();
    (void)cuptiActivityRegisterCallbacks(rival_requested, rival_completed);
    launches(500);
    (void)usleep(2300000);
    launches(100);
    (void)cuptiActivityDisable(CUPTI_KIND_KERNEL);
    (void)cuptiActivityFlushAll(1);
    if (rival_kernels != 600) {
        (void)fprintf(stderr, "cupti_host: the other client got %u kernels\n",
                      rival_kernels);
        _exit(10);
    }
    wait_for(is_without_rival, 0);
    settle();
    launches(300);
}

static void
told_nobody(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

static void
share_requested(uint8_t **bytes, size_t *size, size_t *records, void *info)
{
    (void)info;
    *size = 1 << 20;
    *bytes = malloc(*size);
    *records = 0;
}

static void *sharing;

static void
share_completed(uint8_t *bytes, size_t size, size_t valid, void *info)
{
    struct cupti_record *record = NULL;

    (void)size;
    (void)info;
    while (cuptiActivityGetNextRecord_v2(sharing, bytes, valid, &record) ==
           CUPTI_OK) {
        rival_kernels += record->kind == CUPTI_KIND_KERNEL;
    }
    free(bytes);
}

/* A second subscriber, of 500 launches; one of the older kind is refused. */
static void share(void)
{
    struct cupti_subscription about = {.size = sizeof(about), .is_sharing = 1};

    settle();
    if (cuptiActivityRegisterCallbacks(rival_requested, rival_completed) ==
            CUPTI_OK ||
        cuptiSubscribe_v2(&sharing, told_nobody, NULL, &about) != CUPTI_OK ||
        cuptiActivityRegisterCallbacks_v2(sharing, share_requested,
                                          share_completed) != CUPTI_OK ||
        cuptiActivityEnable_v2(sharing, CUPTI_KIND_KERNEL, NULL) != CUPTI_OK) {
        _exit(11);
    }
    launches(500);
    (void)cuptiActivityFlushAll(1);
    if (rival_kernels != 500) {
        (void)fprintf(stderr, "cupti_host: the other client got %u kernels\n",
                      rival_kernels);
        _exit(10);
    }
}

static bool is_wanted(unsigned unused)
{
    (void)unused;
    return !mock_is_client(NULL);
}

static void held(void)
{
    mock_release();
    wait_for(is_wanted, 0);
    settle();
    launches(300);
}

/* A launch each half a millisecond, for a fifth of a second and more. */
static void paced(void)
{
    for (int i = 0; i < 400; i++) {
        launch();
        (void)usleep(500);
    }
}

static uint64_t raw_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void marks(int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t before = raw_ns();
        uint32_t id = atomic_fetch_add(&next_correlation, 1);
        uint64_t start;

        launch_begin(id);
        start = mock_clock();
        while (mock_clock() < start + 20000) {
        }
        kernel_emit(id, start, start + 20000);
        launch_end(id);
        (void)printf("mark %llu %llu %llu %llu\n", (unsigned long long)start,
                     (unsigned long long)start + 20000,
                     (unsigned long long)before, (unsigned long long)raw_ns());
        (void)usleep(500);
    }
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* ns of a launch's callbacks: the median of many batches. */
static double callbacks_ns(void)
{
    enum { BATCHES = 201, CALLS = 500 };
    static uint64_t taken[BATCHES];

    for (int i = 0; i < BATCHES; i++) {
        uint64_t begin = raw_ns();

        for (int k = 0; k < CALLS; k++) {
            uint32_t id = atomic_fetch_add(&next_correlation, 1);

            launch_begin(id);
            launch_end(id);
        }
        taken[i] = raw_ns() - begin;
    }
    qsort(taken, BATCHES, sizeof(taken[0]), by_value);
    return (double)taken[BATCHES / 2] / CALLS;
}

/* As cuda_truth does: a device that is never idle. */
static void hold(void)
{
    (void)printf("ready\n");
    (void)fflush(stdout);
    for (;;) {
        launch();
        (void)usleep(300);
    }
}

/* What ck's subscriber costs beside one that does nothing. */
static void cost(void)
{
    double ours = callbacks_ns();
    void *subscriber;

    (void)cuptiSubscribe(&subscriber, told_nobody, NULL);
    (void)printf("launch_ns %.1f\n", ours - callbacks_ns());
}

/* Behind ck's own work at exit. */
static void forbidden_check(void)
{
    if (mock_forbidden() != 0) {
        (void)fprintf(stderr, "cupti_host: a flush where CUPTI forbids it\n");
        _exit(8);
    }
}

static const struct {
    uint32_t domain;
    const char *name;
} endings[] = {
    {CUPTI_DOMAIN_DRIVER, "cuCtxDestroy"},
    {CUPTI_DOMAIN_DRIVER, "cuDevicePrimaryCtxRelease"},
    {CUPTI_DOMAIN_RUNTIME, "cudaDeviceReset"},
};

static void ending(int number)
{
    uint32_t id = atomic_fetch_add(&next_correlation, 1);

    mock_call(endings[number].domain, endings[number].name, CUPTI_ENTER, id);
    mock_call(endings[number].domain, endings[number].name, CUPTI_EXIT, id);
}

static void again(void)
{
    for (int i = 0; i < 3; i++) {
        launches(200);
        ending(i);
    }
}

static void *racing_main(void *unused)
{
    launches(500);
    return unused;
}

static void racing(void)
{
    pthread_t all[8];

    for (int i = 0; i < 8; i++) {
        if (pthread_create(&all[i], NULL, racing_main, NULL) != 0) {
            exit(6);
        }
    }
    for (int i = 0; i < 6; i++) {
        ending(i % 3);
    }
    for (int i = 0; i < 8; i++) {
        (void)pthread_join(all[i], NULL);
    }
}

static void *other_main(void *unused)
{
    (void)unused;
    exit(0);
}

static void other(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, other_main, NULL) == 0) {
        for (;;) {
            (void)pause();
        }
    }
}

/* The context goes in that call. Nothing may be left behind it. */
static void context_end(uint32_t domain, const char *name)
{
    mock_call(domain, name, CUPTI_ENTER, 1);
    mock_call(domain, name, CUPTI_EXIT, 1);
    forbidden_check();
    _exit(0);
}

/* Launches into a graph that is captured have no work of their own; another
 * thread launches it. */
static void *capture_main(void *unused)
{
    for (int i = 0; i < 6000; i++) {
        uint32_t id = atomic_fetch_add(&next_correlation, 1);

        launch_begin(id);
        launch_end(id);
    }
    return unused;
}

static void capture(void)
{
    pthread_t thread;

    launch(); /* bounds the time of those without times before */
    if (pthread_create(&thread, NULL, capture_main, NULL) != 0) {
        exit(6);
    }
    (void)pthread_join(thread, NULL);
    paced();
}

/* More kernels than names are kept of, as a compiler at run time makes. */
static void names(void)
{
    for (int i = 0; i < 8000; i++) {
        char *name = malloc(24);
        uint64_t now = mock_clock();
        struct cupti_kernel kernel = {.kind = CUPTI_KIND_KERNEL,
                                      .start = now,
                                      .end = now + 10,
                                      .context = 1,
                                      .stream = 7,
                                      .correlation = 3,
                                      .name = name};

        if (name == NULL) {
            exit(6);
        }
        (void)snprintf(name, 24, "kernel_%d", i);
        mock_emit(&kernel, sizeof(kernel));
    }
}

#define STEP_KERNELS 20
#define STEP_LENGTH 20000u

/* One step; its length by the device's clock in ns. */
static uint64_t step(bool is_graph)
{
    uint64_t begin = mock_clock();

    if (is_graph) {
        graph_launch();
        return NODES_LONG * NODE_LENGTH;
    }
    for (int i = 0; i < STEP_KERNELS; i++) {
        uint32_t id = atomic_fetch_add(&next_correlation, 1);
        uint64_t start;

        launch_begin(id);
        start = mock_clock();
        launch_end(id);
        while (mock_clock() < start + STEP_LENGTH) {
        }
        kernel_emit(id, start, start + STEP_LENGTH);
    }
    synchronize();
    return mock_clock() - begin;
}

static void profiled_steps(void)
{
    if (inject != NULL) {
        settle();
    }
    (void)cuptiActivityRegisterCallbacks(rival_requested, rival_completed);
    (void)cuptiActivityEnable(CUPTI_KIND_KERNEL);
    for (int i = 0; i < 10; i++) {
        (void)step(false);
    }
    (void)cuptiActivityDisable(CUPTI_KIND_KERNEL);
    (void)cuptiActivityFlushAll(1);
}

static void training(int steps, const char *word)
{
    uint64_t device = 0, begin;

    if (strcmp(word, "profile") == 0) {
        profiled_steps();
    }
    begin = raw_ns();
    for (int i = 0; i < steps; i++) {
        device += step(strcmp(word, "graph") == 0);
        (void)usleep(200);
    }
    (void)printf("{\"steps\": %d, \"wall_ms\": %.6f, \"device_ms_sum\": %.6f, "
                 "\"profiler\": {\"gpu_rows\": %u, \"kernels_a_step\": %d}}\n",
                 steps, (double)(raw_ns() - begin) / 1e6 / steps,
                 (double)device / 1e6, rival_kernels, STEP_KERNELS);
}

/* CK_LAUNCHES thousands of launches, 50 if it is not set. */
static void replay(void)
{
    const char *text = getenv("CK_LAUNCHES");
    int thousands = text == NULL ? 50 : atoi(text);
    uint64_t begin = raw_ns();

    for (int i = 0; i < thousands; i++) {
        launches(1000);
    }
    (void)printf("launch_ns %.1f\n",
                 (double)(raw_ns() - begin) / (1000.0 * thousands));
    (void)printf("kernel %d 0\n", 1000 * thousands + LAUNCHES + DIRECT + NODES);
}

static void at_once(void)
{
    settle();
    _exit(0);
}

static void destroy(void)
{
    context_end(CUPTI_DOMAIN_DRIVER, "cuCtxDestroy");
}

static void release(void)
{
    context_end(CUPTI_DOMAIN_DRIVER, "cuDevicePrimaryCtxRelease");
}

static void reset(void)
{
    context_end(CUPTI_DOMAIN_RUNTIME, "cudaDeviceReset");
}

static void unknown(void)
{
    struct cupti_record record = {.kind = 41};

    mock_emit_any(&record, sizeof(record));
}

static void takeover(void)
{
    wait_for(is_taken_over, 6); /* by then it was another clock's */
}

static void later(void)
{
    settle();
    launches(400);
}

static void term(void)
{
    (void)raise(SIGTERM);
}

static void quick(void)
{
    settle();
    quick_exit(0);
}

static void killed(void)
{
    paced();
    (void)raise(SIGKILL);
}

static void flood(void)
{
    launches(150000);
}

static const struct {
    const char *name;
    void (*play)(void);
} hows[] = {
    {"_exit", at_once},      {"destroy", destroy},
    {"release", release},    {"reset", reset},
    {"fork", fork_child},    {"abort", abort},
    {"fatal", mock_fatal},   {"unknown", unknown},
    {"takeover", takeover},  {"steal", steal},
    {"later", later},        {"rival", rival},
    {"share", share},        {"held", held},
    {"term", term},          {"cost", cost},
    {"names", names},        {"again", again},
    {"racing", racing},      {"other", other},
    {"quick", quick},        {"capture", capture},
    {"hold", hold},          {"replay", replay},
    {"paced", paced},        {"graphs", graphs},
    {"kill", killed},        {"flood", flood},
    {"memory", memory_play}, {"memory_late", memory_late},
};

static void end_as(const char *how)
{
    for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
        if (strcmp(how, hows[i].name) == 0) {
            hows[i].play();
        }
    }
    exit(0);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t others[THREADS];

    if (atexit(forbidden_check) != 0) {
        return 6;
    }
    injection_load();
    init_end();
    identity_emit();
    if (argc > 2 && strcmp(argv[2], "marks") == 0) {
        marks(100);
        return 0;
    }
    for (int i = 1; i < threads && i < THREADS; i++) {
        if (pthread_create(&others[i], NULL, thread_main, NULL) != 0) {
            return 6;
        }
    }
    (void)thread_main(NULL);
    for (int i = 1; i < threads && i < THREADS; i++) {
        (void)pthread_join(others[i], NULL);
    }
    if (argc > 3 && strcmp(argv[2], "training") == 0) {
        training(atoi(argv[3]), argc > 4 ? argv[4] : "");
        return 0;
    }
    rest_emit();
    end_as(argc > 2 ? argv[2] : "exit");
    return 0;
}
