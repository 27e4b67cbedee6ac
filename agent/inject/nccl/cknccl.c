/* cknccl.c - communicators and collectives of NCCL, as its profiler plug-in
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * NCCL opens this library by NCCL_PROFILER_PLUGIN when the first communicator
 * is made, and calls the functions of the newest version that it knows. Each
 * call of a collective is a record, and each collective and message that is put
 * on a device. ckcupti learns which communicator a kernel is of (nccllink.h),
 * and the collective's number there, which is the same on all ranks:
 *
 *     5 and 6     COLL_API and P2P_API are calls, KERNEL_LAUNCH is around the
 *                 launch (ncclorder.h). From 6 on CE_COLL is a collective that
 *                 copy engines do, without a kernel.
 *     1 to 4      GROUP and the COLL of each of its collectives come on the
 *                 launching thread right behind the launch; the number counts
 *                 these groups, and not those of messages alone. One that comes
 *                 without a launch is of a graph, on another thread at any
 *                 time: from then on the communicator has no numbers.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/inject.h"
#include "agent/inject/nccl/ncclabi.h"
#include "agent/inject/nccl/ncclorder.h"
#include "agent/inject/nccllink.h"

#define EXPORT __attribute__((visibility("default")))

/* Communicators that are over and are kept: a late callback, of a graph or of
 * another thread, finds memory that is its own. */
#define RETIRED_MAX 1024

struct comm {
    struct inject_text *group;         /* its NAME; NULL = not known yet */
    _Atomic(struct inject_text *) age; /* the same, of later numbers */
    _Atomic uint64_t ages;             /* which later ones: number >> 32 */
    uint64_t hash;
    int ranks; /* 0 = not known */
    struct order order;
    _Atomic uint64_t number; /* before 5: groups with collectives so far, */
    _Atomic uint64_t calls;  /* and collectives */
    _Atomic int is_unnumbered;
    _Atomic int is_over;
};

/* Before version 5: a GROUP began on this thread, and none of its tasks. */
static __thread bool is_group_new;
static __thread bool is_group_known; /* by task_launched() */

/* The fields of an event, whatever its version. */
struct task {
    const char *function, *algorithm, *protocol, *type;
    uint64_t number; /* of a message: the peer */
    uint32_t root;   /* of those that have one, else UINT32_MAX */
    uint64_t bytes;
    uint64_t hash; /* of its communicator, 0 = recorded before */
    bool is_message;
};

static _Atomic(const struct nccl_link *) link;

/* ckcupti, if it is here by now. */
static void link_find(void)
{
    void *library = atomic_load(&link) != NULL
                        ? NULL
                        : dlopen(NCCL_LINK_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    void *symbol = library == NULL ? NULL : dlsym(library, NCCL_LINK);
    nccl_link_f *get;

    if (symbol != NULL) {
        memcpy(&get, &symbol, sizeof(get));
        atomic_store(&link, get());
    }
}

static struct inject_text *group_text(const struct comm *comm, uint64_t age)
{
    char text[128];
    int at = snprintf(text, sizeof(text), "communicator=%016llx\n",
                      (unsigned long long)comm->hash);

    if (comm->ranks > 0) {
        at += snprintf(text + at, sizeof(text) - (size_t)at, "size=%d\n",
                       comm->ranks);
    }
    if (age > 0) {
        (void)snprintf(text + at, sizeof(text) - (size_t)at, "part=%llu\n",
                       (unsigned long long)age);
    }
    return inject_text_find(text);
}

static void group_name(struct comm *comm, uint64_t hash, int ranks)
{
    comm->hash = hash;
    comm->ranks = ranks;
    comm->group = group_text(comm, 0);
    if (comm->group != NULL && inject_writer() != NULL) {
        (void)inject_text_number(comm->group);
    }
}

static void library_say(int version)
{
    char text[96];

    (void)snprintf(text, sizeof(text),
                   "NCCL's communicators by its profiler plug-in, version %d",
                   version);
    if (inject_writer() != NULL) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
    }
}

/* Before version 5: what this thread launched so far is none of NCCL's, and
 * from now on ckcupti waits for the report of each launch. */
static void launches_forget(int version)
{
    const struct nccl_link *to = atomic_load(&link);

    if (to != NULL && version < 5) {
        (void)to->launched((struct nccl_group){0, 0});
    }
}

/* Without an agent nothing is asked for. NCCL has one mask for all
 * communicators: it is written once complete, and never taken back. */
static struct comm *comm_create(int version, int *mask)
{
    static const int masks[] = {
        [0] = NCCL_COLL | NCCL_P2P | NCCL_GROUP,
        [5] = NCCL_COLL | NCCL_P2P | NCCL_GROUP_API | NCCL_COLL_API |
              NCCL_P2P_API | NCCL_KERNEL_LAUNCH,
        [6] = NCCL_COLL | NCCL_P2P | NCCL_GROUP_API | NCCL_COLL_API |
              NCCL_P2P_API | NCCL_KERNEL_LAUNCH | NCCL_CE_COLL};
    static _Atomic int is_said;
    struct comm *comm;

    inject_load_once(CK_LIBRARY_NCCL);
    link_find();
    if (atomic_exchange(&is_said, 1) == 0) {
        library_say(version);
    }
    comm = inject_is_loaded() ? calloc(1, sizeof(*comm)) : NULL;
    if (comm != NULL) {
        *mask = masks[version < 5 ? 0 : version];
        launches_forget(version);
    }
    return comm;
}

/* ---- what is recorded ---------------------------------------------------- */

static uint32_t group_id(const struct comm *comm)
{
    return inject_writer() == NULL || comm->group == NULL
               ? 0
               : inject_text_number(comm->group);
}

static void record_write(const struct ck_call *what, const char *name)
{
    struct ck_ring_writer *writer = inject_writer();
    uint32_t id = writer == NULL ? 0 : inject_text_id(name);
    struct ck_call *record =
        writer == NULL ? NULL : ck_ring_begin(writer, inject_ring.clock, 2);

    if (record == NULL) {
        return;
    }
    *record = *what;
    record->e.units = 2;
    record->e.name = id;
    record->e.start = inject_now();
    ck_ring_commit(writer, 2);
}

/* It was put on a device. */
static void task_write(const struct comm *comm, const struct task *task)
{
    struct ck_call record = {.e = {.kind = CK_KIND_NCCL},
                             .bytes = task->bytes,
                             .arg = task->number,
                             .extra = group_id(comm)};
    char text[96];

    (void)snprintf(text, sizeof(text), "nccl%s%s%s%s%s", task->function,
                   task->algorithm[0] == '\0' ? "" : " ", task->algorithm,
                   task->protocol[0] == '\0' ? "" : " ", task->protocol);
    record_write(&record, text);
}

/* It was called: what all ranks of the communicator do alike. */
static void
call_write(const struct comm *comm, const struct task *task, uint64_t number)
{
    struct ck_call record = {.e = {.kind = CK_KIND_NCCL_CALL},
                             .object = task->root + 1,
                             .bytes = task->bytes,
                             .arg = number,
                             .extra = group_id(comm)};
    char text[96];

    if (number != 0) {
        (void)snprintf(text, sizeof(text), "nccl%s %s", task->function,
                       task->type);
        record_write(&record, text);
    }
}

/* The communicator, with a number that fits a record: what is above that is in
 * its name, so that no number comes again. */
static struct nccl_group group_of(struct comm *comm, uint64_t number)
{
    uint64_t age = number >> 32;
    struct inject_text *text = comm->group;

    if (age > 0 && atomic_load(&comm->ages) != age) {
        atomic_store(&comm->age, group_text(comm, age));
        atomic_store(&comm->ages, age);
    }
    if (age > 0) {
        text = atomic_load(&comm->age);
    }
    if (text == NULL || inject_writer() == NULL) {
        return (struct nccl_group){0, 0};
    }
    return (struct nccl_group){
        inject_text_number(text),
        atomic_load(&comm->is_unnumbered) != 0 ? 0 : (uint32_t)number};
}

/* Before version 5: the kernel of this thread's group was launched just now.
 * Afterwards is_group_known shows whether its number is the same on all. */
static void task_launched(struct comm *comm, const struct task *task)
{
    const struct nccl_link *to = atomic_load(&link);
    uint64_t number = atomic_load(&comm->number) + 1;

    if (!is_group_new) {
        return;
    }
    is_group_new = false;
    is_group_known = false;
    if (to == NULL) {
        return;
    }
    if (task->is_message) {
        (void)to->launched(group_of(comm, 0));
    } else if (to->launched(group_of(comm, number))) {
        atomic_store(&comm->number, number);
        is_group_known = atomic_load(&comm->is_unnumbered) == 0;
    } else {
        atomic_store(&comm->is_unnumbered, 1);
    }
}

/* ---- fields of an event -------------------------------------------------- */

static const char *const functions[] = {
    "Broadcast", "Reduce",   "AllGather", "ReduceScatter",
    "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const algorithms[] = {
    "TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
    "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};
static const char *const types[] = {
    "Int8",    "Uint8",   "Int32",   "Uint32",   "Int64",      "Uint64",
    "Float16", "Float32", "Float64", "Bfloat16", "Float8e4m3", "Float8e5m2"};

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

/* Without "nccl". */
static const char *type_of(const char *type)
{
    return type != NULL && strncmp(type, "nccl", 4) == 0 ? type + 4
                                                         : text_or(type);
}

/* Where it means anything. */
static uint32_t root_of(const char *function, int root)
{
    static const char *const rooted[] = {"Broadcast", "Reduce", "Gather",
                                         "Scatter"};

    for (size_t i = 0; i < sizeof(rooted) / sizeof(rooted[0]); i++) {
        if (function != NULL && strcmp(function, rooted[i]) == 0) {
            return (uint32_t)root;
        }
    }
    return UINT32_MAX;
}

static struct task coll_1(const struct nccl_coll_1 *coll)
{
    const char *function = TEXT_OF(functions, coll->function);

    return (struct task){.function = function,
                         .algorithm = TEXT_OF(algorithms, coll->algorithm),
                         .protocol = TEXT_OF(protocols, coll->protocol),
                         .type = TEXT_OF(types, coll->type),
                         .number = coll->number,
                         .root = root_of(function, coll->root),
                         .bytes =
                             coll->count * bytes_of(TEXT_OF(types, coll->type)),
                         .hash = coll->hash};
}

static struct task p2p_1(const struct nccl_p2p_1 *p2p)
{
    return (struct task){.function = TEXT_OF(functions, p2p->function),
                         .algorithm = "",
                         .protocol = "",
                         .number = (uint64_t)p2p->peer,
                         .bytes =
                             p2p->count * bytes_of(TEXT_OF(types, p2p->type)),
                         .hash = p2p->hash,
                         .is_message = true};
}

/* Of versions 2 to 6 the members have the same names. */
#define COLL_OF(coll, comm_hash)                                               \
    ((struct task){.function = text_or((coll)->function),                      \
                   .algorithm = text_or((coll)->algorithm),                    \
                   .protocol = text_or((coll)->protocol),                      \
                   .type = type_of((coll)->type),                              \
                   .number = (coll)->number,                                   \
                   .root = root_of((coll)->function, (coll)->root),            \
                   .bytes = (coll)->count * bytes_of((coll)->type),            \
                   .hash = (comm_hash)})
#define P2P_OF(p2p, comm_hash)                                                 \
    ((struct task){.function = text_or((p2p)->function),                       \
                   .algorithm = "",                                            \
                   .protocol = "",                                             \
                   .number = (uint64_t)(p2p)->peer,                            \
                   .bytes = (p2p)->count * bytes_of((p2p)->type),              \
                   .hash = (comm_hash),                                        \
                   .is_message = true})

/* Before version 5: behind its launch. A collective that is known to be of the
 * program, and not of a graph, was called so. */
static void task_take(struct comm *comm, const struct task *task)
{
    if (comm->group == NULL && task->hash != 0) {
        group_name(comm, task->hash, 0);
    }
    task_launched(comm, task);
    if (!task->is_message && is_group_known) {
        call_write(comm, task, atomic_fetch_add(&comm->calls, 1) + 1);
    }
    task_write(comm, task);
}

static bool is_over(const struct comm *comm)
{
    return atomic_load(&comm->is_over) != 0;
}

/* Of versions with the type as a byte: is it a task? A group has a handle;
 * without one some versions do not report its tasks. */
static bool
start_begin(void *context, void **handle, const struct nccl_event *event)
{
    uint8_t type = *(const uint8_t *)event;

    *handle = type == NCCL_GROUP ? context : NULL;
    is_group_new = is_group_new || type == NCCL_GROUP;
    return context != NULL && !is_over(context) &&
           (type & (NCCL_COLL | NCCL_P2P)) != 0;
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
            task_take(context, &task);                                         \
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
    const struct nccl_link *to = atomic_load(&link);
    uint64_t number = order_launch(&comm->order);

    if (to != NULL) {
        to->begin(group_of(comm, number));
    }
}

static void coll_call(struct comm *comm, const struct nccl_coll_api *coll)
{
    struct task task = {.function = text_or(coll->function),
                        .type = type_of(coll->type),
                        .root = root_of(coll->function, coll->root),
                        .bytes = coll->count * bytes_of(coll->type)};

    call_write(comm, &task, order_collective(&comm->order, coll->is_captured));
}

/* Copy engines did it. */
static void copies_take(struct comm *comm, const struct nccl_coll_4 *coll)
{
    struct task task = {.function = text_or(coll->function),
                        .algorithm = "CE",
                        .protocol = "",
                        .number = coll->number,
                        .bytes = coll->count * bytes_of(coll->type)};

    task_write(comm, &task);
}

static void task_5(struct comm *comm, const struct nccl_event *event)
{
    struct task task = event->type == NCCL_COLL ? COLL_OF(&event->coll_4, 0)
                                                : P2P_OF(&event->p2p_4, 0);

    task_write(comm, &task);
}

/* And 6. */
static int start_5(void *context, void **handle, const struct nccl_event *event)
{
    struct comm *comm = context;

    *handle = NULL;
    if (event->type == NCCL_GROUP_API) {
        order_group(); /* of all communicators, reported for one */
    }
    if (comm == NULL || is_over(comm)) {
        return 0;
    }
    switch (event->type) {
    case NCCL_COLL_API:
        coll_call(comm, &event->coll_api);
        break;
    case NCCL_P2P_API:
        order_message(&comm->order);
        break;
    case NCCL_KERNEL_LAUNCH:
        launch_begin(comm);
        *handle = comm; /* the only event that has an end here */
        break;
    case NCCL_COLL:
    case NCCL_P2P:
        task_5(comm, event);
        break;
    case NCCL_CE_COLL:
        copies_take(comm, &event->coll_ce);
        break;
    default:
        break;
    }
    return 0;
}

static int stop(void *handle)
{
    const struct nccl_link *to = atomic_load(&link);

    if (handle != NULL && to != NULL) {
        to->begin((struct nccl_group){0, 0});
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
    static _Atomic(struct comm *) retired[RETIRED_MAX];
    static _Atomic unsigned count;
    struct comm *comm = context;

    if (comm != NULL && atomic_exchange(&comm->is_over, 1) == 0) {
        free(atomic_exchange(
            &retired[atomic_fetch_add(&count, 1) % RETIRED_MAX], comm));
    }
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

#define INIT_HASHED(version)                                                   \
    static int init_##version(void **context, uint64_t hash, int *mask,        \
                              const char *name, int nodes, int ranks,          \
                              int rank, void *log)                             \
    {                                                                          \
        (void)name;                                                            \
        (void)nodes;                                                           \
        (void)rank;                                                            \
        (void)log;                                                             \
        return init_named(version, context, mask, hash, ranks);                \
    }
INIT_HASHED(5)
INIT_HASHED(6)

#define PROFILER(init, start)                                                  \
    {                                                                          \
        "ck", init, start, stop, state, finalize                               \
    }
EXPORT extern const struct nccl_profiler_1 ncclProfiler_v1, ncclProfiler_v2,
    ncclProfiler_v3;
EXPORT extern const struct nccl_profiler_4 ncclProfiler_v4;
EXPORT extern const struct nccl_profiler_5 ncclProfiler_v5, ncclProfiler_v6;
const struct nccl_profiler_1 ncclProfiler_v1 = PROFILER(init_1, start_1);
const struct nccl_profiler_1 ncclProfiler_v2 = PROFILER(init_2, start_2);
const struct nccl_profiler_1 ncclProfiler_v3 = PROFILER(init_3, start_3);
const struct nccl_profiler_4 ncclProfiler_v4 = PROFILER(init_4, start_4);
const struct nccl_profiler_5 ncclProfiler_v5 = PROFILER(init_5, start_5);
const struct nccl_profiler_5 ncclProfiler_v6 = PROFILER(init_6, start_5);
