/* mpicompletion.c - waits, tests, starts and frees of requests
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library nulls the handles of what it completes, so they are copied
 * before the call. Each completed request becomes a COMPLETE record at the
 * end of the call: for a receive with what really came, else with what was
 * posted.
 */
#include "agent/inject/mpi/mpicall.h"

static _Atomic uint64_t completions_missed;

uint64_t mpi_completion_missed(void)
{
    return atomic_load(&completions_missed);
}

void mpi_completion_record(struct mpi_call *call,
                           const struct mpi_completion *completion,
                           unsigned flags)
{
    struct ck_message *record;

    if (call->record.writer == NULL) {
        return;
    }
    record = ck_ring_begin(call->record.writer, inject_ring.clock, 2);
    if (record == NULL) {
        return;
    }
    record->e = mpi_call_head(call, CK_KIND_COMPLETE, 2);
    record->e.flags |= (uint8_t)flags;
    record->e.start = call->end;
    record->dur = 0;
    record->site = call->record.site;
    record->call = call->record.number;
    record->comm = completion->comm;
    record->peer = completion->peer;
    record->tag = completion->tag;
    record->bytes = completion->bytes;
    record->request = completion->request;
    ck_ring_commit(call->record.writer, 2);
}

/* The communicator that Comm_idup promised is there now. */
static void comm_arrived(const struct mpi_request *request)
{
    const struct mpi_comm_birth birth = {
        .origin = (enum mpi_origin)request->origin,
        .parent = request->comm,
        .number = request->number,
        .tag = -1,
    };

    mpi_comm_create(request->is_fortran ? (uint64_t)mpi_abi.call.comm_f2c(
                                              *(const int *)request->out)
                                        : mpi_abi_handle_at(request->out, 0),
                    &birth);
}

/* A request that was `handle` has completed; status NULL: not known. */
static void
request_completed(struct mpi_call *call, uint64_t handle, const void *status)
{
    struct mpi_completion completion = {
        .peer = -1, .tag = -1, .request = handle};
    struct mpi_request *request = mpi_request_find(handle);
    unsigned flags = 0;

    if (handle == mpi_abi.request_null ||
        (request != NULL && request->is_persistent && !request->is_active)) {
        return;
    }
    if (request != NULL) {
        completion.comm = request->comm;
        completion.peer = request->peer;
        completion.tag = request->tag;
        completion.bytes = request->bytes;
        flags = request->is_persistent ? CK_FLAG_PERSISTENT : 0;
    }
    if (request != NULL && request->kind == MPI_REQUEST_RECV &&
        status != NULL) {
        struct mpi_status actual = mpi_abi_status(status);

        completion.peer = actual.peer;
        completion.tag = actual.tag;
        completion.bytes = actual.is_cancelled ? 0 : actual.bytes;
        flags |= actual.is_cancelled ? CK_FLAG_FAILED : 0u;
    }
    mpi_completion_record(call, &completion, flags);
    if (request == NULL) {
        return;
    }
    if (request->kind == MPI_REQUEST_COMM) {
        comm_arrived(request);
    }
    if (request->is_persistent) {
        request->is_active = 0;
    } else {
        mpi_request_remove(request);
    }
}

/* ---- one request -------------------------------------------------------- */

void mpi_completion_enter(struct mpi_call *call)
{
    call->handle =
        mpi_call_request(call, (const void *)mpi_call_word(call, 'q'), 0);
    if (mpi_call_has(call, 's')) {
        mpi_call_status_ask(call);
    }
}

void mpi_completion_wait_leave(struct mpi_call *call)
{
    bool is_done = call->rc == 0 && mpi_call_flag(call) &&
                   call->handle != mpi_abi.request_null;

    mpi_call_record(call, 1, is_done);
    if (is_done) {
        request_completed(
            call, call->handle,
            (const void *)call->words[call->function->at['s' - 'A']]);
    }
}

void mpi_completion_free_leave(struct mpi_call *call)
{
    struct mpi_request *request = mpi_request_find(call->handle);

    mpi_call_record(call, 1, 0);
    if (call->rc == 0 && request != NULL) {
        mpi_request_remove(request);
    }
}

/* ---- several requests --------------------------------------------------- */

static void statuses_ask(struct mpi_call *call)
{
    int at = (int)call->function->at['S' - 'A'];

    if (at >= 0 && call->view[at] == mpi_abi.status_ignore &&
        call->count <= MPI_MANY_MAX) {
        call->words[at] = (long)call->many->statuses;
    }
}

void mpi_completion_many_enter(struct mpi_call *call)
{
    const void *requests = (const void *)mpi_call_word(call, 'Q');
    int count = mpi_call_int(call, 'k');

    call->count = count > 0 ? (uint32_t)count : 0;
    for (uint32_t i = 0; i < call->count && i < MPI_MANY_MAX; i++) {
        call->many->handles[i] = mpi_call_request(call, requests, i);
    }
    if (mpi_call_has(call, 's')) {
        mpi_call_status_ask(call);
    }
    statuses_ask(call);
}

/* Status number i of the call's array, NULL where the program ignores it. */
static const void *status_at(const struct mpi_call *call, uint32_t i)
{
    long statuses = call->words[call->function->at['S' - 'A']];

    if (statuses == mpi_abi.status_ignore ||
        (call->is_fortran && mpi_abi_fortran_ignores(statuses))) {
        return NULL;
    }
    return (const char *)statuses + (size_t)i * mpi_abi.status_bytes;
}

/* Fortran counts from 1. Those forms that are recorded above C are Open MPI's,
 * which all do, and mpi_f08 of MPICH. */
static int index_first(const struct mpi_call *call)
{
    return call->is_fortran ? mpi_abi.f08_first : 0;
}

/* Request number `index` of the call's array. */
static void
index_completed(struct mpi_call *call, uint32_t index, const void *status)
{
    if (index >= MPI_MANY_MAX) {
        (void)atomic_fetch_add_explicit(&completions_missed, 1,
                                        memory_order_relaxed);
        return;
    }
    request_completed(call, call->many->handles[index], status);
}

void mpi_completion_all_leave(struct mpi_call *call)
{
    bool is_done = call->rc == 0 && mpi_call_flag(call);

    mpi_call_record(call, call->count, is_done ? call->count : 0);
    for (uint32_t i = 0; is_done && i < call->count; i++) {
        index_completed(call, i, status_at(call, i));
    }
}

void mpi_completion_any_leave(struct mpi_call *call)
{
    int index = -1;

    if (call->rc == 0 && mpi_call_flag(call)) {
        index = *(const int *)mpi_call_word(call, 'x') - index_first(call);
    }
    if (index < 0 || (uint32_t)index >= call->count) {
        mpi_call_record(call, call->count, 0);
        return;
    }
    mpi_call_record(call, call->count, 1);
    index_completed(call, (uint32_t)index,
                    (const void *)call->words[call->function->at['s' - 'A']]);
}

void mpi_completion_some_leave(struct mpi_call *call)
{
    const int *indices = (const int *)mpi_call_word(call, 'X');
    int done = call->rc == 0 ? *(const int *)mpi_call_word(call, 'K') : 0;
    uint32_t completed = done > 0 ? (uint32_t)done : 0;

    mpi_call_record(call, call->count, completed);
    for (uint32_t i = 0; i < completed; i++) {
        index_completed(call, (uint32_t)(indices[i] - index_first(call)),
                        status_at(call, i));
    }
}

/* ---- starts ------------------------------------------------------------- */

static void message_started(struct mpi_call *call,
                            const struct mpi_request *request)
{
    uint32_t name = inject_label_id(request->label);
    enum ck_kind kind =
        request->kind == MPI_REQUEST_SEND ? CK_KIND_SEND : CK_KIND_RECV;
    struct ck_message *record =
        ck_ring_begin(call->record.writer, inject_ring.clock, 2);

    if (record == NULL) {
        return;
    }
    *record = (struct ck_message){
        .e = mpi_call_head(call, kind, 2),
        .site = call->record.site,
        .call = call->record.number,
        .comm = request->comm,
        .peer = request->peer,
        .tag = request->tag,
        .bytes = request->bytes,
        .request = request->handle,
    };
    record->e.name = name;
    record->e.flags |= CK_FLAG_PERSISTENT;
    ck_ring_commit(call->record.writer, 2);
}

static void request_started(struct mpi_call *call, uint64_t handle)
{
    struct mpi_request *request = mpi_request_find(handle);

    if (request == NULL || !request->is_persistent) {
        return;
    }
    request->is_active = 1;
    if (request->kind == MPI_REQUEST_COLLECTIVE) {
        mpi_collective_started(call, request);
    } else if (call->record.writer != NULL) {
        message_started(call, request);
    }
}

void mpi_completion_start_leave(struct mpi_call *call)
{
    mpi_call_record(call, 1, 0);
    if (call->rc == 0) {
        request_started(
            call,
            mpi_call_request(call, (const void *)mpi_call_word(call, 'q'), 0));
    }
}

void mpi_completion_startall_leave(struct mpi_call *call)
{
    const void *requests = (const void *)mpi_call_word(call, 'Q');
    int count = mpi_call_int(call, 'k');

    mpi_call_record(call, (uint64_t)(count > 0 ? count : 0), 0);
    for (int i = 0; call->rc == 0 && i < count; i++) {
        request_started(call, mpi_call_request(call, requests, (size_t)i));
    }
}
