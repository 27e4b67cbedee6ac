/* ends.c - a program that ends as its argument asks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     ends abort       rank 1 calls MPI_Abort while rank 0 waits for it
 *     ends kill        rank 1 dies by SIGKILL
 *     ends circle      each waits for the next one's message, for ever
 *     ends early       no MPI call at all
 *     ends unfinished  exits without MPI_Finalize
 *     ends handler     an error, its handler leaves by longjmp, then goes on
 */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf back;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

static void leave_by_handler(void)
{
    MPI_Errhandler errors;
    int value = 0;

    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
    if (setjmp(back) == 0) {
        MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int value = 0;
    int rank, size;

    if (strcmp(how, "early") == 0) {
        return 5;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "handler") == 0) {
        leave_by_handler();
        return 0;
    }
    if (strcmp(how, "unfinished") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        _Exit(0);
    }
    if (rank == 1 && strcmp(how, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 6);
    }
    if (rank == 1 && strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    }
    if (strcmp(how, "circle") == 0) {
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        printf("rank %d of %d is in\n", rank, size);
        (void)fflush(stdout);
        MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    MPI_Recv(&value, 1, MPI_INT, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
