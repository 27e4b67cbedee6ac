/* mpiwindow.c - windows and files: their life, and what all of their ranks call
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * MPI gives each window a communicator of its own, so fences of two windows of
 * one communicator need no common order: each window is entered in the table of
 * communicators, as a child of the one that it was made on. So is each file.
 */
#include "agent/inject/mpi/mpicall.h"

/* What the call makes, or frees. */
static uint64_t object_of(const struct mpi_call *call)
{
    const void *at = (const void *)mpi_call_word(call, 'W');

    return call->function->detail == MPI_ORIGIN_FILE
               ? mpi_call_file(call, at)
               : mpi_call_window(call, at);
}

void mpi_window_new_leave(struct mpi_call *call)
{
    const struct mpi_comm_birth birth = {
        .origin = (enum mpi_origin)call->function->detail,
        .parent = call->comm_id,
        .number = call->number,
        .tag = -1,
    };

    mpi_collective_leave(call);
    if (call->rc == 0) {
        mpi_comm_create(object_of(call), &birth);
    }
}

static void window_enter(struct mpi_call *call, uint64_t handle)
{
    call->handle = handle;
    mpi_call_comm_take(call, handle);
    call->bytes_in = 0;
    call->seq = mpi_collective_next(call->comm);
}

void mpi_window_free_enter(struct mpi_call *call)
{
    window_enter(call, object_of(call));
}

void mpi_window_free_leave(struct mpi_call *call)
{
    mpi_collective_leave(call);
    if (call->rc == 0) {
        mpi_comm_remove(call->handle);
    }
}

/* A fence that ends no epoch may return before others have come: all ranks give
 * that assertion, or none. */
static bool is_loose(const struct mpi_call *call)
{
    return (mpi_call_int(call, 'e') & mpi_abi.no_precede) != 0;
}

void mpi_window_fence_enter(struct mpi_call *call)
{
    if (!is_loose(call)) {
        window_enter(call, mpi_abi_handle(mpi_call_word(call, 'w')));
    }
}

void mpi_window_fence_leave(struct mpi_call *call)
{
    if (is_loose(call)) {
        mpi_call_record(call, 0, 0);
    } else {
        mpi_collective_leave(call);
    }
}

void mpi_window_file_enter(struct mpi_call *call)
{
    window_enter(call, (uint64_t)mpi_call_word(call, 'h'));
}

void mpi_window_file_measure(struct mpi_call *call)
{
    uint64_t bytes = mpi_call_bytes(call, 'n', 't');

    if (call->function->detail != 0) {
        call->bytes_in = bytes;
    } else {
        call->bytes = bytes;
    }
}

static INJECT_ROOM _Atomic uint64_t groups_missed;

uint64_t mpi_window_missed(void)
{
    return atomic_load(&groups_missed);
}

void mpi_window_epoch_enter(struct mpi_call *call)
{
    mpi_call_comm_take(call, mpi_abi_handle(mpi_call_word(call, 'w')));
}

static void member_record(const struct mpi_call *call, int32_t rank)
{
    struct ck_message *record =
        ck_ring_begin(call->record.writer, inject_ring.clock, 2);

    if (record == NULL) {
        return;
    }
    *record = (struct ck_message){
        .e = mpi_call_head(call, CK_KIND_EPOCH, 2),
        .dur = call->end - call->record.start,
        .site = call->record.site,
        .call = call->record.number,
        .comm = call->comm_id,
        .peer = rank,
        .tag = -1,
    };
    ck_ring_commit(call->record.writer, 2);
}

/* The ranks of the window that are in the group. */
static void group_record(const struct mpi_call *call)
{
    const struct mpi_abi_calls *mpi = &mpi_abi.call;
    long group = (long)mpi_abi_handle(mpi_call_word(call, 'r'));
    int numbers[MPI_MANY_MAX], ranks[MPI_MANY_MAX];
    uint64_t all = 0;
    int size = 0;

    (void)mpi->group_size(group, &size);
    if (size > MPI_MANY_MAX) {
        (void)atomic_fetch_add(&groups_missed, 1);
        return;
    }
    for (int i = 0; i < size; i++) {
        numbers[i] = i;
    }
    if (mpi->win_get_group((long)call->comm->handle, &all) != 0) {
        return;
    }
    if (mpi->group_translate_ranks(group, size, numbers, (long)all, ranks) ==
        0) {
        for (int i = 0; i < size; i++) {
            member_record(call, ranks[i]);
        }
    }
    (void)mpi->group_free(&all);
}

void mpi_window_epoch_leave(struct mpi_call *call)
{
    mpi_call_record(call, mpi_call_has(call, 'f') && mpi_call_flag(call), 0);
    if (call->rc == 0 && mpi_call_has(call, 'r') && call->comm != NULL &&
        call->record.writer != NULL) {
        group_record(call);
    }
}
