/* faults.c - ranks that are late because of page faults, and what they know
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     faults SHAPE [STEPS [RANK]]
 *
 * All ranks compute the same; one of them (RANK, 1) handles page faults beside
 * that in each step:
 *
 *   map    a buffer that is mapped, filled and unmapped in each step
 *   touch  memory that was never touched before, a part of it in each step
 *   huge   the same in huge pages
 *   small  the same where huge pages were asked for and are off (prctl)
 *   read   a file in the file system, discarded from the page cache before
 *   fork   pages that a child shares, so that each write copies one
 *
 * Each rank prints "faults RANK MINOR MAJOR STEP_MINOR NS": what getrusage()
 * has of it at the end, of its calls of the function that faults, and how long
 * these took.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES ((size_t)24 << 20) /* touched in a step */
#define PAGE ((size_t)4096)

static uint8_t *fresh; /* what is not touched yet */
static size_t fresh_left;
static int file = -1;
static volatile uint64_t sink;

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

__attribute__((noipa)) static void compute(int rounds)
{
    uint64_t x = 1;

    for (int i = 0; i < rounds * 1000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        sink = x;
    }
}

__attribute__((noipa)) static void fill(uint8_t *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE) {
        at[i] = (uint8_t)(at[i] + 1); /* here: fill */
    }
}

static uint8_t *map(size_t bytes)
{
    uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return at;
}

__attribute__((noipa)) static void step_map(void)
{
    uint8_t *buffer = map(BYTES);

    fill(buffer, BYTES);
    munmap(buffer, BYTES);
}

__attribute__((noipa)) static void step_touch(void)
{
    if (fresh_left >= BYTES) {
        fill(fresh, BYTES);
        fresh += BYTES;
        fresh_left -= BYTES;
    }
}

__attribute__((noipa)) static void scan(const uint8_t *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE) {
        sink += at[i]; /* here: scan */
    }
}

__attribute__((noipa)) static void step_read(void)
{
    size_t bytes = (size_t)2 << 20;
    uint8_t *at;

    (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (at != MAP_FAILED) {
        (void)madvise(at, bytes, MADV_RANDOM); /* each page by itself */
        scan(at, bytes);
        munmap(at, bytes);
    }
}

__attribute__((noipa)) static void step_fork(void)
{
    pid_t child = fork();

    if (child == 0) {
        pause();
        _exit(0);
    }
    fill(fresh, BYTES);
    kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

static void file_make(int rank)
{
    char name[64];
    static uint8_t block[1 << 20];

    (void)snprintf(name, sizeof(name), "faults.%d.data", rank);
    file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 2; i++) {
        memset(block, i + 1, sizeof(block));
        if (write(file, block, sizeof(block)) != (ssize_t)sizeof(block)) {
            perror("write");
            exit(1);
        }
    }
    (void)fsync(file);
    (void)unlink(name);
}

static void prepare(const char *shape, int steps, int rank)
{
    size_t bytes = BYTES * (size_t)steps;

    if (strcmp(shape, "read") == 0) {
        file_make(rank);
        return;
    }
    if (strcmp(shape, "small") == 0) {
        (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    }
    bytes = strcmp(shape, "fork") == 0 ? BYTES : bytes;
    fresh = map(bytes + ((size_t)2 << 20));
    fresh += -(uintptr_t)fresh & (((size_t)2 << 20) - 1);
    fresh_left = bytes;
    if (strcmp(shape, "huge") == 0 || strcmp(shape, "small") == 0) {
        (void)madvise(fresh, bytes, MADV_HUGEPAGE);
    }
    if (strcmp(shape, "fork") == 0) {
        fill(fresh, BYTES);
    }
}

static void (*step_of(const char *shape))(void)
{
    if (strcmp(shape, "map") == 0) {
        return step_map;
    }
    if (strcmp(shape, "read") == 0) {
        return step_read;
    }
    return strcmp(shape, "fork") == 0 ? step_fork : step_touch;
}

int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "map";
    int steps = argc > 2 ? atoi(argv[2]) : 40;
    int late = argc > 3 ? atoi(argv[3]) : 1;
    int rounds = argc > 4 ? atoi(argv[4]) : 2000; /* of each step's work */
    int rank, sum, one = 1;
    long faulted = 0;
    int64_t took = 0;
    struct rusage before, after;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == late) {
        prepare(shape, steps, rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < steps; i++) {
        compute(rounds);
        if (rank == late) {
            int64_t begun = now();

            getrusage(RUSAGE_SELF, &before);
            step_of(shape)();
            getrusage(RUSAGE_SELF, &after);
            faulted += after.ru_minflt - before.ru_minflt;
            took += now() - begun;
        }
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    getrusage(RUSAGE_SELF, &after);
    printf("faults %d %ld %ld %ld %lld\n", rank, after.ru_minflt,
           after.ru_majflt, faulted, (long long)took);
    MPI_Finalize();
    return 0;
}
