/* threads.c - four threads that send, receive and reduce at the same time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each thread has a communicator and a tag of its own. Exits 77 where the MPI
 * has no MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS 200

static MPI_Comm comms[THREADS];
static int rank;

static void *work(void *number)
{
    int me = (int)(intptr_t)number;
    MPI_Request request[2];
    int out = me;
    int in = 0;

    for (int i = 0; i < ROUNDS; i++) {
        MPI_Irecv(&in, 1, MPI_INT, 1 - rank, me, comms[me], &request[0]);
        MPI_Isend(&out, 1, MPI_INT, 1 - rank, me, comms[me], &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        if (i % 10 == 0) {
            MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, comms[me]);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (level < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
