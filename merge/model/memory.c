/* memory.c - memory, or the end of ckmerge
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launch/cli.h"
#include "merge/model/tempfiles.h"

/* So much of the heap is asked for at once, which takes addresses alone; few
 * merges need more. mallopt() takes no larger threshold. */
#define HEAP_LARGE (32 << 20)
/* Longer arrays have pages of their own, and grow without a copy. */
#define HEAP_LONGEST (4 << 20)
#define HEAP_KEPT (1 << 30)
#define HEAP_STEP (128 << 10)
#define LARGE_PAGE ((uintptr_t)2 << 20)

/* A page that malloc() has written to before it is to be a large one stays
 * small. So the heads of its free memory come into the small page before the
 * first large one, and behind the last. */
void memory_large_pages(void)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)sbrk(0) + page;
    uintptr_t end;

    (void)sbrk((intptr_t)((LARGE_PAGE - begin % LARGE_PAGE) % LARGE_PAGE));
    begin = (uintptr_t)sbrk(0) + page;
    (void)mallopt(M_MMAP_THRESHOLD, HEAP_LARGE);
    (void)mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
    (void)mallopt(M_TOP_PAD, 0);
    free(*(void *volatile *)&(void *){malloc(HEAP_LARGE - LARGE_PAGE)});
    (void)mallopt(M_MMAP_THRESHOLD, HEAP_LONGEST);
    (void)mallopt(M_TOP_PAD, HEAP_STEP);
    begin = (begin + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    end = (uintptr_t)sbrk(0) / LARGE_PAGE * LARGE_PAGE;
    if (begin < end) {
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    }
}

void memory_out(size_t bytes)
{
    /* One thread prints it, and ends both. */
    static atomic_flag is_said = ATOMIC_FLAG_INIT;
    /* No stream: it might want memory for its buffer. */
    char line[256];
    int length =
        snprintf(line, sizeof(line),
                 "ckmerge: out of memory: %zu more bytes were refused; raise "
                 "the limit (ulimit -v, cgroup), free memory, or merge less at "
                 "once (--ranks, --from, --to)\n",
                 bytes);

    while (atomic_flag_test_and_set(&is_said)) {
        (void)pause();
    }
    (void)!write(STDERR_FILENO, line, (size_t)length);
    tempfiles_remove();
    _exit(CK_EXIT_FAILED);
}

void *xmalloc(size_t bytes)
{
    void *memory = malloc(bytes == 0 ? 1 : bytes);

    if (memory == NULL) {
        memory_out(bytes);
    }
    return memory;
}

void *xcalloc(size_t count, size_t size)
{
    void *memory = count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);

    if (memory == NULL) {
        memory_out(count > SIZE_MAX / size ? SIZE_MAX : count * size);
    }
    return memory;
}

void *xrealloc(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes == 0 ? 1 : bytes);

    if (memory == NULL) {
        memory_out(bytes);
    }
    return memory;
}

char *xstrndup(const char *text, size_t length)
{
    char *copy = strndup(text, length);

    if (copy == NULL) {
        memory_out(strnlen(text, length) + 1);
    }
    return copy;
}

char *xstrdup(const char *text)
{
    return xstrndup(text, strlen(text));
}

struct stream {
    char **text;
    size_t *length;
    size_t room;
};

static ssize_t stream_write(void *cookie, const char *bytes, size_t count)
{
    struct stream *stream = cookie;

    if (count >= stream->room - *stream->length) {
        if (count > SIZE_MAX / 2 - stream->room) {
            memory_out(SIZE_MAX);
        }
        stream->room = stream->room * 2 + count;
        *stream->text = xrealloc(*stream->text, stream->room);
    }
    memcpy(*stream->text + *stream->length, bytes, count);
    *stream->length += count;
    (*stream->text)[*stream->length] = '\0';
    return (ssize_t)count;
}

static int stream_close(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *xmemstream(char **text, size_t *length)
{
    const cookie_io_functions_t how = {.write = stream_write,
                                       .close = stream_close};
    struct stream *stream = xmalloc(sizeof(*stream));
    FILE *file = fopencookie(stream, "w", how);

    if (file == NULL) {
        memory_out(BUFSIZ);
    }
    *stream = (struct stream){text, length, 256};
    *text = xcalloc(1, stream->room);
    *length = 0;
    return file;
}
