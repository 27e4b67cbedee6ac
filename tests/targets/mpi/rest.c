/* rest.c - one-sided, files, more requests than one call's table holds, and
 * wrappers that are there before their first call
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     rest FILE
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MANY 300
#define PAGE 4096
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

static void onesided(int rank)
{
    double memory[8] = {0};
    double value = rank;
    MPI_Win window;

    MPI_Win_create(memory, sizeof(memory), sizeof(double), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &window);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_DOUBLE, 1 - rank, rank, 1, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

static void files(int rank, const char *path)
{
    int values[16] = {0};
    MPI_Request request;
    MPI_File file;

    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR,
                  MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, (MPI_Offset)rank * 64, values, 16, MPI_INT,
                          MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 0, values, 4, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void many(int rank)
{
    static MPI_Request requests[2 * MANY];
    static int values[2 * MANY];

    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(&values[i], 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD,
                  &requests[i]);
        MPI_Isend(&values[MANY + i], 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD,
                  &requests[MANY + i]);
    }
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
}

static long faults(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Who calls a function first meets no page of its wrapper that is not mapped
 * yet. Linux can do that from 5.14 on. */
static void wrappers_touch(void)
{
    uintptr_t functions[] = {(uintptr_t)MPI_Barrier, (uintptr_t)MPI_Allreduce,
                             (uintptr_t)MPI_Send, (uintptr_t)MPI_Win_fence};
    static char page[2 * PAGE];
    void *own = (void *)(((uintptr_t)page + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    long before;
    char sum = 0;

    if (madvise(own, PAGE, MADV_POPULATE_READ) != 0) {
        return;
    }
    before = faults();
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        sum = (char)(sum + *(const volatile char *)functions[i]);
    }
    if (faults() != before) {
        fprintf(stderr, "%ld faults at wrappers %d\n", faults() - before, sum);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    wrappers_touch();
    onesided(rank);
    files(rank, argv[1]);
    many(rank);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
