/* mpimessage.c - point to point calls and probes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A blocking receive and a probe record what really came; when the program
 * ignores the status, it is taken into ours.
 */
#include "agent/inject/mpi/mpicall.h"

void mpi_message_measure(struct mpi_call *call)
{
    call->bytes = mpi_call_bytes(call, 'n', 't');
}

void mpi_message_enter(struct mpi_call *call)
{
    call->peer = mpi_abi_peer(mpi_call_int(call, 'p'));
    call->tag = mpi_call_int(call, 'g');
    if (call->tag < 0) {
        call->tag = -1;
    }
}

void mpi_message_receive_enter(struct mpi_call *call)
{
    mpi_message_enter(call);
    mpi_call_status_ask(call);
}

/* The message was matched by a probe, which knew communicator and source. */
void mpi_message_matched_enter(struct mpi_call *call)
{
    const void *message = (const void *)mpi_call_word(call, 'm');
    struct mpi_request *matched =
        mpi_request_find(mpi_call_message(call, message));

    if (matched != NULL && matched->kind == MPI_REQUEST_MESSAGE) {
        call->comm_id = matched->comm;
        call->peer = matched->peer;
        call->tag = matched->tag;
        mpi_request_remove(matched);
    }
    if (mpi_call_has(call, 's')) {
        mpi_call_status_ask(call);
    }
}

static void
message_record(struct mpi_call *call, enum ck_kind kind, uint64_t request)
{
    struct ck_message *record = inject_call_leave(&call->record, 2);

    if (record == NULL) {
        return;
    }
    record->e = mpi_call_head(call, kind, 2);
    record->dur = call->end - call->record.start;
    record->site = call->record.site;
    record->call = call->record.number;
    record->comm = call->comm_id;
    record->peer = call->peer;
    record->tag = call->tag;
    record->bytes = call->bytes;
    record->request = request;
    inject_call_commit(&call->record, 2);
}

void mpi_message_send_leave(struct mpi_call *call)
{
    message_record(call, CK_KIND_SEND, 0);
}

static struct mpi_request request_enter(struct mpi_call *call,
                                        enum mpi_request_kind kind,
                                        bool is_persistent)
{
    struct mpi_request request = {0};

    if (call->rc != 0) {
        return request;
    }
    request = mpi_call_made(call, kind);
    request.is_persistent = is_persistent;
    (void)mpi_request_insert(&request);
    return request;
}

void mpi_message_isend_leave(struct mpi_call *call)
{
    struct mpi_request made = request_enter(call, MPI_REQUEST_SEND, false);

    message_record(call, CK_KIND_SEND, made.handle);
}

void mpi_message_irecv_leave(struct mpi_call *call)
{
    struct mpi_request made = request_enter(call, MPI_REQUEST_RECV, false);

    message_record(call, CK_KIND_RECV, made.handle);
}

void mpi_message_isendrecv_leave(struct mpi_call *call)
{
    struct mpi_request made = request_enter(call, MPI_REQUEST_RECV, false);

    message_record(call, CK_KIND_SENDRECV, made.handle);
}

/* A persistent request only; the message is recorded at each start. */
void mpi_message_send_init_leave(struct mpi_call *call)
{
    struct mpi_request made = request_enter(call, MPI_REQUEST_SEND, true);

    mpi_call_record(call, (uint64_t)(int64_t)call->peer, made.handle);
}

void mpi_message_recv_init_leave(struct mpi_call *call)
{
    struct mpi_request made = request_enter(call, MPI_REQUEST_RECV, true);

    mpi_call_record(call, (uint64_t)(int64_t)call->peer, made.handle);
}

/* What came, in place of what was asked for. */
static void actual_take(struct mpi_call *call)
{
    struct mpi_status status = mpi_call_status(call);

    call->peer = status.peer;
    call->tag = status.tag;
    call->bytes = status.bytes;
}

void mpi_message_recv_leave(struct mpi_call *call)
{
    if (call->rc == 0) {
        actual_take(call);
    }
    message_record(call, CK_KIND_RECV, 0);
}

void mpi_message_sendrecv_leave(struct mpi_call *call)
{
    struct mpi_status status;
    struct mpi_completion received;

    message_record(call, CK_KIND_SENDRECV, 0);
    if (call->rc != 0) {
        return;
    }
    status = mpi_call_status(call);
    received = (struct mpi_completion){.comm = call->comm_id,
                                       .peer = status.peer,
                                       .tag = status.tag,
                                       .bytes = status.bytes};
    mpi_completion_record(call, &received, 0);
}

/* Keep what Mprobe and Improbe know for the receive of the message. */
static uint64_t matched_keep(const struct mpi_call *call)
{
    struct mpi_request matched = {
        .handle =
            mpi_call_message(call, (const void *)mpi_call_word(call, 'm')),
        .comm = call->comm_id,
        .peer = call->peer,
        .tag = call->tag,
        .kind = MPI_REQUEST_MESSAGE,
    };

    (void)mpi_request_insert(&matched);
    return matched.handle;
}

/* A probe that found nothing keeps peer and tag as asked, with no bytes. */
void mpi_message_probe_leave(struct mpi_call *call)
{
    uint64_t message = 0;

    if (call->rc == 0 && mpi_call_flag(call)) {
        actual_take(call);
        if (mpi_call_has(call, 'm')) {
            message = matched_keep(call);
        }
    }
    message_record(call, CK_KIND_PROBE, message);
}
