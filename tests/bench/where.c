/* where.c - steps of many ranks, for what `ckagg --where` costs them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bench_where quiet|busy SECONDS FILE
 *
 * Each step is 20 ms of sleep, or 1 ms of computing, and an MPI_Allreduce. Rank
 * 0 prints "begun" behind the first one, as a job of many ranks takes long to
 * begin, and at the end writes a line for each: its begin and end, ns of
 * CLOCK_MONOTONIC.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PER_MS 750000
#define STEPS_MAX 100000

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void work(int is_busy)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    volatile uint64_t sink;
    uint64_t x = 1;

    if (!is_busy) {
        (void)nanosleep(&pause, NULL);
        return;
    }
    for (long i = 0; i < PER_MS; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
    }
    sink = x;
    (void)sink;
}

int main(int argc, char **argv)
{
    static int64_t times[STEPS_MAX + 1];
    int is_busy, rank, count = 0, goes_on = 1;
    int64_t end;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 4) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    is_busy = strcmp(argv[1], "busy") == 0;
    end = now() + atoi(argv[2]) * INT64_C(1000000000);
    times[0] = now();
    while (goes_on) {
        int more = count + 1 < STEPS_MAX && now() < end;

        work(is_busy);
        MPI_Allreduce(&more, &goes_on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        times[++count] = now();
        if (rank == 0 && count == 1) {
            printf("begun\n");
            (void)fflush(stdout);
        }
    }
    if (rank == 0) {
        FILE *file = fopen(argv[3], "w");

        for (int i = 0; file != NULL && i < count; i++) {
            fprintf(file, "%lld %lld\n", (long long)times[i],
                    (long long)times[i + 1]);
        }
        if (file == NULL || fclose(file) != 0) {
            perror(argv[3]);
        }
    }
    MPI_Finalize();
    return 0;
}
