/* omp_cost.c - what a parallel region takes, with ck and without
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     omp_cost THREADS ROUNDS [raw|tsc]
 *
 * Prints, for each round of 20,000 regions with nothing in them, its number,
 * and ns of time and of the program's CPU time a region. With a clock the
 * program itself does what no recorder can do without: two readings of that
 * clock and a record of 64 bytes for a region, and the same for each thread
 * where there are several, in memory that a process which wakes each
 * millisecond reads.
 */
#include <omp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define REGIONS 20000
#define THREADS_MAX 64
#define RECORDS 65536 /* in the ring of a thread: 4 MiB */

struct record {
    _Alignas(64) uint16_t kind;
    uint8_t units;
    uint32_t name;
    int64_t start, dur;
    uint64_t site;
    uint32_t region, outer, thread, size;
    uint64_t object;
    uint32_t number, level;
};

struct ring {
    _Alignas(128) _Atomic uint64_t head;
    _Alignas(128) _Atomic uint64_t tail;
    _Alignas(4096) struct record records[RECORDS];
};

static struct ring *rings;
static uint32_t regions;
static bool is_by_counter;

static int64_t now(clockid_t clock)
{
    struct timespec ts;

    (void)clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static inline int64_t stamp(void)
{
#if defined(__x86_64__)
    if (is_by_counter) {
        return (int64_t)__builtin_ia32_rdtsc();
    }
#endif
    return now(CLOCK_MONOTONIC_RAW);
}

static inline void record_write(int thread, const struct record *record)
{
    struct ring *ring = &rings[thread];
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    ring->records[head % RECORDS] = *record;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

/* The reader: to the end of its parent. */
static void rings_read(int threads)
{
    static uint8_t copy[sizeof(struct record) * RECORDS];
    struct timespec pause = {.tv_nsec = 1000000};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() != 1) {
        for (int i = 0; i < threads; i++) {
            struct ring *ring = &rings[i];
            uint64_t tail = atomic_load(&ring->tail);
            uint64_t head =
                atomic_load_explicit(&ring->head, memory_order_acquire);

            for (; tail < head; tail++) {
                memcpy(&copy[tail % RECORDS * sizeof(struct record)],
                       &ring->records[tail % RECORDS], sizeof(struct record));
            }
            atomic_store(&ring->tail, tail);
        }
        (void)nanosleep(&pause, NULL);
    }
    _exit(0);
}

static void regions_plain(int threads)
{
    volatile int sink = 0;

    for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel num_threads(threads)
        if (omp_get_thread_num() == 0) {
            sink = i;
        }
    }
    (void)sink;
}

static void regions_bare(int threads)
{
    volatile int sink = 0;

    for (int i = 0; i < REGIONS; i++) {
        struct record region = {.kind = 1, .start = stamp()};

        region.region = ++regions;
#pragma omp parallel num_threads(threads)
        {
            int thread = omp_get_thread_num();
            struct record part = {.kind = 2};

            if (threads > 1) {
                part.start = stamp();
            }
            if (thread == 0) {
                sink = i;
            }
            if (threads > 1) {
                part.region = region.region;
                part.thread = (uint32_t)thread;
                part.dur = stamp() - part.start;
                record_write(thread, &part);
            }
        }
        region.dur = stamp() - region.start;
        record_write(0, &region);
    }
    (void)sink;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 9;
    bool is_bare = argc > 3;

    is_by_counter = is_bare && strcmp(argv[3], "tsc") == 0;
    if (threads < 1 || threads > THREADS_MAX) {
        return 2;
    }
    if (is_bare) {
        rings = mmap(NULL, sizeof(struct ring) * (size_t)threads,
                     PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (rings == MAP_FAILED) {
            return 2;
        }
        if (fork() == 0) {
            rings_read(threads);
        }
    }
    for (int k = 0; k < rounds; k++) {
        struct timespec pause = {.tv_nsec = 200000000};
        int64_t begin = now(CLOCK_MONOTONIC_RAW);
        int64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID);

        if (is_bare) {
            regions_bare(threads);
        } else {
            regions_plain(threads);
        }
        cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        printf("%d %.1f %.1f\n", k + 1,
               (double)(now(CLOCK_MONOTONIC_RAW) - begin) / REGIONS,
               (double)cpu / REGIONS);
        (void)fflush(stdout);
        (void)nanosleep(&pause, NULL); /* the ring is emptied */
    }
    return 0;
}
