/* kills.c - a program to be killed: records marks, and elsewhere how many
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     kills COUNT PAGE [mpi]
 *
 * Marks 0, 1, ... of name "number"; after each its number + 1 is stored in
 * the file PAGE.RANK, which the kernel keeps whoever dies. COUNT 0: until it
 * is killed. With "mpi" an MPI_Allreduce after each 50 marks. Ends with 7,
 * with "mpi" with 0 (mpirun kills the others of a rank that fails).
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/inject/ck.h"

static _Atomic int64_t *page_open(const char *path, int rank)
{
    char name[4096];
    void *page;
    int fd;

    (void)snprintf(name, sizeof(name), "%s.%d", path, rank);
    fd = open(name, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0) {
        return NULL;
    }
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    return page == MAP_FAILED ? NULL : page;
}

int main(int argc, char **argv)
{
    struct timespec pause = {.tv_nsec = 20000};
    long count = argc > 2 ? atol(argv[1]) : 0;
    int is_mpi = argc > 3;
    int rank = 0;
    double one = 1, sum;
    _Atomic int64_t *said;

    if (is_mpi) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    said = argc > 2 ? page_open(argv[2], rank) : NULL;
    if (said == NULL) {
        perror("kills: PAGE");
        return 1;
    }
    for (long i = 0; count == 0 || i < count; i++) {
        ck_mark("number", i);
        atomic_store(said, i + 1);
        if (i % 10 == 9) {
            (void)nanosleep(&pause, NULL);
        }
        if (is_mpi && i % 50 == 49) {
            MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    if (is_mpi) {
        MPI_Finalize();
    }
    return is_mpi ? 0 : 7;
}
