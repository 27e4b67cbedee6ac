/* unwindspace.c - memory for the unwind tables of many files
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/unwind/unwindspace.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE ((size_t)2 << 20)
#define ALIGNMENT 64

/* At the beginning of its memory. */
struct unwindspace_chunk {
    struct unwindspace_chunk *next;
    size_t bytes; /* with this head */
    size_t used;
};

static size_t rounded(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* Whole large pages. NULL: no memory. */
static void *pages_map(size_t bytes)
{
    uint8_t *at = mmap(NULL, bytes + LARGE_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;

    if (at == MAP_FAILED) {
        return NULL;
    }
    before = rounded((uintptr_t)at, LARGE_PAGE) - (uintptr_t)at;
    if (before > 0) {
        (void)munmap(at, before);
    }
    (void)munmap(at + before + bytes, LARGE_PAGE - before);
    (void)madvise(at + before, bytes, MADV_HUGEPAGE);
    return at + before;
}

static struct unwindspace_chunk *chunk_add(struct unwindspace *space,
                                           size_t bytes)
{
    struct unwindspace_chunk *chunk;

    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    bytes = rounded(bytes + ALIGNMENT, LARGE_PAGE);
    chunk = pages_map(bytes);
    if (chunk != NULL) {
        *chunk = (struct unwindspace_chunk){space->chunks, bytes, ALIGNMENT};
        space->chunks = chunk;
    }
    return chunk;
}

/* All at once: where pages are small, one by one they take longer than what is
 * copied there. A kernel that cannot (before 5.14) does it then. */
static void pages_populate(uint8_t *at, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = (uintptr_t)at % page;

    (void)madvise(at - before, bytes + before, MADV_POPULATE_WRITE);
#else
    (void)at;
    (void)bytes;
#endif
}

void *unwindspace_take(struct unwindspace *space, size_t bytes)
{
    struct unwindspace_chunk *chunk = space->chunks;
    uint8_t *at;

    if (chunk == NULL || chunk->bytes - chunk->used < bytes) {
        chunk = chunk_add(space, bytes);
    }
    if (chunk == NULL) {
        return NULL;
    }
    at = (uint8_t *)chunk + chunk->used;
    chunk->used += rounded(bytes, ALIGNMENT); /* the rest is aligned, too */
    pages_populate(at, bytes);
    return at;
}

void unwindspace_fini(struct unwindspace *space)
{
    while (space->chunks != NULL) {
        struct unwindspace_chunk *next = space->chunks->next;

        (void)munmap(space->chunks, space->chunks->bytes);
        space->chunks = next;
    }
}
