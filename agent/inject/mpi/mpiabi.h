/* mpiabi.h - which MPI the process uses, and how its values look
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ckmpi is built without any mpi.h: on x86-64 and aarch64 every argument of
 * an MPI function but a double is one word. Handles are pointers in Open MPI
 * and ints in the MPICH family; constants and the status differ. Which one it
 * is is found once, at the first MPI call of the process; everything here is
 * read-only afterwards.
 */
#ifndef CK_AGENT_INJECT_MPI_MPIABI_H
#define CK_AGENT_INJECT_MPI_MPIABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mpi_abi_kind {
    MPI_ABI_UNKNOWN = 0,
    MPI_ABI_OPENMPI = 1,
    MPI_ABI_MPICH = 2,
};

/* Largest status of the ABIs that are known. */
#define MPI_STATUS_BYTES_MAX 24

/* PMPI_ functions that ckmpi itself calls. */
struct mpi_abi_calls {
    int (*type_size)(long type, int *size);
    int (*comm_size)(long comm, int *size);
    int (*comm_remote_size)(long comm, int *size);
    int (*comm_rank)(long comm, int *rank);
    int (*comm_test_inter)(long comm, int *is_inter);
    int (*comm_group)(long comm, void *group);
    int (*comm_remote_group)(long comm, void *group);
    int (*win_get_group)(long win, void *group);
    int (*file_get_group)(long file, void *group); /* NULL = has no files */
    int (*group_rank)(long group, int *rank);
    int (*group_size)(long group, int *size);
    int (*group_free)(void *group);
    int (*group_translate_ranks)(
        long from, long count, const int *ranks, long to, int *out);
    int (*query_thread)(int *level);
    int (*topo_test)(long comm, int *kind);
    int (*cartdim_get)(long comm, int *dimensions);
    int (*cart_shift)(
        long comm, long dimension, long by, int *source, int *destination);
    int (*graph_neighbors_count)(long comm, long rank, int *count);
    int (*graph_neighbors)(long comm, long rank, long room, int *ranks);
    int (*dist_graph_neighbors_count)(long comm,
                                      int *in,
                                      int *out,
                                      int *is_weighted);
    int (*dist_graph_neighbors)(long comm,
                                long room_in,
                                int *sources,
                                int *weights_in,
                                long room_out,
                                int *destinations,
                                int *weights_out);
    long (*comm_f2c)(int comm);
    long (*type_f2c)(int type);
    long (*request_f2c)(int request);
    long (*message_f2c)(int message);
    long (*win_f2c)(int win);
    long (*group_f2c)(int group);
    long (*file_f2c)(int file);
};

struct mpi_abi {
    enum mpi_abi_kind kind;
    bool is_standard; /* MPI-5's interface, which no kind is */
    char version[64]; /* first line of the library's own version text */
    uint64_t handle_mask;
    size_t handle_bytes;
    size_t status_bytes;
    size_t source_at; /* ints within a status */
    size_t tag_at;
    uint64_t comm_world;
    uint64_t comm_self;
    uint64_t comm_null;
    uint64_t request_null;
    uint64_t datatype_null;
    long status_ignore;
    long in_place;
    int any_source;
    int proc_null;
    int root; /* MPI_ROOT */
    int undefined;
    int no_precede; /* MPI_MODE_NOPRECEDE */
    int cart;       /* values of PMPI_Topo_test */
    int graph;
    int dist_graph;
    int f08_first; /* what mpi_f08 counts requests from */
    struct mpi_abi_calls call;
};

extern struct mpi_abi mpi_abi;

/* Look at the MPI library of this process and fill mpi_abi. Leaves kind
 * UNKNOWN for a library that it cannot read. Once, before any other. */
void mpi_abi_find(void);

/* A function of the MPI library, of the next tool that wraps it, or NULL.
 * Also finds a library that was opened without RTLD_GLOBAL. */
void *mpi_abi_symbol(const char *name);

static inline uint64_t mpi_abi_handle(long word)
{
    return (uint64_t)word & mpi_abi.handle_mask;
}

/* Handle number i of an array of C handles. */
static inline uint64_t mpi_abi_handle_at(const void *handles, size_t i)
{
    return mpi_abi.handle_bytes == sizeof(uint64_t)
               ? ((const uint64_t *)handles)[i]
               : ((const uint32_t *)handles)[i];
}

/* The values of a status, in ck's numbers: peer -1 any, -2 MPI_PROC_NULL. */
struct mpi_status {
    int32_t peer;
    int32_t tag;
    uint64_t bytes;
    bool is_cancelled;
};
struct mpi_status mpi_abi_status(const void *status);

/* A rank as the program gave it, in ck's numbers. */
static inline int32_t mpi_abi_peer(int rank)
{
    if (rank == mpi_abi.any_source) {
        return -1;
    }
    return rank == mpi_abi.proc_null ? -2 : rank;
}

/* MPI_BOTTOM, MPI_IN_PLACE and MPI_STATUS(ES)_IGNORE of Fortran are addresses
 * of variables; return C's value for them. Others are returned as they are. */
long mpi_abi_fortran_buffer(long address);
bool mpi_abi_fortran_ignores(long status);

#endif
