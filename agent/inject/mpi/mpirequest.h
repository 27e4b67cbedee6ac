/* mpirequest.h - the requests that are not complete, by handle
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A request is entered by the call that makes it, and removed when it
 * completes (a persistent one: when it is freed). Message handles of matched
 * probes are kept here too. Lock-free; at most MPI_REQUESTS_MAX, the rest is
 * counted and completes without details.
 */
#ifndef CK_AGENT_INJECT_MPI_MPIREQUEST_H
#define CK_AGENT_INJECT_MPI_MPIREQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/inject/inject.h"

#define MPI_REQUESTS_MAX 16384

struct mpi_comm;

enum mpi_request_kind {
    MPI_REQUEST_SEND = 1,
    MPI_REQUEST_RECV,
    MPI_REQUEST_COLLECTIVE,
    MPI_REQUEST_COMM,    /* makes a communicator */
    MPI_REQUEST_MESSAGE, /* not a request: a matched message */
    MPI_REQUEST_OTHER,
};

struct mpi_request {
    uint64_t handle;
    struct inject_label *label; /* borrowed; of the call that made it */
    struct mpi_comm *where;     /* borrowed; its entry, while ids agree */
    void *out;         /* of MPI_REQUEST_COMM: where the handle will be */
    uint64_t bytes;    /* sent, or posted for receiving */
    uint64_t bytes_in; /* collectives */
    uint32_t comm;     /* id */
    uint32_t number;   /* of a communicator's creation */
    int32_t peer;      /* p2p, in ck's numbers; collectives: root */
    int32_t tag;
    uint8_t kind; /* enum mpi_request_kind */
    uint8_t is_persistent;
    uint8_t is_active;
    uint8_t is_fortran;
    uint8_t origin; /* of MPI_REQUEST_COMM: enum mpi_origin */
    uint8_t pad[3];
};

/* Enter a copy under its handle, over an older one of the same handle. False:
 * no room, counted. */
bool mpi_request_insert(const struct mpi_request *request);

/* From the constructor. */
void mpi_requests_load(void);

/* The request of a handle, or NULL. Valid until it is removed, which only the
 * thread that completes it does. */
struct mpi_request *mpi_request_find(uint64_t handle);
void mpi_request_remove(struct mpi_request *request);

/* Requests that found no room. */
uint32_t mpi_request_refused(void);

#endif
