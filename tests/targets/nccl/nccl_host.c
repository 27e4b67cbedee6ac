/* nccl_host.c - plays NCCL: communicators, their kernels, and its events
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     nccl_host VERSION [HOW]
 *
 * Loads CUDA_INJECTION64_PATH as CUDA's driver does, and NCCL_PROFILER_PLUGIN
 * as NCCL does ("none": no plug-in); VERSION (1 to 6) is the one taken of it.
 * The rank and the size of the world are those of the launcher's variables, or
 * 0 of 1. Each rank is in a communicator of all and in one of its stage: the
 * first half of the ranks, or the second, which does all 5 ms later. HOW:
 *     steps      (default) 60 times: a kernel, and an AllReduce in the stage;
 *                each fourth time one of all; rank 1 is 2 ms late each time
 *     groups     two of the stage in one group of calls and one launch, then
 *                two in two launches, then one AllReduce and a send
 *     graph      an AllReduce, tasks of one of a graph on another thread, and
 *                an AllReduce
 *     threads    16 threads, each with a communicator of its own, 500 each
 *     mixed      an AllReduce, a send, an AllReduce, a send and an AllReduce in
 *                one group, an AllReduce
 *     captured   an AllReduce that is captured as often as the rank's number
 *                + 1, then one that is not
 *     nonblocking  groups of calls whose launches are on other threads
 *     engines    an AllGather by copy engines, a send, an AllReduce
 *     hostile    events in orders that NCCL does not have, of communicators
 *                that are over, and of no communicator
 *     differ     10 AllReduce, then rank 1 calls another one, or a
 *                ReduceScatter (NCCL_HOST_DIFFER is bytes, type, root, call or
 *                skip)
 * Kernels of a collective end together, by the clock of the machine: each rank
 * knows when all have begun, for all do what they do at times that are agreed
 * on in the file NCCL_HOST_START.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/inject/nccl/ncclabi.h"
#include "tests/targets/cupti/mockcupti.h"

#define STEPS 60
#define STEP 10000000u /* ns from one to the next */
#define APART 5000000u /* of the stages */
#define LATE 2000000u  /* rank 1 */
#define THREADS 16
#define THREAD_CALLS 500
#define FLOATS 1024

struct comm {
    void *context;
    int mask;
    uint64_t hash;
};

static int version, rank, size;
static const struct nccl_profiler_1 *plugin; /* all begin alike */
static struct comm world, stage;
static _Atomic uint32_t next_correlation = 100;

static void *symbol_of(const char *variable, const char *name)
{
    const char *path = getenv(variable);
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, name);

    if (symbol == NULL) {
        (void)fprintf(stderr, "nccl_host: %s: %s\n", variable, dlerror());
        exit(3);
    }
    return symbol;
}

static int variable_of(const char *const names[], int other)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (getenv(names[i]) != NULL) {
            return atoi(getenv(names[i]));
        }
    }
    return other;
}

static void comm_init(struct comm *comm, uint64_t hash, int ranks)
{
    const void *init = plugin == NULL ? NULL : &plugin->init;
    nccl_init_4_f *init_4;
    nccl_init_5_f *init_5; /* and 6 */

    comm->hash = hash;
    if (plugin == NULL) {
        return;
    }
    memcpy(&init_4, init, sizeof(init_4));
    memcpy(&init_5, init, sizeof(init_5));
    if (version < 4) {
        (void)plugin->init(&comm->context, &comm->mask);
    } else if (version == 4) {
        (void)init_4(&comm->context, &comm->mask, NULL, hash, 1, ranks, 0,
                     NULL);
    } else {
        (void)init_5(&comm->context, hash, &comm->mask, NULL, 1, ranks, 0,
                     NULL);
    }
}

static void *start(const struct comm *comm, struct nccl_event *event)
{
    void *handle = NULL;

    if (plugin == NULL) {
        return NULL;
    }
    /* Before version 5 a byte, and what follows it is anything. */
    event->type |= version < 5 ? 0x4242424242424200u : 0;
    (void)plugin->start(comm->context, &handle, event);
    return handle;
}

static void *start_type(const struct comm *comm, uint64_t type)
{
    struct nccl_event event = {.type = type};

    return start(comm, &event);
}

static void stop(void *handle)
{
    if (handle != NULL) {
        (void)plugin->stop(handle);
    }
}

static void *coll_start(const struct comm *comm)
{
    struct nccl_event event = {.type = NCCL_COLL};

    switch (version) {
    case 1:
        event.coll_1 = (struct nccl_coll_1){.hash = comm->hash,
                                            .function = 4,
                                            .count = FLOATS,
                                            .type = 7,
                                            .algorithm = 1,
                                            .protocol = 2};
        break;
    case 2:
        event.coll_2 = (struct nccl_coll_2){.hash = comm->hash,
                                            .function = "AllReduce",
                                            .count = FLOATS,
                                            .type = "ncclFloat32",
                                            .algorithm = "RING",
                                            .protocol = "SIMPLE"};
        break;
    case 3:
        event.coll_3 = (struct nccl_coll_3){.hash = comm->hash,
                                            .function = "AllReduce",
                                            .count = FLOATS,
                                            .type = "ncclFloat32",
                                            .algorithm = "RING",
                                            .protocol = "SIMPLE"};
        break;
    default:
        event.coll_4 = (struct nccl_coll_4){.function = "AllReduce",
                                            .count = FLOATS,
                                            .type = "ncclFloat32",
                                            .algorithm = "RING",
                                            .protocol = "SIMPLE"};
    }
    return start(comm, &event);
}

static void *p2p_start(const struct comm *comm)
{
    struct nccl_event event = {.type = NCCL_P2P};

    if (version == 1) {
        event.p2p_1 = (struct nccl_p2p_1){.hash = comm->hash,
                                          .function = 6,
                                          .count = FLOATS,
                                          .type = 9,
                                          .peer = 1};
    } else if (version < 4) {
        event.p2p_2 = (struct nccl_p2p_2){.hash = comm->hash,
                                          .function = "Send",
                                          .count = FLOATS,
                                          .type = "ncclBfloat16",
                                          .peer = 1};
    } else {
        event.p2p_4 = (struct nccl_p2p_4){.function = "Send",
                                          .count = FLOATS,
                                          .type = "ncclBfloat16",
                                          .peer = 1};
    }
    return start(comm, &event);
}

/* A kernel is launched; its record comes now. */
static void kernel(const char *name, uint64_t begin, uint64_t end)
{
    uint32_t id = atomic_fetch_add(&next_correlation, 1);
    struct cupti_kernel record = {.kind = CUPTI_KIND_KERNEL,
                                  .registers = 32,
                                  .start = begin,
                                  .end = end,
                                  .context = 1,
                                  .stream = 7,
                                  .dynamic_shared = 512,
                                  .correlation = id,
                                  .name = name};

    mock_call(CUPTI_DOMAIN_DRIVER, "cuLaunchKernel", CUPTI_ENTER, id);
    mock_call(CUPTI_DOMAIN_DRIVER, "cuLaunchKernel", CUPTI_EXIT, id);
    mock_emit(&record, sizeof(record));
}

/* As copy engines move data between devices. */
static void copies(uint64_t begin, int count)
{
    for (int i = 0; i < count; i++) {
        uint32_t id = atomic_fetch_add(&next_correlation, 1);
        struct cupti_peer record = {.kind = CUPTI_KIND_MEMCPY2,
                                    .bytes = FLOATS,
                                    .start = begin + (uint64_t)i * 100,
                                    .end = begin + (uint64_t)i * 100 + 90,
                                    .context = 1,
                                    .stream = 7,
                                    .correlation = id};

        mock_call(CUPTI_DOMAIN_DRIVER, "cuMemcpyBatchAsync", CUPTI_ENTER, id);
        mock_call(CUPTI_DOMAIN_DRIVER, "cuMemcpyBatchAsync", CUPTI_EXIT, id);
        mock_emit(&record, sizeof(record));
    }
}

/* What a collective is called with. */
struct call {
    const char *function, *type;
    size_t count;
    int root;
    bool is_captured;
};
static const struct call usual = {"AllReduce", "ncclFloat32", FLOATS, 0, false};

static void call_of(const struct comm *comm, const struct call *call)
{
    struct nccl_event event = {.type = NCCL_COLL_API};

    event.coll_api = (struct nccl_coll_api){.function = call->function,
                                            .count = call->count,
                                            .type = call->type,
                                            .root = call->root,
                                            .is_captured = call->is_captured};
    if (version >= 5 && (comm->mask & NCCL_COLL_API) != 0) {
        stop(start(comm, &event));
    }
}

static void call_api(const struct comm *comm)
{
    call_of(comm, &usual);
}

static void group_begin(const struct comm *comm)
{
    if (version >= 5 && (comm->mask & NCCL_GROUP_API) != 0) {
        stop(start_type(comm, NCCL_GROUP_API));
    }
}

static void send_api(const struct comm *comm)
{
    if (version >= 5 && (comm->mask & NCCL_P2P_API) != 0) {
        stop(start_type(comm, NCCL_P2P_API));
    }
}

/* What is behind a launch of `tasks` collectives, or of a graph. */
static void tasks_tell(const struct comm *comm, int tasks, bool has_send)
{
    void *group = start_type(comm, NCCL_GROUP);
    void *handles[3] = {NULL, NULL, NULL};

    for (int i = 0; i < tasks; i++) {
        handles[i] = coll_start(comm);
    }
    handles[2] = has_send ? p2p_start(comm) : NULL;
    for (int i = 0; i < 3; i++) {
        stop(handles[i]);
    }
    stop(group);
}

static void plan(const struct comm *comm,
                 int tasks,
                 bool has_send,
                 uint64_t begin,
                 uint64_t end)
{
    void *launch = version >= 5 && (comm->mask & NCCL_KERNEL_LAUNCH) != 0
                       ? start_type(comm, NCCL_KERNEL_LAUNCH)
                       : NULL;

    kernel(has_send && tasks == 0
               ? "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
               : "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs"
                 "Storage<4096ul>)",
           begin, end);
    stop(launch);
    tasks_tell(comm, tasks, has_send);
}

static void all_reduce(const struct comm *comm, uint64_t begin, uint64_t end)
{
    group_begin(comm);
    call_api(comm);
    plan(comm, 1, false, begin, end);
}

static uint64_t raw_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t lateness(int of)
{
    return of == 1 ? LATE : 0;
}

/* When the first step begins, from rank 0's file NCCL_HOST_START. */
static uint64_t first_step(void)
{
    const char *path = getenv("NCCL_HOST_START");
    uint64_t first = raw_ns() + 1000000000u;
    char other[4096];
    FILE *file;

    if (path == NULL || size == 1) {
        return first;
    }
    (void)snprintf(other, sizeof(other), "%s.new", path);
    file = rank == 0 ? fopen(other, "w") : NULL;
    if (file != NULL) {
        (void)fwrite(&first, sizeof(first), 1, file);
        (void)fclose(file);
        (void)rename(other, path);
    }
    while ((file = fopen(path, "r")) == NULL) {
        (void)usleep(1000);
    }
    if (fread(&first, sizeof(first), 1, file) != 1) {
        exit(7);
    }
    (void)fclose(file);
    return first;
}

/* Times by the machine's clock; that of CUPTI may be another one. */
static void steps(void)
{
    uint64_t first = first_step();
    uint64_t shift = rank < (size + 1) / 2 ? 0 : APART;

    for (int i = 0; i < STEPS; i++) {
        bool is_all = i % 4 == 3 && size > 1;
        uint64_t at = first + (uint64_t)i * STEP;
        uint64_t clock, begin, end;

        at += is_all ? APART : shift;
        while (raw_ns() < at + STEP) {
            (void)usleep(200);
        }
        clock = mock_clock() - raw_ns(); /* which may be another one */
        begin = at + 1000000 + lateness(rank);
        end = at + 1000000 + lateness(is_all || shift == 0 ? 1 : 0) + 300000;
        kernel("gemm", clock + at, clock + begin - 10000);
        all_reduce(is_all ? &world : &stage, clock + begin, clock + end);
    }
}

static void groups(void)
{
    uint64_t now = mock_clock();

    group_begin(&stage);
    call_api(&stage);
    call_api(&stage);
    plan(&stage, 2, false, now, now + 1000);
    group_begin(&stage);
    call_api(&stage);
    call_api(&stage);
    plan(&stage, 1, false, now + 2000, now + 3000);
    plan(&stage, 1, false, now + 4000, now + 5000);
    all_reduce(&stage, now + 6000, now + 7000);
    group_begin(&stage);
    send_api(&stage);
    plan(&stage, 0, true, now + 8000, now + 9000);
    kernel("gemm", now + 10000, now + 11000);
    all_reduce(&world, now + 12000, now + 13000);
}

static void *graph_main(void *unused)
{
    tasks_tell(&stage, 1, false);
    return unused;
}

static void graph(void)
{
    uint64_t now = mock_clock();
    pthread_t thread;

    all_reduce(&stage, now, now + 1000);
    if (pthread_create(&thread, NULL, graph_main, NULL) != 0) {
        exit(6);
    }
    (void)pthread_join(thread, NULL);
    all_reduce(&stage, now + 2000, now + 3000);
}

static void send_one(const struct comm *comm, uint64_t begin)
{
    group_begin(comm);
    send_api(comm);
    plan(comm, 0, true, begin, begin + 1000);
}

static void mixed(void)
{
    uint64_t now = mock_clock();

    all_reduce(&stage, now, now + 1000);
    send_one(&stage, now + 2000);
    all_reduce(&stage, now + 4000, now + 5000);
    group_begin(&stage);
    send_api(&stage);
    call_api(&stage);
    plan(&stage, 1, true, now + 6000, now + 7000);
    all_reduce(&stage, now + 8000, now + 9000);
}

static void captured(void)
{
    struct call call = usual;
    uint64_t now = mock_clock();

    call.is_captured = true;
    for (int i = 0; i <= rank; i++) {
        group_begin(&stage);
        call_of(&stage, &call);
    }
    all_reduce(&stage, now, now + 1000);
}

static void engines(void)
{
    struct nccl_event event = {.type = NCCL_CE_COLL};
    struct call call = usual;
    uint64_t now = mock_clock();

    event.coll_ce = (struct nccl_coll_4){.number = 1,
                                         .function = "AllGather",
                                         .count = FLOATS,
                                         .type = "ncclInt8"};
    call.function = "AllGather";
    group_begin(&stage);
    call_of(&stage, &call);
    if ((stage.mask & NCCL_CE_COLL) != 0) {
        stop(start(&stage, &event));
    }
    copies(now, 4);
    send_one(&stage, now + 2000);
    all_reduce(&stage, now + 4000, now + 5000);
}

/* Communicators that do not block: a thread of NCCL's launches. */
static void *launch_main(void *of)
{
    plan(of, 1, false, mock_clock(), mock_clock() + 1000);
    return NULL;
}

static void launch_apart(struct comm *comm)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, launch_main, comm) != 0) {
        exit(6);
    }
    (void)pthread_join(thread, NULL);
}

/* One group of calls of two communicators, then one of each. */
static void nonblocking(void)
{
    group_begin(&stage);
    call_api(&stage);
    call_api(&world);
    call_api(&stage);
    launch_apart(&stage);
    launch_apart(&world);
    group_begin(&world);
    call_api(&world);
    launch_apart(&world);
    group_begin(&stage);
    call_api(&stage);
    launch_apart(&stage);
}

/* A launch of nothing, two ends, ends before beginnings, calls of what is over,
 * of what never was, of unknown types. */
static void hostile(void)
{
    struct nccl_event event = {.type = 1u << 31};
    struct comm none = {NULL, stage.mask, 1}, over = {NULL, 0, 2};
    uint64_t now = mock_clock();
    void *handle;

    comm_init(&over, 2, 2);
    all_reduce(&over, now, now + 1000);
    (void)plugin->finalize(over.context);
    all_reduce(&over, now + 2000, now + 3000);
    (void)plugin->finalize(over.context);
    (void)plugin->finalize(NULL);
    all_reduce(&none, now + 4000, now + 5000);
    stop(start(&stage, &event));
    stop(start_type(&stage, 0));
    (void)plugin->state(NULL, 99, NULL);
    handle = version >= 5 ? start_type(&stage, NCCL_KERNEL_LAUNCH) : NULL;
    stop(handle);
    stop(handle);
    for (int i = 0; i < 3000; i++) {
        struct comm many = {NULL, 0, 0};

        comm_init(&many, 100 + (uint64_t)i % 7, 2);
        (void)plugin->finalize(many.context);
    }
    event.type = NCCL_COLL_API; /* without any text */
    if (version >= 5) {
        stop(start(&stage, &event));
    }
    all_reduce(&stage, now + 6000, now + 7000);
}

/* Rank 1 calls the last one otherwise, or not at all; then no rank goes on. */
static void differ(void)
{
    const char *how = getenv("NCCL_HOST_DIFFER");
    struct call call = usual;

    for (int i = 0; i < 10; i++) {
        uint64_t now = mock_clock();

        all_reduce(&world, now, now + 100000);
        (void)usleep(2000);
    }
    how = rank == 1 && how != NULL ? how : "";
    if (strcmp(how, "bytes") == 0) {
        call.count *= 2;
    } else if (strcmp(how, "type") == 0) {
        call.type = "ncclInt32";
    } else if (strcmp(how, "call") == 0) {
        call.function = "ReduceScatter";
    }
    if (getenv("NCCL_HOST_ROOT") != NULL) {
        call.function = "Broadcast";
        call.root = strcmp(how, "root") == 0 ? 2 : 0;
    }
    if (strcmp(how, "skip") != 0) {
        group_begin(&world);
        call_of(&world, &call);
    }
    if (getenv("NCCL_HOST_HANG") != NULL) { /* until a watchdog ends it */
        (void)sleep(rank == 0 ? 5 : 60);
        abort();
    }
}

static void *thread_main(void *of)
{
    struct comm comm = {NULL, 0, 0};

    comm_init(&comm, 1000 + (uint64_t)(uintptr_t)of, 1);
    for (int i = 0; i < THREAD_CALLS; i++) {
        uint64_t now = mock_clock();

        all_reduce(&comm, now, now + 100);
        kernel("gemm", now + 100, now + 200);
    }
    (void)plugin->finalize(comm.context);
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pthread_create(&all[i], NULL, thread_main, (void *)i) != 0) {
            exit(6);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(all[i], NULL);
    }
}

static void cuda_load(void)
{
    static char *volatile device_name; /* freed by its taker, or not at all */
    void *symbol = symbol_of("CUDA_INJECTION64_PATH", "InitializeInjection");
    struct cupti_device device = {
        .kind = CUPTI_KIND_DEVICE, .units = 132, .capability_major = 9};
    int (*inject)(void);

    memcpy(&inject, &symbol, sizeof(symbol));
    if (inject() != 1) {
        exit(4);
    }
    device.uuid.bytes[0] = (uint8_t)(rank + 1);
    device.name = device_name = strdup("Mock GPU");
    mock_emit(&device, sizeof(device));
}

/* As NCCL understands it. */
static bool is_unwanted(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");

    return path == NULL || strcmp(path, "none") == 0;
}

static const struct {
    const char *how;
    void (*play)(void);
} plays[] = {{"steps", steps},     {"groups", groups},
             {"graph", graph},     {"threads", threads},
             {"mixed", mixed},     {"captured", captured},
             {"engines", engines}, {"hostile", hostile},
             {"differ", differ},   {"nonblocking", nonblocking}};

int main(int argc, char **argv)
{
    static const char *const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", NULL};
    static const char *const sizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE",
                                        NULL};
    const char *how = argc > 2 ? argv[2] : "steps";
    char name[32];
    int half;

    version = argc > 1 ? atoi(argv[1]) : 5;
    rank = variable_of(ranks, 0);
    size = variable_of(sizes, 1);
    half = rank < (size + 1) / 2 ? (size + 1) / 2 : size / 2;
    cuda_load();
    (void)snprintf(name, sizeof(name), "ncclProfiler_v%d", version);
    if (!is_unwanted()) {
        plugin = symbol_of("NCCL_PROFILER_PLUGIN", name);
    }
    comm_init(&world, 0xa11, size);
    comm_init(&stage, 0x57a9e0 + (rank >= (size + 1) / 2), half);
    for (size_t i = 0; i < sizeof(plays) / sizeof(plays[0]); i++) {
        if (strcmp(how, plays[i].how) == 0) {
            plays[i].play();
        }
    }
    if (plugin != NULL) {
        (void)plugin->finalize(stage.context);
        (void)plugin->finalize(world.context);
    }
    return 0;
}
