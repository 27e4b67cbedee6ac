/* mpicomm.c - table of communicators, and what is recorded of each
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing in windows of COMM_WINDOW keys; a key is 0 (free), CLAIMED
 * (being filled in) or a handle. Freed entries are simply free again: a
 * window is always searched whole, so there are no tombstones.
 */
#include "agent/inject/mpi/mpicomm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/inject.h"
#include "agent/inject/mpi/mpiabi.h"

#define COMM_WINDOW 32
#define COMM_CLAIMED UINT64_MAX
/* Different (origin, parent, members) that are numbered by themselves. */
#define EQUAL_KEYS 1024
/* Room for the lines of one COMM record. */
#define COMM_TEXT_BYTES CK_TEXT_BYTES_MAX

static INJECT_ROOM _Atomic uint64_t comm_keys[MPI_COMMS_MAX];
static INJECT_ROOM struct mpi_comm comm_table[MPI_COMMS_MAX];
static _Atomic uint32_t comm_ids = 2;
static _Atomic uint32_t comm_refused;
static INJECT_ROOM _Atomic uint64_t equal_keys[EQUAL_KEYS];
static INJECT_ROOM _Atomic uint32_t equal_counts[EQUAL_KEYS];
static struct mpi_comm *comm_world;

static const char origin_names[][12] = {
    [MPI_ORIGIN_UNKNOWN] = "unknown", [MPI_ORIGIN_WORLD] = "world",
    [MPI_ORIGIN_SELF] = "self",       [MPI_ORIGIN_DUP] = "dup",
    [MPI_ORIGIN_CREATE] = "create",   [MPI_ORIGIN_GROUP] = "group",
    [MPI_ORIGIN_SPLIT] = "split",     [MPI_ORIGIN_CART] = "cart",
    [MPI_ORIGIN_GRAPH] = "graph",     [MPI_ORIGIN_INTERCOMM] = "intercomm",
    [MPI_ORIGIN_MERGE] = "merge",     [MPI_ORIGIN_SPAWN] = "spawn",
    [MPI_ORIGIN_CONNECT] = "connect", [MPI_ORIGIN_WINDOW] = "window",
    [MPI_ORIGIN_FILE] = "file",
};

/* Lines under construction; text that does not fit is left out whole. */
struct comm_text {
    char bytes[COMM_TEXT_BYTES];
    size_t used;
};

static bool text_add(struct comm_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool text_add(struct comm_text *text, const char *format, ...)
{
    size_t room = sizeof(text->bytes) - text->used;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text->bytes + text->used, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room) {
        text->bytes[text->used] = '\0';
        return false;
    }
    text->used += (size_t)length;
    return true;
}

static uint32_t window_start(uint64_t handle)
{
    return (uint32_t)(handle * 0x9e3779b97f4a7c15ull >> 48) % MPI_COMMS_MAX;
}

static struct mpi_comm *table_find(uint64_t handle)
{
    uint32_t start = window_start(handle);

    if (handle == 0) {
        return NULL; /* a free entry's key */
    }
    for (uint32_t i = 0; i < COMM_WINDOW; i++) {
        uint32_t at = (start + i) % MPI_COMMS_MAX;

        /* acquire: pairs with the release in table_insert() */
        if (atomic_load_explicit(&comm_keys[at], memory_order_acquire) ==
            handle) {
            return &comm_table[at];
        }
    }
    return NULL;
}

static struct mpi_comm *table_claim(uint64_t handle)
{
    uint32_t start = window_start(handle);

    for (uint32_t i = 0; i < COMM_WINDOW; i++) {
        uint32_t at = (start + i) % MPI_COMMS_MAX;
        uint64_t none = 0;

        if (atomic_compare_exchange_strong(&comm_keys[at], &none,
                                           COMM_CLAIMED)) {
            return &comm_table[at];
        }
    }
    (void)atomic_fetch_add(&comm_refused, 1);
    return NULL;
}

/* World ranks of a group, in its order; the caller's to free. NULL when
 * there is no memory or the group cannot be read. */
static int *world_ranks(uint64_t group, uint64_t world, int size)
{
    int *ranks = malloc(2 * (size_t)size * sizeof(*ranks));

    if (ranks == NULL) {
        return NULL;
    }
    for (int i = 0; i < size; i++) {
        ranks[size + i] = i;
    }
    if (mpi_abi.call.group_translate_ranks((long)group, size, ranks + size,
                                           (long)world, ranks) != 0) {
        free(ranks);
        return NULL;
    }
    return ranks;
}

static bool range_add(struct comm_text *text, const int *run, int length)
{
    if (run[0] == mpi_abi.undefined || run[0] < 0) {
        return text_add(text, "?");
    }
    return length == 1 ? text_add(text, "%d", run[0])
                       : text_add(text, "%d-%d", run[0], run[0] + length - 1);
}

/* "0-3,8"; returns how many ranks had room. Keeps some for other lines. */
static int ranges_add(struct comm_text *text, const int *ranks, int size)
{
    int i = 0;

    while (i < size && text->used + 128 < sizeof(text->bytes)) {
        int length = 1;

        while (i + length < size && ranks[i] >= 0 &&
               ranks[i + length] == ranks[i] + length) {
            length++;
        }
        if ((i > 0 && !text_add(text, ",")) ||
            !range_add(text, ranks + i, length)) {
            break;
        }
        i += length;
    }
    return i;
}

static uint32_t ranks_hash(uint32_t hash, const int *ranks, int size)
{
    for (int i = 0; i < size; i++) {
        hash = (hash ^ (uint32_t)ranks[i]) * 16777619u;
    }
    return hash;
}

/* One line `key=<world ranks of the group>`; mixes them into *hash. */
static void group_add(struct comm_text *text,
                      const char *key,
                      int (*get)(long comm, void *group),
                      uint64_t comm,
                      uint32_t *hash)
{
    uint64_t group = 0;
    uint64_t world = 0;
    int *ranks = NULL;
    int size = 0;
    int kept;

    if (get((long)comm, &group) != 0) {
        return;
    }
    if (mpi_abi.call.group_size((long)group, &size) == 0 && size > 0 &&
        mpi_abi.call.comm_group((long)mpi_abi.comm_world, &world) == 0) {
        ranks = world_ranks(group, world, size);
        (void)mpi_abi.call.group_free(&world);
    }
    (void)mpi_abi.call.group_free(&group);
    if (ranks == NULL) {
        return;
    }
    *hash = ranks_hash(*hash, ranks, size);
    (void)text_add(text, "%s=", key);
    kept = ranges_add(text, ranks, size);
    (void)text_add(text, "\n");
    if (kept < size) {
        (void)text_add(text, "%s_cut=%d\n", key, size - kept);
    }
    free(ranks);
}

/* Degrees of a topology, and its name. */
static const char *topology_find(struct mpi_comm *comm)
{
    const struct mpi_abi_calls *call = &mpi_abi.call;
    long handle = (long)comm->handle;
    int kind = mpi_abi.undefined;
    int is_weighted = 0;
    int count = 0;

    if (comm->remote_size != 0 || call->topo_test(handle, &kind) != 0) {
        return NULL;
    }
    if (kind == mpi_abi.cart && call->cartdim_get(handle, &count) == 0) {
        comm->degree_in = comm->degree_out = 2 * count;
        return "cart";
    }
    if (kind == mpi_abi.graph &&
        call->graph_neighbors_count(handle, comm->rank, &count) == 0) {
        comm->degree_in = comm->degree_out = count;
        return "graph";
    }
    if (kind == mpi_abi.dist_graph &&
        call->dist_graph_neighbors_count(
            handle, &comm->degree_in, &comm->degree_out, &is_weighted) == 0) {
        return "dist_graph";
    }
    return NULL;
}

/* The ranks that a process of the topology receives from; room for them all.
 * How many, -1 when MPI does not give them. */
static int sources_find(const struct mpi_comm *comm, int *sources)
{
    const struct mpi_abi_calls *call = &mpi_abi.call;
    long handle = (long)comm->handle;
    int in = comm->degree_in, out = comm->degree_out;
    int kind = mpi_abi.undefined;
    int *rest = sources + in;

    (void)call->topo_test(handle, &kind);
    if (kind == mpi_abi.graph) {
        return call->graph_neighbors(handle, comm->rank, in, sources) == 0 ? in
                                                                           : -1;
    }
    if (kind == mpi_abi.dist_graph) {
        return call->dist_graph_neighbors(handle, in, sources, rest, out,
                                          rest + in, rest + in + out) == 0
                   ? in
                   : -1;
    }
    for (int i = 0; i < in / 2; i++) {
        if (call->cart_shift(handle, i, 1, &sources[2 * i],
                             &sources[2 * i + 1]) != 0) {
            return -1;
        }
    }
    return in;
}

/* The line `sources`, of ranks in the communicator; beyond the borders of a
 * grid there is no rank. */
static void sources_add(struct comm_text *text, const struct mpi_comm *comm)
{
    size_t room = 2 * (size_t)comm->degree_in + 2 * (size_t)comm->degree_out;
    int *sources = malloc((room + 2) * sizeof(*sources));
    int count = sources == NULL ? -1 : sources_find(comm, sources);
    int kept = 0, said;

    for (int i = 0; i < count; i++) {
        if (sources[i] >= 0) {
            sources[kept++] = sources[i];
        }
    }
    if (count >= 0) {
        (void)text_add(text, "sources=");
        said = ranges_add(text, sources, kept);
        (void)text_add(text, "\n");
        if (said < kept) {
            (void)text_add(text, "sources_cut=%d\n", kept - said);
        }
    }
    free(sources);
}

/* Of a window or a file, which has a group and no topology. */
static void window_describe(struct mpi_comm *comm, struct comm_text *text)
{
    const struct mpi_abi_calls *call = &mpi_abi.call;
    int (*get_group)(long of, void *group) = comm->origin == MPI_ORIGIN_FILE
                                                 ? call->file_get_group
                                                 : call->win_get_group;
    uint64_t group = 0;

    if (get_group((long)comm->handle, &group) == 0) {
        (void)call->group_rank((long)group, &comm->rank);
        (void)call->group_size((long)group, &comm->size);
        (void)call->group_free(&group);
    }
    (void)text_add(text, "how=%s\nsize=%d\nrank=%d\n",
                   origin_names[comm->origin], comm->size, comm->rank);
    group_add(text, "members", get_group, comm->handle, &comm->members_hash);
}

/* Everything about the communicator as lines; also fills in what the table
 * keeps of it. */
static void comm_describe(struct mpi_comm *comm, struct comm_text *text)
{
    const struct mpi_abi_calls *call = &mpi_abi.call;
    const char *topology;
    int is_inter = 0;

    text->used = 0;
    text->bytes[0] = '\0';
    comm->members_hash = 2166136261u;
    if (comm->origin == MPI_ORIGIN_WINDOW || comm->origin == MPI_ORIGIN_FILE) {
        window_describe(comm, text);
        return;
    }
    (void)call->comm_rank((long)comm->handle, &comm->rank);
    (void)call->comm_size((long)comm->handle, &comm->size);
    (void)call->comm_test_inter((long)comm->handle, &is_inter);
    (void)text_add(text, "how=%s\nsize=%d\nrank=%d\n",
                   origin_names[comm->origin], comm->size, comm->rank);
    group_add(text, "members", call->comm_group, comm->handle,
              &comm->members_hash);
    if (is_inter) {
        (void)call->comm_remote_size((long)comm->handle, &comm->remote_size);
        group_add(text, "remote", call->comm_remote_group, comm->handle,
                  &comm->members_hash);
    }
    topology = topology_find(comm);
    if (topology != NULL) {
        (void)text_add(text, "topology=%s\n", topology);
        sources_add(text, comm);
    }
    if (comm->tag >= 0) {
        (void)text_add(text, "tag=%d\n", comm->tag);
    }
    if (comm->name[0] != '\0') {
        (void)text_add(text, "name=%s\n", comm->name);
    }
}

/* The line `command`; blanks at its end are Fortran's. */
static void command_add(struct comm_text *text,
                        const struct mpi_comm_birth *birth)
{
    size_t length = birth->command_length;

    while (length > 0 && birth->command[length - 1] == ' ') {
        length--;
    }
    if (length > 0 && memchr(birth->command, '\n', length) == NULL) {
        (void)text_add(text, "command=%.*s\n", (int)length, birth->command);
    }
}

/* Without its birth where it is recorded again. */
static void comm_say(struct mpi_comm *comm, const struct mpi_comm_birth *birth)
{
    struct comm_text text;
    int saved = errno;

    comm_describe(comm, &text);
    if (birth != NULL && birth->command != NULL) {
        command_add(&text, birth);
    }
    if (inject_say(CK_KIND_COMM, comm->id, comm->parent, comm->number,
                   text.bytes) == 0) {
        atomic_store_explicit(&comm->is_said, 1, memory_order_relaxed);
    }
    errno = saved;
}

void mpi_comm_say(struct mpi_comm *comm)
{
    comm_say(comm, NULL);
}

/* Number of a creation that only the new communicator's own members know of:
 * among those of equal origin, parent and members. 0 when the table of them
 * is full (counted with the refused). */
static uint32_t equal_number(const struct mpi_comm *comm)
{
    uint64_t key = ((uint64_t)comm->members_hash << 32 |
                    (uint64_t)comm->parent << 8 | (uint64_t)comm->origin) +
                   1;

    for (uint32_t i = 0; i < EQUAL_KEYS; i++) {
        uint32_t at = (comm->members_hash + i) % EQUAL_KEYS;
        uint64_t seen = 0;

        if (atomic_compare_exchange_strong(&equal_keys[at], &seen, key) ||
            seen == key) {
            return atomic_fetch_add(&equal_counts[at], 1) + 1;
        }
    }
    (void)atomic_fetch_add(&comm_refused, 1);
    return 0;
}

static struct mpi_comm *
table_insert(uint64_t handle, const struct mpi_comm_birth *birth, uint32_t id)
{
    struct mpi_comm *comm = table_claim(handle);

    if (comm == NULL) {
        return NULL;
    }
    memset(comm, 0, sizeof(*comm));
    comm->handle = handle;
    comm->id = id;
    comm->parent = birth->parent;
    comm->number = birth->number;
    comm->origin = birth->origin;
    comm->tag = birth->tag;
    if (birth->number == 0 && birth->parent != 0) {
        struct comm_text text;

        comm_describe(comm, &text);
        comm->number = equal_number(comm);
    }
    comm_say(comm, birth);
    atomic_store_explicit(&comm_keys[comm - comm_table], handle,
                          memory_order_release);
    return comm;
}

static uint32_t next_id(void)
{
    return atomic_fetch_add(&comm_ids, 1) + 1;
}

void mpi_comm_start(void)
{
    const struct mpi_comm_birth world = {MPI_ORIGIN_WORLD, 0, 0, -1, NULL, 0};
    const struct mpi_comm_birth self = {MPI_ORIGIN_SELF, 0, 0, -1, NULL, 0};

    if (comm_world != NULL) {
        return;
    }
    comm_world = table_insert(mpi_abi.comm_world, &world, 1);
    (void)table_insert(mpi_abi.comm_self, &self, 2);
}

struct mpi_comm *mpi_comm_discover(uint64_t handle)
{
    const struct mpi_comm_birth birth = {MPI_ORIGIN_UNKNOWN, 0, 0, -1, NULL, 0};

    if (comm_world == NULL || handle == mpi_abi.comm_null || handle == 0) {
        return NULL;
    }
    return table_insert(handle, &birth, next_id());
}

struct mpi_comm *mpi_comm_find(uint64_t handle)
{
    struct mpi_comm *comm;

    if (__builtin_expect(comm_world == NULL, 0)) {
        return NULL;
    }
    comm = handle == mpi_abi.comm_world ? comm_world : table_find(handle);
    if (__builtin_expect(comm == NULL, 0)) {
        return NULL;
    }
    if (__builtin_expect(
            !atomic_load_explicit(&comm->is_said, memory_order_relaxed), 0)) {
        mpi_comm_say(comm);
    }
    return comm;
}

uint32_t mpi_comm_number(struct mpi_comm *parent, enum mpi_origin origin)
{
    if (parent == NULL || origin == MPI_ORIGIN_GROUP ||
        origin == MPI_ORIGIN_INTERCOMM) {
        return 0;
    }
    return atomic_fetch_add(&parent->children, 1) + 1;
}

void mpi_comm_create(uint64_t handle, const struct mpi_comm_birth *birth)
{
    int saved = errno;

    if (handle != mpi_abi.comm_null && handle != 0) {
        mpi_comm_remove(handle);
        (void)table_insert(handle, birth, next_id());
    }
    errno = saved;
}

void mpi_comm_remove(uint64_t handle)
{
    struct mpi_comm *comm = table_find(handle);

    if (comm != NULL && comm != comm_world) {
        atomic_store_explicit(&comm_keys[comm - comm_table], 0,
                              memory_order_release);
    }
}

void mpi_comm_rename(struct mpi_comm *comm, const char *name, size_t length)
{
    size_t kept = 0;

    for (; kept < length && kept + 1 < sizeof(comm->name) && name[kept] != '\0';
         kept++) {
        comm->name[kept] = (char)((uint8_t)name[kept] < ' ' ? '?' : name[kept]);
    }
    while (kept > 0 && comm->name[kept - 1] == ' ') {
        kept--;
    }
    comm->name[kept] = '\0';
    mpi_comm_say(comm);
}

uint32_t mpi_comm_refused(void)
{
    return atomic_load(&comm_refused);
}
