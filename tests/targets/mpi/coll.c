/* coll.c - each collective once, on two ranks, in a fixed order
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <mpi.h>
#include <stdlib.h>

#if defined(CK_OPENMPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT(call) MPIX_##call
#else
#define PERSISTENT(call) MPI_##call
#endif

static int out[64];
static int in[64];
static MPI_Comm world;

static void rooted(int rank)
{
    int counts[2] = {3, 5};
    int displacements[2] = {0, 8};

    MPI_Bcast(in, 4, MPI_INT, 1, world);
    MPI_Reduce(out, in, 5, MPI_INT, MPI_SUM, 0, world);
    MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, 1, world);
    MPI_Gather(rank == 1 ? MPI_IN_PLACE : out, 2, MPI_INT, in, 2, MPI_INT, 1,
               world);
    MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, displacements, MPI_INT,
                0, world);
    MPI_Scatter(out, 3, MPI_INT, in, 3, MPI_INT, 0, world);
    MPI_Scatterv(out, counts, displacements, MPI_INT, in, counts[rank], MPI_INT,
                 1, world);
}

static void unrooted(int rank)
{
    int counts[2] = {3, 5};
    int slotstate[2] = {1, 1};
    int displacements[2] = {0, 8};
    int bytes[2] = {0, 32};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype other[2] = {MPI_INT, MPI_INT};

    other[0] = other[1] = rank == 0 ? MPI_INT : MPI_DOUBLE;
    MPI_Allreduce(out, in, 6, MPI_INT, MPI_MAX, world);
    MPI_Allreduce(MPI_IN_PLACE, in, 7, MPI_INT, MPI_MAX, world);
    MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, world);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 3, MPI_INT, world);
    MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, displacements,
                   MPI_INT, world);
    MPI_Alltoall(out, 4, MPI_INT, in, 4, MPI_INT, world);
    counts[0] = counts[1] = 3 + 2 * rank;
    slotstate[0] = 3;
    slotstate[1] = 5;
    MPI_Alltoallv(out, counts, displacements, MPI_INT, in, slotstate,
                  displacements, MPI_INT, world);
    slotstate[0] = slotstate[1] = 1;
    MPI_Alltoallw(out, slotstate, bytes, types, in, slotstate, bytes, other,
                  world);
    slotstate[0] = 3;
    slotstate[1] = 5;
    MPI_Reduce_scatter(out, in, slotstate, MPI_INT, MPI_SUM, world);
    MPI_Reduce_scatter_block(out, in, 4, MPI_INT, MPI_SUM, world);
    MPI_Scan(out, in, 2, MPI_INT, MPI_SUM, world);
    MPI_Exscan(out, in, 2, MPI_INT, MPI_SUM, world);
}

static void nonblocking(void)
{
    MPI_Request request[2];

    MPI_Ibarrier(world, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Iallreduce(out, in, 8, MPI_INT, MPI_SUM, world, &request[0]);
    MPI_Ibcast(out + 32, 9, MPI_INT, 0, world, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

static void persistent(void)
{
    MPI_Request request;

    PERSISTENT(Allreduce_init)
    (out, in, 3, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void neighbours(void)
{
    int size = 2;
    int is_periodic = 1;
    MPI_Comm ring;
    MPI_Request request;

    MPI_Cart_create(world, 1, &size, &is_periodic, 0, &ring);
    MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, ring);
    MPI_Neighbor_alltoall(out, 4, MPI_INT, in, 4, MPI_INT, ring);
    MPI_Ineighbor_alltoall(out, 5, MPI_INT, in, 5, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);
}

static void types(void)
{
    MPI_Datatype type;

    for (int i = 1; i <= 3; i++) {
        MPI_Type_contiguous(i, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Bcast(out, 2, type, 0, world);
        MPI_Type_free(&type);
    }
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Barrier(world);
    rooted(rank);
    unrooted(rank);
    nonblocking();
    persistent();
    neighbours();
    types();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
