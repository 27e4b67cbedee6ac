/* wild.c - a program with a wild pointer: it overwrites recording memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     wild SEED
 *
 * Records marks and sleeps in a few threads; meanwhile one of them writes to
 * the pages of the ring that the injected libraries mapped, in the way that the
 * seed chooses. Then it records on, starts more threads and a child that
 * attaches anew. Without ckagent nothing is overwritten. Prints "hello", ends
 * with 3.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/inject/ck.h"

#define PAGE ((size_t)4096)
#define HEAD_PAGES 17 /* the header and the table of processes */
#define AREAS 64

/* A writable mapping of the ring. */
struct area {
    uint8_t *at;
    size_t pages;
};

static struct area areas[AREAS];
static size_t areas_count;
static uint64_t state;
static atomic_bool is_written;

static uint64_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void areas_find(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from, to;
        char rights[8];

        if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 &&
            rights[1] == 'w' && strstr(line, ".ring\n") != NULL &&
            areas_count < AREAS) {
            areas[areas_count++] =
                (struct area){(uint8_t *)from, (to - from) / PAGE};
        }
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
}

/* What a wild pointer leaves: zeros, ones, small numbers, addresses, rubbish.
 */
static uint64_t word(unsigned kind)
{
    switch (kind % 5) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return chance() % 4096;
    case 3:
        return (uintptr_t)&state + chance() % 4096;
    default:
        return chance();
    }
}

static void page_fill(uint8_t *page, unsigned kind)
{
    for (size_t i = 0; i < PAGE; i += sizeof(uint64_t)) {
        uint64_t value = word(kind);

        memcpy(page + i, &value, sizeof(value));
    }
}

static void
words_put(uint8_t *from, size_t bytes, unsigned kind, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = word(kind);
        size_t size = (size_t)1 << chance() % 4;

        memcpy(from + chance() % (bytes / size) * size, &value, size);
    }
}

/* The head is the mapping that begins the file: header, tables, slots. */
static void overwrite(unsigned way, unsigned kind)
{
    struct area *head = &areas[0];
    struct area *any = &areas[chance() % areas_count];

    for (size_t i = 0; i < areas_count; i++) {
        if (*(const uint64_t *)areas[i].at == 0x3130474e49524b43ull) {
            head = &areas[i];
        }
    }
    switch (way % 8) {
    case 0:
        page_fill(head->at, kind);
        break;
    case 1:
        words_put(head->at, PAGE, kind, 1 + chance() % 16);
        break;
    case 2: /* the first slots, which are in use */
        page_fill(head->at + (HEAD_PAGES + chance() % 2) * PAGE, kind);
        break;
    case 3:
        words_put(head->at + HEAD_PAGES * PAGE, 4 * PAGE, kind, 64);
        break;
    case 4:
        page_fill(head->at + chance() % head->pages * PAGE, kind);
        break;
    case 5:
        page_fill(any->at + chance() % any->pages * PAGE, kind);
        break;
    case 6:
        for (size_t i = 0; i < head->pages; i++) {
            page_fill(head->at + i * PAGE, kind);
        }
        break;
    default:
        for (size_t a = 0; a < areas_count; a++) {
            words_put(areas[a].at, areas[a].pages * PAGE, kind, 256);
        }
    }
}

static void record(int64_t count)
{
    const struct timespec pause = {.tv_nsec = 200000};

    for (int64_t i = 0; i < count; i++) {
        ck_range_push("work");
        ck_mark("number", i);
        ck_range_pop();
        if (i % 50 == 49) {
            (void)nanosleep(&pause, NULL);
        }
    }
}

/* A thread that ends takes its mapping with it: not while it is written to. */
static void *thread_main(void *unused)
{
    do {
        record(300);
    } while (!atomic_load(&is_written));
    record(300);
    return unused;
}

static void threads_run(bool is_wild, unsigned seed)
{
    pthread_t threads[3];

    for (int i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], NULL, thread_main, NULL) != 0) {
            exit(1);
        }
    }
    record(300);
    if (is_wild) {
        areas_find();
        if (areas_count > 0) {
            overwrite(seed, seed / 8);
        }
        atomic_store(&is_written, true);
    }
    record(300);
    for (int i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    pid_t child;
    int status = 1;

    if (argc > 2) {
        record(200); /* the child */
        return 4;
    }
    state = 0x9e3779b97f4a7c15ull * (seed + 1);
    threads_run(true, seed);
    threads_run(false, seed);
    child = fork();
    if (child == 0) {
        record(100);
        (void)execl(argv[0], argv[0], argv[1], "child", (char *)NULL);
        _exit(5);
    }
    (void)waitpid(child, &status, 0);
    (void)puts("hello");
    return WIFEXITED(status) && WEXITSTATUS(status) == 4 ? 3 : 1;
}
