/* mpiwindow.c - windows of one-sided communication: their life and fences
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * MPI gives each window a communicator of its own, so fences of two windows of
 * one communicator need no common order: each window is entered in the table of
 * communicators, as a child of the one that it was made on.
 */
#include "agent/inject/mpi/mpicall.h"

void mpi_window_new_leave(struct mpi_call *call)
{
    const struct mpi_comm_birth birth = {
        .origin = MPI_ORIGIN_WINDOW,
        .parent = call->comm_id,
        .number = call->number,
        .tag = -1,
    };

    mpi_collective_leave(call);
    if (call->rc == 0) {
        mpi_comm_create(
            mpi_call_window(call, (const void *)mpi_call_word(call, 'W')),
            &birth);
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
    window_enter(call,
                 mpi_call_window(call, (const void *)mpi_call_word(call, 'W')));
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
