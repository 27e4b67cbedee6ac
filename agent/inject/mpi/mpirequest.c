/* mpirequest.c - table of pending requests
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * As in mpicomm.c: windows of keys, searched whole, no tombstones.
 */
#include "agent/inject/mpi/mpirequest.h"

#define REQUEST_WINDOW 64
#define REQUEST_CLAIMED UINT64_MAX

struct requests {
    _Atomic uint64_t keys[MPI_REQUESTS_MAX];
    struct mpi_request table[MPI_REQUESTS_MAX];
};

static struct inject_room room = {.bytes = sizeof(struct requests)};
static _Atomic uint32_t request_refused;

static uint32_t window_start(uint64_t handle)
{
    return (uint32_t)(handle * 0x9e3779b97f4a7c15ull >> 40) % MPI_REQUESTS_MAX;
}

INJECT_START void mpi_requests_load(void)
{
    inject_room_add(&room);
}

struct mpi_request *mpi_request_find(uint64_t handle)
{
    struct requests *requests = inject_room_of(&room);
    uint32_t start = window_start(handle);

    for (uint32_t i = 0; requests != NULL && i < REQUEST_WINDOW; i++) {
        uint32_t at = (start + i) % MPI_REQUESTS_MAX;

        /* acquire: pairs with the release in mpi_request_insert() */
        if (atomic_load_explicit(&requests->keys[at], memory_order_acquire) ==
            handle) {
            return &requests->table[at];
        }
    }
    return NULL;
}

/* The first entry of the window that is free or holds this handle already
 * (its completion was not seen). */
bool mpi_request_insert(const struct mpi_request *request)
{
    struct requests *requests = inject_room_of(&room);
    uint32_t start = window_start(request->handle);

    for (uint32_t i = 0; requests != NULL && i < REQUEST_WINDOW; i++) {
        uint32_t at = (start + i) % MPI_REQUESTS_MAX;
        uint64_t seen =
            atomic_load_explicit(&requests->keys[at], memory_order_relaxed);

        if ((seen != 0 && seen != request->handle) ||
            !atomic_compare_exchange_strong(&requests->keys[at], &seen,
                                            REQUEST_CLAIMED)) {
            continue;
        }
        requests->table[at] = *request;
        atomic_store_explicit(&requests->keys[at], request->handle,
                              memory_order_release);
        return true;
    }
    (void)atomic_fetch_add(&request_refused, 1);
    return false;
}

void mpi_request_remove(struct mpi_request *request)
{
    struct requests *requests = inject_room_of(&room);

    atomic_store_explicit(&requests->keys[request - requests->table], 0,
                          memory_order_release);
}

uint32_t mpi_request_refused(void)
{
    return atomic_load(&request_refused);
}
