/* waker.c - a process that wakes beside a program, and does next to nothing
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     waker MICROSECONDS PROGRAM [ARGUMENT]...
 *
 * Runs the program with a ring for its records (barering.h), and meanwhile,
 * each so many microseconds, reads what the program has written, makes
 * differences of it in as many bytes as they need, and writes these to a file
 * whenever a frame's bytes are together: what a collector of such records can
 * do least. What the program loses by it is the machine's price for being
 * recorded at all. Ends with the program's status; the last line has its own
 * CPU time and what it read.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/barering.h"

#define FRAME_BYTES ((size_t)256 << 10)
#define NUMBER_BYTES 10 /* the most of one */

static struct bare_ring *ring;
static int ring_fd;
static uint64_t last[BARE_UNITS_MAX][BARE_WORDS];
static uint8_t frame[FRAME_BYTES + BARE_WORDS * NUMBER_BYTES];
static size_t filled;
static FILE *frames;
static long wakes;
static long units_read;
static long bytes_written;

static void number_put(uint64_t value)
{
    while (value >= 0x80) {
        frame[filled++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    frame[filled++] = (uint8_t)value;
}

static void frame_write(void)
{
    (void)fwrite(frame, 1, filled, frames);
    bytes_written += (long)filled;
    filled = 0;
}

static void unit_read(const uint64_t unit[BARE_WORDS])
{
    uint64_t *before = last[unit[3] % BARE_UNITS_MAX];

    for (int i = 0; i < BARE_WORDS; i++) {
        uint64_t more = unit[i] - before[i];

        number_put(more << 1 ^ (uint64_t)((int64_t)more >> 63));
        before[i] = unit[i];
    }
    if (filled >= FRAME_BYTES) {
        frame_write();
    }
}

static void look(void)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    /* acquire: pairs with the release in bare_record() */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

    wakes++;
    units_read += (long)(head - tail);
    for (; tail != head; tail++) {
        unit_read(ring->body[tail % BARE_UNITS]);
    }
    /* release: pairs with the acquire in bare_record() */
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
}

static bool waker_init(void)
{
    char number[16];

    ring_fd = memfd_create("records", 0);
    if (ring_fd < 0 || ftruncate(ring_fd, sizeof(*ring)) != 0) {
        return false;
    }
    ring = bare_map(ring_fd);
    frames = tmpfile();
    if (ring == NULL || frames == NULL) {
        return false;
    }
    (void)setvbuf(frames, NULL, _IONBF, 0);
    (void)snprintf(number, sizeof(number), "%d", ring_fd);
    return setenv(BARE_ENV, number, 1) == 0;
}

static double cpu_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
    struct timespec pause = {0, argc > 2 ? atol(argv[1]) * 1000 : 0};
    int status = 0;
    pid_t pid;

    if (pause.tv_nsec <= 0 || pause.tv_nsec >= 1000000000) {
        (void)fprintf(stderr,
                      "usage: waker MICROSECONDS PROGRAM [ARGUMENT]...\n");
        return 2;
    }
    if (!waker_init()) {
        perror("waker");
        return 1;
    }
    pid = fork();
    if (pid == 0) {
        (void)execvp(argv[2], &argv[2]);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
        (void)nanosleep(&pause, NULL);
        look();
    }
    frame_write();
    (void)printf("waker cpu %.0f ns wakes %ld units %ld bytes %ld lost %llu\n",
                 cpu_ns(), wakes, units_read, bytes_written,
                 (unsigned long long)atomic_load(&ring->lost));
    (void)fclose(frames);
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
