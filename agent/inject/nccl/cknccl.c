/* cknccl.c - communicators and collectives of NCCL, as its profiler plug-in
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * NCCL opens this library by NCCL_PROFILER_PLUGIN when the first communicator
 * is made, and calls the functions of the newest version that it knows. Each
 * collective and message is a record. ckcupti learns which communicator a
 * kernel is of (nccllink.h), and the collective's number there, which is the
 * same on all ranks:
 *
 *     version 5   KERNEL_LAUNCH is around the launch. Its number is that of the
 *                 last COLL_API, which each rank calls in the same order, and
 *                 the launch behind it: a group of calls may need several.
 *     1 to 4      GROUP and the COLL of each of its collectives come on the
 *                 launching thread right behind the launch; the number counts
 *                 these groups. One that comes without a launch is of a graph,
 *                 on another thread at any time: from then on the communicator
 *                 has no numbers.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/inject.h"
#include "agent/inject/nccl/ncclabi.h"
#include "agent/inject/nccllink.h"

#define EXPORT __attribute__((visibility("default")))

/* Launches behind one collective call that have numbers of their own. */
#define LAUNCHES_EACH 64

struct comm {
    struct inject_text *group; /* its NAME; NULL = not known yet */
    _Atomic uint32_t number;   /* collectives so far; before 5 their groups */
    _Atomic uint32_t launches; /* since the last one */
    _Atomic int is_unnumbered;
};

/* A thread waits so often for another one that starts the library. */
#define START_YIELDS 100000

/* Before version 5: a GROUP began on this thread, and none of its tasks. */
static __thread bool is_group_new;

/* What an event says, whatever its version. */
struct task {
    const char *function, *algorithm, *protocol;
    uint64_t number; /* of a message: the peer */
    uint64_t bytes;
    uint64_t hash; /* of its communicator, 0 = said before */
    bool is_message;
};

static const struct nccl_link *link;

static void link_find(void)
{
    void *library = dlopen(NCCL_LINK_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    void *symbol = library == NULL ? NULL : dlsym(library, NCCL_LINK);
    nccl_link_f *get;

    if (symbol != NULL) {
        memcpy(&get, &symbol, sizeof(get));
        link = get();
    }
}

static void group_name(struct comm *comm, uint64_t hash, int ranks)
{
    char text[96];
    int at = snprintf(text, sizeof(text), "communicator=%016llx\n",
                      (unsigned long long)hash);

    if (ranks > 0) {
        (void)snprintf(text + at, sizeof(text) - (size_t)at, "size=%d\n",
                       ranks);
    }
    comm->group = inject_text_find(text);
    if (comm->group != NULL && inject_writer() != NULL) {
        (void)inject_text_number(comm->group);
    }
}

static void library_start(int version)
{
    char text[96];

    inject_load(CK_LIBRARY_NCCL);
    link_find();
    (void)snprintf(text, sizeof(text),
                   "NCCL's communicators by its profiler plug-in, version %d",
                   version);
    if (inject_writer() != NULL) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
    }
}

/* Communicators may be made by several threads at once: each returns when the
 * first one has started the library. A child of fork() in between does not wait
 * for ever for a thread that it does not have. */
static void library_start_once(int version)
{
    static _Atomic int state; /* 1: is being started, 2: is */
    int none = 0;

    if (atomic_compare_exchange_strong(&state, &none, 1)) {
        library_start(version);
        atomic_store(&state, 2);
    }
    for (int i = 0; i < START_YIELDS && atomic_load(&state) != 2; i++) {
        (void)sched_yield();
    }
}

/* Without an agent nothing is asked for. NCCL has one mask for all
 * communicators: it is written once complete, and never taken back. */
static struct comm *comm_create(int version, int *mask)
{
    struct comm *comm;

    library_start_once(version);
    comm = inject_writer() == NULL ? NULL : calloc(1, sizeof(*comm));
    if (comm != NULL) {
        *mask = NCCL_COLL | NCCL_P2P |
                (version < 5 ? NCCL_GROUP : NCCL_COLL_API | NCCL_KERNEL_LAUNCH);
    }
    return comm;
}

/* ---- what is recorded ---------------------------------------------------- */

static void task_write(const struct comm *comm, const struct task *task)
{
    struct ck_ring_writer *writer = inject_writer();
    uint32_t group = writer == NULL || comm->group == NULL
                         ? 0
                         : inject_text_number(comm->group);
    uint32_t name;
    struct ck_call *record;
    char text[96];

    if (writer == NULL) {
        return;
    }
    (void)snprintf(text, sizeof(text), "nccl%s%s%s%s%s", task->function,
                   task->algorithm[0] == '\0' ? "" : " ", task->algorithm,
                   task->protocol[0] == '\0' ? "" : " ", task->protocol);
    name = inject_text_id(text);
    record = ck_ring_begin(writer, inject_ring.clock, 2);
    if (record == NULL) {
        return;
    }
    memset(record, 0, sizeof(*record));
    record->e.kind = CK_KIND_NCCL;
    record->e.units = 2;
    record->e.name = name;
    record->e.start = inject_now();
    record->bytes = task->bytes;
    record->arg = task->number;
    record->extra = group;
    ck_ring_commit(writer, 2);
}

static struct nccl_group group_of(const struct comm *comm, uint32_t number)
{
    return (struct nccl_group){comm->group == NULL || inject_writer() == NULL
                                   ? 0
                                   : inject_text_number(comm->group),
                               atomic_load(&comm->is_unnumbered) != 0 ? 0
                                                                      : number};
}

/* Before version 5: the kernel was launched just now. */
static void task_launched(struct comm *comm, const struct task *task)
{
    uint32_t number = atomic_load(&comm->number) + 1;

    if (link == NULL || !is_group_new) {
        return;
    }
    is_group_new = false;
    if (task->is_message) {
        (void)link->launched(group_of(comm, 0));
    } else if (link->launched(group_of(comm, number))) {
        atomic_store(&comm->number, number);
    } else {
        atomic_store(&comm->is_unnumbered, 1);
    }
}

/* ---- what an event says -------------------------------------------------- */

static const char *const functions[] = {
    "Broadcast", "Reduce",   "AllGather", "ReduceScatter",
    "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const algorithms[] = {
    "TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
    "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};
static const uint8_t type_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

#define TEXT_OF(table, number)                                                 \
    ((number) < sizeof(table) / sizeof((table)[0]) ? (table)[number] : "")

static uint64_t bytes_of(const char *type)
{
    const char *digits = type == NULL ? "" : type + strcspn(type, "0123456789");
    uint64_t bits = strtoul(digits, NULL, 10);

    /* ncclFloat8e4m3 has 8, ncclBfloat16 16. */
    return bits / 8;
}

static const char *text_or(const char *text)
{
    return text == NULL ? "" : text;
}

static struct task coll_1(const struct nccl_coll_1 *coll)
{
    return (struct task){TEXT_OF(functions, coll->function),
                         TEXT_OF(algorithms, coll->algorithm),
                         TEXT_OF(protocols, coll->protocol),
                         coll->number,
                         coll->count * (coll->type < sizeof(type_bytes)
                                            ? type_bytes[coll->type]
                                            : 1),
                         coll->hash,
                         false};
}

static struct task p2p_1(const struct nccl_p2p_1 *p2p)
{
    return (struct task){TEXT_OF(functions, p2p->function),
                         "",
                         "",
                         (uint64_t)p2p->peer,
                         p2p->count * (p2p->type < sizeof(type_bytes)
                                           ? type_bytes[p2p->type]
                                           : 1),
                         p2p->hash,
                         true};
}

/* Of versions 2 to 5 the members have the same names. */
#define COLL_OF(coll, comm_hash)                                               \
    ((struct task){text_or((coll)->function), text_or((coll)->algorithm),      \
                   text_or((coll)->protocol), (coll)->number,                  \
                   (coll)->count * bytes_of((coll)->type), (comm_hash),        \
                   false})
#define P2P_OF(p2p, comm_hash)                                                 \
    ((struct task){text_or((p2p)->function), "", "", (uint64_t)(p2p)->peer,    \
                   (p2p)->count * bytes_of((p2p)->type), (comm_hash), true})

static void
task_take(struct comm *comm, const struct task *task, bool has_launch_events)
{
    if (comm->group == NULL && task->hash != 0) {
        group_name(comm, task->hash, 0);
    }
    if (!has_launch_events) {
        task_launched(comm, task);
    }
    task_write(comm, task);
}

/* Of versions in which the type is a byte: is it a task? A group has a handle,
 * without which some versions tell nothing of its tasks. */
static bool
start_begin(void *context, void **handle, const struct nccl_event *event)
{
    uint8_t type = *(const uint8_t *)event;

    *handle = type == NCCL_GROUP ? context : NULL;
    is_group_new = is_group_new || type == NCCL_GROUP;
    return context != NULL && (type & (NCCL_COLL | NCCL_P2P)) != 0;
}

static bool is_coll(const struct nccl_event *event)
{
    return *(const uint8_t *)event == NCCL_COLL;
}

#define START_OF(version, coll, p2p)                                           \
    static int start_##version(void *context, void **handle,                   \
                               const struct nccl_event *event)                 \
    {                                                                          \
        if (start_begin(context, handle, event)) {                             \
            struct task task = is_coll(event) ? (coll) : (p2p);                \
                                                                               \
            task_take(context, &task, false);                                  \
        }                                                                      \
        return 0;                                                              \
    }
START_OF(1, coll_1(&event->coll_1), p2p_1(&event->p2p_1))
START_OF(2,
         COLL_OF(&event->coll_2, event->coll_2.hash),
         P2P_OF(&event->p2p_2, event->p2p_2.hash))
START_OF(3,
         COLL_OF(&event->coll_3, event->coll_3.hash),
         P2P_OF(&event->p2p_2, event->p2p_2.hash))
START_OF(4, COLL_OF(&event->coll_4, 0), P2P_OF(&event->p2p_4, 0))

static void launch_begin(struct comm *comm)
{
    uint32_t launches = atomic_fetch_add(&comm->launches, 1);
    uint32_t number = atomic_load(&comm->number);

    if (link != NULL) {
        link->begin(group_of(comm, launches < LAUNCHES_EACH
                                       ? number * LAUNCHES_EACH + launches + 1
                                       : 0));
    }
}

static int start_5(void *context, void **handle, const struct nccl_event *event)
{
    struct comm *comm = context;
    struct task task;

    *handle = NULL;
    if (comm == NULL) {
        return 0;
    }
    if (event->type == NCCL_COLL_API) {
        atomic_fetch_add(&comm->number, 1);
        atomic_store(&comm->launches, 0);
    } else if (event->type == NCCL_KERNEL_LAUNCH) {
        launch_begin(comm);
        *handle = comm; /* the only event that has an end here */
    } else if (event->type == NCCL_COLL || event->type == NCCL_P2P) {
        task = event->type == NCCL_COLL ? COLL_OF(&event->coll_4, 0)
                                        : P2P_OF(&event->p2p_4, 0);
        task_take(comm, &task, true);
    }
    return 0;
}

static int stop(void *handle)
{
    if (handle != NULL && link != NULL) {
        link->begin((struct nccl_group){0, 0});
    }
    return 0;
}

static int state(void *handle, int number, void *arguments)
{
    (void)handle;
    (void)number;
    (void)arguments;
    return 0;
}

static int finalize(void *context)
{
    free(context);
    return 0;
}

/* ---- what NCCL looks up -------------------------------------------------- */

#define INIT_OF(version)                                                       \
    static int init_##version(void **context, int *mask)                       \
    {                                                                          \
        *context = comm_create(version, mask);                                 \
        return 0;                                                              \
    }
INIT_OF(1)
INIT_OF(2)
INIT_OF(3)

static int
init_named(int version, void **context, int *mask, uint64_t hash, int ranks)
{
    struct comm *comm = comm_create(version, mask);

    if (comm != NULL) {
        group_name(comm, hash, ranks);
    }
    *context = comm;
    return 0;
}

static int init_4(void **context,
                  int *mask,
                  const char *name,
                  uint64_t hash,
                  int nodes,
                  int ranks,
                  int rank,
                  void *log)
{
    (void)name;
    (void)nodes;
    (void)rank;
    (void)log;
    return init_named(4, context, mask, hash, ranks);
}

static int init_5(void **context,
                  uint64_t hash,
                  int *mask,
                  const char *name,
                  int nodes,
                  int ranks,
                  int rank,
                  void *log)
{
    (void)name;
    (void)nodes;
    (void)rank;
    (void)log;
    return init_named(5, context, mask, hash, ranks);
}

#define PROFILER(version, init)                                                \
    {                                                                          \
        "ck", init, start_##version, stop, state, finalize                     \
    }
EXPORT extern const struct nccl_profiler_1 ncclProfiler_v1, ncclProfiler_v2,
    ncclProfiler_v3;
EXPORT extern const struct nccl_profiler_4 ncclProfiler_v4;
EXPORT extern const struct nccl_profiler_5 ncclProfiler_v5;
const struct nccl_profiler_1 ncclProfiler_v1 = PROFILER(1, init_1);
const struct nccl_profiler_1 ncclProfiler_v2 = PROFILER(2, init_2);
const struct nccl_profiler_1 ncclProfiler_v3 = PROFILER(3, init_3);
const struct nccl_profiler_4 ncclProfiler_v4 = PROFILER(4, init_4);
const struct nccl_profiler_5 ncclProfiler_v5 = PROFILER(5, init_5);
