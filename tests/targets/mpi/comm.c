/* comm.c - communicators made in every way, on two or more ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <mpi.h>
#include <stdlib.h>

static MPI_Comm world;
static int rank;
static int size;

/* Send something on it, so that its id is in a record, then free it. */
static void use(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL) {
        MPI_Barrier(*comm);
        MPI_Comm_free(comm);
    }
}

static void copies(void)
{
    MPI_Comm comm;
    MPI_Comm inner;
    MPI_Request request;

    MPI_Comm_dup(world, &comm);
    MPI_Comm_set_name(comm, "copy");
    MPI_Comm_split(comm, rank % 2, -rank, &inner);
    use(&inner);
    use(&comm);
    MPI_Comm_idup(world, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(&comm);
    MPI_Comm_split(world, rank == 0 ? MPI_UNDEFINED : 0, 0, &comm);
    use(&comm);
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    use(&comm);
}

static void groups(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group all;
    MPI_Group some;
    int last = size - 1;

    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &last, &some);
    MPI_Comm_create(world, some, &comm);
    use(&comm);
    for (int i = 0; i < 2 && rank == last; i++) {
        MPI_Comm_create_group(world, some, 5, &comm);
        use(&comm);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

static void topologies(void)
{
    MPI_Comm comm;
    int periods = 0;
    int next = (rank + 1) % size;

    MPI_Cart_create(world, 1, &size, &periods, 0, &comm);
    use(&comm);
    MPI_Dist_graph_create(world, 1, &rank, (int[]){1}, &next, MPI_UNWEIGHTED,
                          MPI_INFO_NULL, 0, &comm);
    use(&comm);
}

static void inter(void)
{
    MPI_Comm half;
    MPI_Comm bridge;
    MPI_Comm whole;
    int color = rank >= size / 2;
    int value = rank;
    int leader = color == 0 ? size / 2 : 0;
    int root = 0;

    MPI_Comm_split(world, color, rank, &half);
    MPI_Intercomm_create(half, 0, world, leader, 6, &bridge);
    if (color == 0) {
        root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    }
    MPI_Bcast(&value, 1, MPI_INT, root, bridge);
    MPI_Intercomm_merge(bridge, color, &whole);
    use(&whole);
    MPI_Comm_free(&bridge);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    copies();
    groups();
    topologies();
    inter();
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Barrier(world);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
