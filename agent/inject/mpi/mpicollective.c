/* mpicollective.c - collectives: their number, root and bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * bytes_out and bytes_in are the sizes of the buffers that this rank really
 * sends from and receives into: nothing in at the root of a Bcast, nothing
 * out with MPI_IN_PLACE at the root of a Gather. So "received nothing" is
 * bytes_in == 0, which the wait states need. The root is a rank in comm;
 * intercommunicators: -3 where this rank is the root (MPI_ROOT), -2 where
 * another of its group is (MPI_PROC_NULL).
 */
#include "agent/inject/mpi/mpicall.h"

#define ROOT_HERE (-3)

/* The arguments of one side of a collective, by role. */
struct side {
    char buffer;
    char count;
    char counts;
    char type;
    char types;
};
static const struct side side_out = {'b', 'n', 'a', 't', 'y'};
static const struct side side_in = {'B', 'N', 'A', 'T', 'Y'};

static bool is_in_place(const struct mpi_call *call, char buffer)
{
    return mpi_call_has(call, buffer) &&
           mpi_call_word(call, buffer) == mpi_abi.in_place;
}

/* Ranks on the other side: all of comm, or the remote group. */
static int partners(const struct mpi_call *call)
{
    const struct mpi_comm *comm = call->comm;

    if (comm == NULL) {
        return 0;
    }
    return comm->remote_size != 0 ? comm->remote_size : comm->size;
}

static uint64_t
counts_sum(const struct mpi_call *call, const void *counts, int ranks)
{
    uint64_t sum = 0;

    for (int i = 0; i < ranks; i++) {
        sum += mpi_call_count_at(call, counts, i);
    }
    return sum;
}

static uint64_t
typed_sum(const struct mpi_call *call, const struct side *side, int ranks)
{
    const void *counts = (const void *)mpi_call_word(call, side->counts);
    const void *types = (const void *)mpi_call_word(call, side->types);
    uint64_t sum = 0;

    for (int i = 0; i < ranks; i++) {
        uint64_t count = mpi_call_count_at(call, counts, i);

        /* With nothing to send any word may be in place of a type. */
        if (count > 0) {
            sum += count * mpi_call_type_bytes(
                               call, mpi_call_type(call, types, (size_t)i));
        }
    }
    return sum;
}

/* Bytes of so many elements of the argument with role `type`. */
static uint64_t elements(const struct mpi_call *call, uint64_t count, char type)
{
    return count == 0
               ? 0
               : count * mpi_call_type_bytes(
                             call, mpi_abi_handle(mpi_call_word(call, type)));
}

/* Bytes of one side: count x `ranks`, or the sum of its counts. */
static uint64_t
side_bytes(const struct mpi_call *call, const struct side *side, int ranks)
{
    if (ranks <= 0) {
        return 0;
    }
    if (mpi_call_has(call, side->types)) {
        return typed_sum(call, side, ranks);
    }
    if (!mpi_call_has(call, side->counts)) {
        return mpi_call_bytes(call, side->count, side->type) * (uint64_t)ranks;
    }
    return elements(call,
                    counts_sum(call,
                               (const void *)mpi_call_word(call, side->counts),
                               ranks),
                    side->type);
}

static void gather_bytes(struct mpi_call *call, bool is_root, bool is_sender)
{
    if (is_sender && !is_in_place(call, 'b')) {
        call->bytes = side_bytes(call, &side_out, 1);
    }
    if (is_root) {
        call->bytes_in = side_bytes(call, &side_in, partners(call));
    }
}

static void scatter_bytes(struct mpi_call *call, bool is_root, bool is_taker)
{
    if (is_root) {
        call->bytes = side_bytes(call, &side_out, partners(call));
    }
    if (is_taker && !is_in_place(call, 'B')) {
        call->bytes_in = side_bytes(call, &side_in, 1);
    }
}

/* The four with a root. In an intercommunicator the root's group either only
 * sends or only receives, and its other ranks do nothing. */
static void rooted_bytes(struct mpi_call *call, enum mpi_pattern pattern)
{
    bool is_inter = call->comm != NULL && call->comm->remote_size != 0;
    bool is_root = is_inter
                       ? call->peer == ROOT_HERE
                       : call->comm != NULL && call->peer == call->comm->rank;
    bool is_other = is_inter ? call->peer >= 0 : true;
    uint64_t bytes = 0;

    switch (pattern) {
    case MPI_PATTERN_GATHER:
        gather_bytes(call, is_root, is_other);
        break;
    case MPI_PATTERN_SCATTER:
        scatter_bytes(call, is_root, is_other);
        break;
    case MPI_PATTERN_BCAST:
        if (is_root || is_other) {
            bytes = mpi_call_bytes(call, 'n', 't');
        }
        call->bytes = is_root ? bytes : 0;
        call->bytes_in = is_root || !is_other ? 0 : bytes;
        break;
    default: /* reduce */
        if (is_root || is_other) {
            bytes = mpi_call_bytes(call, 'n', 't');
        }
        call->bytes = is_other ? bytes : 0;
        call->bytes_in = is_root ? bytes : 0;
        break;
    }
}

/* Reduce_scatter has an array of counts, its block form one for all. */
static void reduce_scatter_bytes(struct mpi_call *call)
{
    int ranks = call->comm != NULL ? call->comm->size : 0;
    const void *counts;

    if (!mpi_call_has(call, 'A')) {
        call->bytes_in = mpi_call_bytes(call, 'N', 't');
        call->bytes = call->bytes_in * (uint64_t)ranks;
        return;
    }
    counts = (const void *)mpi_call_word(call, 'A');
    call->bytes = elements(call, counts_sum(call, counts, ranks), 't');
    call->bytes_in =
        ranks == 0
            ? 0
            : elements(call, mpi_call_count_at(call, counts, call->comm->rank),
                       't');
}

static void all_bytes(struct mpi_call *call, int out, int in)
{
    call->bytes_in = side_bytes(call, &side_in, in);
    if (!is_in_place(call, 'b')) {
        call->bytes = side_bytes(call, &side_out, out);
    } else if (out == 1 && !mpi_call_has(call, 'A')) {
        call->bytes = side_bytes(call, &side_in, 1); /* Allgather */
    } else if (out == 1) {
        const void *counts = (const void *)mpi_call_word(call, 'A');

        call->bytes =
            call->comm == NULL
                ? 0
                : elements(call,
                           mpi_call_count_at(call, counts, call->comm->rank),
                           'T');
    } else {
        call->bytes = call->bytes_in;
    }
}

void mpi_collective_measure(struct mpi_call *call)
{
    const struct mpi_comm *comm = call->comm;
    enum mpi_pattern pattern = (enum mpi_pattern)call->function->detail;

    switch (pattern) {
    case MPI_PATTERN_NONE:
        break;
    case MPI_PATTERN_ALLREDUCE:
        call->bytes = call->bytes_in = mpi_call_bytes(call, 'n', 't');
        break;
    case MPI_PATTERN_EXSCAN:
        call->bytes = mpi_call_bytes(call, 'n', 't');
        call->bytes_in = comm != NULL && comm->rank == 0 ? 0 : call->bytes;
        break;
    case MPI_PATTERN_REDUCE_SCATTER:
        reduce_scatter_bytes(call);
        break;
    case MPI_PATTERN_ALLGATHER:
        all_bytes(call, 1, partners(call));
        break;
    case MPI_PATTERN_ALLTOALL:
        all_bytes(call, partners(call), partners(call));
        break;
    case MPI_PATTERN_NEIGHBOR_ALLGATHER:
        all_bytes(call, 1, comm != NULL ? comm->degree_in : 0);
        break;
    case MPI_PATTERN_NEIGHBOR_ALLTOALL:
        all_bytes(call, comm != NULL ? comm->degree_out : 0,
                  comm != NULL ? comm->degree_in : 0);
        break;
    default:
        rooted_bytes(call, pattern);
        break;
    }
}

/* No locked increment: two collectives on one communicator never run at the
 * same time in one process, by MPI's rules. */
uint32_t mpi_collective_next(struct mpi_comm *comm)
{
    uint32_t number;

    if (comm == NULL) {
        return 0;
    }
    number = atomic_load_explicit(&comm->collectives, memory_order_relaxed) + 1;
    atomic_store_explicit(&comm->collectives, number, memory_order_relaxed);
    return number;
}

void mpi_collective_init_enter(struct mpi_call *call)
{
    call->bytes_in = 0;
    if (mpi_call_has(call, 'o')) {
        int root = mpi_call_int(call, 'o');

        call->peer = root == mpi_abi.root ? ROOT_HERE : mpi_abi_peer(root);
    }
}

void mpi_collective_enter(struct mpi_call *call)
{
    mpi_collective_init_enter(call);
    call->seq = mpi_collective_next(call->comm);
}

/* Also for the creation of communicators. */
void mpi_collective_leave(struct mpi_call *call)
{
    struct mpi_request made = {0};
    bool has_request = mpi_call_has(call, 'q');
    struct ck_collective *record;

    if (has_request && call->rc == 0) {
        made = mpi_call_made(call, MPI_REQUEST_COLLECTIVE);
        if (call->function->cls == MPI_CLASS_ICOLL) {
            (void)mpi_request_insert(&made);
        }
    }
    record = inject_call_leave(&call->record, 3);
    if (record == NULL) {
        return;
    }
    record->e = mpi_call_head(
        call, has_request ? CK_KIND_ICOLLECTIVE : CK_KIND_COLLECTIVE, 3);
    record->dur = call->end - call->record.start;
    record->site = call->record.site;
    record->call = call->record.number;
    record->comm = call->comm_id;
    record->seq = call->seq;
    record->root = call->peer;
    record->bytes_out = call->bytes;
    record->bytes_in = call->bytes_in;
    record->request = made.handle;
    record->reserved[0] = record->reserved[1] = record->reserved[2] = 0;
    inject_call_commit(&call->record, 3);
}

void mpi_collective_init_leave(struct mpi_call *call)
{
    struct mpi_request made = {0};

    if (call->rc == 0) {
        made = mpi_call_made(call, MPI_REQUEST_COLLECTIVE);
        made.is_persistent = 1;
        made.bytes_in = call->bytes_in;
        (void)mpi_request_insert(&made);
    }
    mpi_call_record(call, 0, made.handle);
}

void mpi_collective_started(struct mpi_call *call, struct mpi_request *request)
{
    struct mpi_comm *comm = request->where;
    uint32_t name = inject_label_id(request->label);
    uint32_t seq;
    struct ck_collective *record;

    if (comm != NULL && comm->id != request->comm) {
        comm = NULL; /* freed, and its entry taken by another */
    }
    seq = mpi_collective_next(comm);
    record = ck_ring_begin(call->record.writer, inject_ring.clock, 3);
    if (record == NULL) {
        return;
    }
    *record = (struct ck_collective){
        .e = mpi_call_head(call, CK_KIND_ICOLLECTIVE, 3),
        .site = call->record.site,
        .call = call->record.number,
        .comm = request->comm,
        .seq = seq,
        .root = request->peer,
        .bytes_out = request->bytes,
        .bytes_in = request->bytes_in,
        .request = request->handle,
    };
    record->e.name = name;
    record->e.flags |= CK_FLAG_PERSISTENT;
    ck_ring_commit(call->record.writer, 3);
}
