/* stage.c - one program of a pipeline
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * `stage 1` makes blocks, `stage 2` passes them on, `stage 3` takes them. The
 * one that SLOW names sleeps before each. Blocks are larger than a pipe holds,
 * so each stage waits for the next one, too. Each writes its pid and how long
 * it was in read() and in write() to FOLDER/stage.NUMBER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 12, BYTES = 1 << 18 };

static char block[BYTES];
static double read_time, write_time;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void take(void)
{
    double begin = now();

    for (size_t done = 0; done < BYTES;) {
        ssize_t got = read(0, block + done, BYTES - done);

        if (got <= 0)
            exit(1);
        done += (size_t)got;
    }
    read_time += now() - begin;
}

static void give(void)
{
    double begin = now();

    for (size_t done = 0; done < BYTES;) {
        ssize_t put = write(1, block + done, BYTES - done);

        if (put <= 0)
            exit(1);
        done += (size_t)put;
    }
    write_time += now() - begin;
}

int main(int argc, char **argv)
{
    int number = atoi(argv[argc - 1]), slow = atoi(getenv("SLOW"));
    struct timespec pause = {0, 50000000};
    char name[4096];
    FILE *out;

    usleep(200000); /* a younger process is not recorded */
    for (int i = 0; i < BLOCKS; i++) {
        if (number > 1)
            take();
        if (number == slow)
            nanosleep(&pause, NULL);
        if (number < 3)
            give();
    }
    snprintf(name, sizeof(name), "%s/stage.%d", getenv("FOLDER"), number);
    out = fopen(name, "w");
    fprintf(out, "%d %.6f %.6f\n", (int)getpid(), read_time, write_time);
    fclose(out);
    return 0;
}
