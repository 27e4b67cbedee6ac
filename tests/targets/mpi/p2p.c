/* p2p.c - each form of point to point, on two ranks, in a fixed order
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * check.py knows what each line has to leave in the records. `p2p late` keeps
 * each rank away from one barrier for 20 ms: a wait for either.
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static char buffer[1 << 16];
static MPI_Comm world;

static void blocking(int rank)
{
    MPI_Status status;

    if (rank == 0) {
        MPI_Send(buffer, 10, MPI_INT, 1, 7, world);
        MPI_Ssend(buffer, 3, MPI_DOUBLE, 1, 8, world);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 9, world);
        MPI_Send(buffer, 4, MPI_CHAR, MPI_PROC_NULL, 1, world);
    } else {
        MPI_Recv(buffer, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world,
                 MPI_STATUS_IGNORE);
        MPI_Recv(buffer, 9, MPI_DOUBLE, 0, 8, world, &status);
        MPI_Recv(MPI_BOTTOM, 0, MPI_BYTE, 0, 9, world, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, 4, MPI_CHAR, MPI_PROC_NULL, 1, world, &status);
    }
    MPI_Sendrecv(buffer, 5, MPI_CHAR, 1 - rank, 20 + rank, buffer + 100, 50,
                 MPI_CHAR, MPI_ANY_SOURCE, 21 - rank, world, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(buffer, 2, MPI_INT, 1 - rank, 30, 1 - rank, 30, world,
                         &status);
}

static void probes(int rank)
{
    MPI_Message message;
    MPI_Status status;
    int flag = 0;

    if (rank == 0) {
        MPI_Send(buffer, 6, MPI_INT, 1, 40, world);
        MPI_Send(buffer, 7, MPI_INT, 1, 41, world);
        MPI_Send(buffer, 8, MPI_INT, 1, 42, world);
        return;
    }
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    MPI_Recv(buffer, 6, MPI_INT, 0, 40, world, MPI_STATUS_IGNORE);
    MPI_Mprobe(0, 41, world, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(buffer, 20, MPI_INT, &message, MPI_STATUS_IGNORE);
    while (!flag) {
        MPI_Iprobe(0, 42, world, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv(buffer, 8, MPI_INT, 0, 42, world, MPI_STATUS_IGNORE);
}

static void requests(int rank)
{
    MPI_Request request[3];
    MPI_Status status[3];
    int flag = 0;

    MPI_Irecv(buffer + 1000, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world,
              &request[0]);
    MPI_Isend(buffer, 11 + rank, MPI_INT, 1 - rank, 50 + rank, world,
              &request[1]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    while (!flag) {
        MPI_Test(&request[1], &flag, &status[0]);
    }
    MPI_Irecv(buffer + 1000, 100, MPI_INT, 1 - rank, 60, world, &request[0]);
    MPI_Irecv(buffer + 2000, 100, MPI_INT, 1 - rank, 61, world, &request[1]);
    MPI_Isend(buffer, 1, MPI_INT, 1 - rank, 60, world, &request[2]);
    MPI_Send(buffer, 2, MPI_INT, 1 - rank, 61, world);
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
    MPI_Waitall(3, request, status);
}

static void some(int rank)
{
    MPI_Request request[2];
    int indices[2];
    int left = 2;
    int index;
    int flag;

    MPI_Irecv(buffer, 9, MPI_CHAR, 1 - rank, 70, world, &request[0]);
    MPI_Irecv(buffer + 99, 9, MPI_CHAR, 1 - rank, 71, world, &request[1]);
    MPI_Send(buffer, 3, MPI_CHAR, 1 - rank, 71, world);
    MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
    MPI_Barrier(world); /* or the peer, ahead, completes both */
    MPI_Send(buffer, 4, MPI_CHAR, 1 - rank, 70, world);
    do {
        MPI_Testany(2, request, &index, &flag, MPI_STATUS_IGNORE);
    } while (!flag);
    MPI_Irecv(buffer, 9, MPI_CHAR, 1 - rank, 72, world, &request[0]);
    MPI_Irecv(buffer + 99, 9, MPI_CHAR, 1 - rank, 73, world, &request[1]);
    MPI_Send(buffer, 5, MPI_CHAR, 1 - rank, 72, world);
    MPI_Waitsome(2, request, &left, indices, MPI_STATUSES_IGNORE);
    MPI_Barrier(world);
    MPI_Send(buffer, 6, MPI_CHAR, 1 - rank, 73, world);
    do {
        MPI_Testsome(2, request, &left, indices, MPI_STATUSES_IGNORE);
    } while (left == 0);
    MPI_Irecv(buffer, 9, MPI_CHAR, 1 - rank, 74, world, &request[0]);
    MPI_Isend(buffer, 7, MPI_CHAR, 1 - rank, 74, world, &request[1]);
    do {
        MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE);
    } while (!flag);
}

static void persistent(int rank)
{
    MPI_Request request[2];

    MPI_Send_init(buffer, 12, MPI_INT, 1 - rank, 80, world, &request[0]);
    MPI_Recv_init(buffer + 999, 40, MPI_INT, MPI_ANY_SOURCE, 80, world,
                  &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE); /* nothing was started */
    MPI_Start(&request[1]);
    MPI_Start(&request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    MPI_Startall(2, request);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

static void freed(int rank)
{
    MPI_Request request;
    MPI_Status status;

    MPI_Barrier(world);
    if (rank == 0) {
        MPI_Isend(buffer, 1, MPI_INT, 1, 90, world, &request);
        MPI_Request_free(&request);
    } else {
        MPI_Recv(buffer, 1, MPI_INT, 0, 90, world, &status);
    }
    MPI_Irecv(buffer, 1, MPI_INT, 1 - rank, 91, world, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
}

/* The barrier behind a part; one rank comes to it late where that is asked. */
static void meet(int late)
{
    const struct timespec pause = {.tv_nsec = 20000000};

    if (late) {
        nanosleep(&pause, NULL);
    }
    MPI_Barrier(world);
}

int main(int argc, char **argv)
{
    const int late = argc > 1;
    int rank;

    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    blocking(rank);
    meet(late && rank == 0);
    probes(rank);
    meet(late && rank == 1);
    requests(rank);
    MPI_Barrier(world);
    some(rank);
    MPI_Barrier(world);
    persistent(rank);
    freed(rank);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
