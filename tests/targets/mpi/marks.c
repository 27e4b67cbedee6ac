/* marks.c - marks that carry the time of a clock that all ranks share
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     marks MS      for so long, each 5 ms an MPI_Allreduce and a mark
 *
 * A mark's value is CLOCK_REALTIME, read just before it; a second one, "width",
 * is how long that and the mark took.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <mpi.h>

#include "agent/inject/ck.h"

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char **argv)
{
    struct timespec rest = {0, 5000000};
    int64_t end, more = 1;

    MPI_Init(&argc, &argv);
    end = now() + (argc > 1 ? strtoll(argv[1], NULL, 10) : 100) * 1000000;
    while (more != 0) {
        int64_t mine = now() < end;
        int64_t before = now();

        ck_mark("truth", before);
        ck_mark("width", now() - before);
        MPI_Allreduce(&mine, &more, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
        (void)nanosleep(&rest, NULL);
    }
    MPI_Finalize();
    return 0;
}
