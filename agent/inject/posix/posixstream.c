/* posixstream.c - streams of stdio: what the buffer serves is only counted
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * glibc's streams call its own read and write inside, which no wrapper sees.
 * A request that fits into the buffer is counted and reads no clock.
 */
#include <errno.h>
#include <stdio.h>

#include "agent/inject/posix/posixcall.h"
#include "agent/inject/posix/posixpath.h"

typedef void *(*open_f)(const char *, const char *);
typedef int (*stream_f)(FILE *);
typedef size_t (*move_f)(const void *, size_t, size_t, FILE *);

#define STREAM(symbol_, name) POSIX_SYMBOL(symbol_, POSIX_##name, POSIX_PLAIN)
STREAM(fopen, fopen);
STREAM(fopen64, fopen);
STREAM(fclose, fclose);
STREAM(fflush, fflush);
STREAM(fread, fread);
STREAM(fwrite, fwrite);

/* The stream's descriptor + 1, 0 = none. Keeps errno. */
static uint32_t number_of(FILE *stream)
{
    int saved = errno;
    int fd = stream == NULL ? -1 : fileno(stream);

    errno = saved;
    return fd < 0 ? 0 : (uint32_t)fd + 1;
}

static void *open_through(const struct posix_entry *entry,
                          open_f next,
                          const char *path,
                          const char *mode,
                          const void *site)
{
    struct posix_object object = {0};
    struct posix_call call;
    void *stream;

    if (next == NULL || posix_is_inside()) {
        return next == NULL ? NULL : next(path, mode);
    }
    posix_begin(&call);
    stream = next(path, mode);
    object.is_failed = stream == NULL;
    object.number = number_of(stream);
    if (object.number != 0) {
        posix_path_open((int)object.number - 1, path);
    }
    posix_end(&call, entry, site, &object);
    return stream;
}

INJECT_ENTRY(void *, fopen, const char *path, const char *mode)
{
    return open_through(&data_fopen, (open_f)POSIX_NEXT(fopen), path, mode,
                        __builtin_return_address(0));
}

INJECT_ENTRY(void *, fopen64, const char *path, const char *mode)
{
    return open_through(&data_fopen64, (open_f)POSIX_NEXT(fopen64), path, mode,
                        __builtin_return_address(0));
}

static int stream_through(const struct posix_entry *entry,
                          stream_f next,
                          FILE *stream,
                          uint32_t number,
                          const void *site)
{
    struct posix_object object = {.number = number};
    struct posix_call call;
    int rc;

    if (next == NULL || posix_is_inside()) {
        return next == NULL ? EOF : next(stream);
    }
    posix_begin(&call);
    rc = next(stream);
    object.is_failed = rc != 0;
    posix_end(&call, entry, site, &object);
    return rc;
}

INJECT_ENTRY(int, fclose, FILE *stream)
{
    uint32_t number = number_of(stream);
    int rc = stream_through(&data_fclose, (stream_f)POSIX_NEXT(fclose), stream,
                            number, __builtin_return_address(0));

    posix_path_forget((int)number - 1);
    return rc;
}

INJECT_ENTRY(int, fflush, FILE *stream)
{
    return stream_through(&data_fflush, (stream_f)POSIX_NEXT(fflush), stream,
                          number_of(stream), __builtin_return_address(0));
}

/* Bytes that the buffer gives or takes without a system call. */
static size_t room_of(const struct posix_entry *entry, const FILE *stream)
{
#ifdef __GLIBC__
    if (entry->function == POSIX_fread) {
        return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
    }
    return stream->_IO_write_end > stream->_IO_write_ptr
               ? (size_t)(stream->_IO_write_end - stream->_IO_write_ptr)
               : 0;
#else
    (void)entry;
    (void)stream;
    return 0;
#endif
}

/* A request as fread() and fwrite() take it. */
struct request {
    const void *data;
    size_t size;
    size_t count;
    FILE *stream;
};

static size_t move_through(const struct posix_entry *entry,
                           move_f next,
                           const struct request *want,
                           const void *site)
{
    struct posix_object object = {0};
    struct posix_call call;
    size_t done, bytes;

    if (next == NULL || posix_is_inside()) {
        return next == NULL
                   ? 0
                   : next(want->data, want->size, want->count, want->stream);
    }
    if (!__builtin_mul_overflow(want->size, want->count, &bytes) &&
        bytes <= room_of(entry, want->stream)) {
        posix_count_add(entry->function, 0, bytes);
        return next(want->data, want->size, want->count, want->stream);
    }
    object.number = number_of(want->stream);
    posix_begin(&call);
    done = next(want->data, want->size, want->count, want->stream);
    object.bytes = done * want->size;
    object.is_failed = done < want->count;
    posix_end(&call, entry, site, &object);
    return done;
}

INJECT_ENTRY(size_t, fread, void *data, size_t size, size_t count, FILE *stream)
{
    return move_through(&data_fread, (move_f)POSIX_NEXT(fread),
                        &(struct request){data, size, count, stream},
                        __builtin_return_address(0));
}

INJECT_ENTRY(
    size_t, fwrite, const void *data, size_t size, size_t count, FILE *stream)
{
    return move_through(&data_fwrite, (move_f)POSIX_NEXT(fwrite),
                        &(struct request){data, size, count, stream},
                        __builtin_return_address(0));
}
