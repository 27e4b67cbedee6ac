/* mpicomm.h - the communicators of this process image
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each handle gets a small id: 1 MPI_COMM_WORLD, 2 MPI_COMM_SELF, then in
 * order of creation here. Its COMM record has what identifies a communicator on
 * all its ranks, joined later: parent, number of the creation within the
 * parent, members as world ranks. Nothing is ever sent.
 *
 * COMM record: name = id, object = parent's id (0 = none), extra = number;
 * lines how, size, rank, members (world ranks "0-3,8"; a rank of another
 * world is "?"), remote (the other group of an intercommunicator),
 * members_cut (ranks that the text had no room for), topology, sources (of its
 * messages, as ranks in the communicator; sources_cut), tag, name.
 * A window of memory is one as well: its fences are collectives of its own.
 * Creations that not all ranks of the parent take part in (how=group,
 * intercomm) are numbered by equal members instead.
 */
#ifndef CK_AGENT_INJECT_MPI_MPICOMM_H
#define CK_AGENT_INJECT_MPI_MPICOMM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MPI_COMMS_MAX 4096
#define MPI_COMM_NAME_BYTES 64

/* How a communicator came to be. */
enum mpi_origin {
    MPI_ORIGIN_UNKNOWN = 0, /* its creation was not seen */
    MPI_ORIGIN_WORLD,
    MPI_ORIGIN_SELF,
    MPI_ORIGIN_DUP,
    MPI_ORIGIN_CREATE,
    MPI_ORIGIN_GROUP,
    MPI_ORIGIN_SPLIT,
    MPI_ORIGIN_CART,
    MPI_ORIGIN_GRAPH,
    MPI_ORIGIN_INTERCOMM,
    MPI_ORIGIN_MERGE,
    MPI_ORIGIN_SPAWN,
    MPI_ORIGIN_CONNECT,
    MPI_ORIGIN_WINDOW, /* one-sided: its handle is of a window */
    MPI_ORIGIN_FILE,   /* its handle is of a file */
};

struct mpi_comm {
    uint64_t handle;
    uint32_t id;
    uint32_t parent;
    uint32_t number; /* of the creation within the parent, from 1 */
    enum mpi_origin origin;
    int32_t tag; /* of the creation, -1 = none */
    int32_t rank;
    int32_t size;
    int32_t remote_size; /* 0: not an intercommunicator */
    int32_t degree_in;   /* neighbours, in a topology */
    int32_t degree_out;
    uint32_t members_hash;
    _Atomic uint32_t is_said;
    _Atomic uint32_t collectives; /* started so far */
    _Atomic uint32_t children;    /* created so far */
    char name[MPI_COMM_NAME_BYTES];
};

/* Enter MPI_COMM_WORLD and MPI_COMM_SELF; after MPI_Init. */
void mpi_comm_start(void);

/* The communicator of a handle. NULL: a handle that is not known, which may be
 * none. Lock-free. */
struct mpi_comm *mpi_comm_find(uint64_t handle);

/* Enter an unknown handle, that a call has just used with success, as one
 * whose creation was not seen. NULL: a null handle, or the table is full. */
struct mpi_comm *mpi_comm_discover(uint64_t handle);

/* A creation on a parent (NULL: none) begins: its number for
 * mpi_comm_create(). Every rank of the parent takes part, so it counts even
 * where the result is MPI_COMM_NULL. */
uint32_t mpi_comm_number(struct mpi_comm *parent, enum mpi_origin origin);

/* How the new communicator came to be; the rest is asked of it. */
struct mpi_comm_birth {
    enum mpi_origin origin;
    uint32_t parent; /* id */
    uint32_t number;
    int32_t tag;
    const char *command; /* that its other processes run, not terminated;
                            NULL = not known here */
    size_t command_length;
};
void mpi_comm_create(uint64_t handle, const struct mpi_comm_birth *birth);

void mpi_comm_remove(uint64_t handle);
void mpi_comm_rename(struct mpi_comm *comm, const char *name, size_t length);

/* Record again what a full ring refused; called where one is used. */
void mpi_comm_say(struct mpi_comm *comm);

/* Communicators that found no room in the table. */
uint32_t mpi_comm_refused(void);

#endif
