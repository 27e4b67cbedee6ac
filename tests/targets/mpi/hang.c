/* hang.c - jobs that a user ends: some hang, some do not
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     hang healthy   works 5 ms, exchanges with both neighbours and meets the
 *                    others, again and again
 *     hang circle    the same 20 times, then each rank receives what the next
 *                    one would send after it had received, too
 *     hang absent    the same 20 times, then all but rank 1 meet, which sleeps
 *     hang final     the same 20 times, then all but rank 1 finalize
 *
 * Each rank prints "rank N is there" when it has come to where it stays, in a
 * healthy job after its 20th time.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMES 20

static int rank, size;

static void work(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&time, &time) != 0) {
    }
}

static void turn(void)
{
    int out = rank, in = 0, sum = 0;

    work(5);
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 7, &in, 1, MPI_INT,
                 (rank + size - 1) % size, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void stay(const char *how)
{
    int token = 0;

    if (strcmp(how, "circle") == 0) {
        MPI_Recv(&token, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Send(&token, 1, MPI_INT, (rank + size - 1) % size, 9,
                 MPI_COMM_WORLD);
    } else if (rank == 1) {
        for (;;) {
            pause();
        }
    } else if (strcmp(how, "absent") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "healthy";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < TIMES; i++) {
        turn();
    }
    printf("rank %d is there\n", rank);
    fflush(stdout);
    while (strcmp(how, "healthy") == 0) {
        turn();
    }
    stay(how);
    MPI_Finalize();
    return 0;
}
