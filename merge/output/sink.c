/* sink.c - a file that is written as it grows, plain or .gz
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/sink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "merge/model/memory.h"
#include "merge/output/outputfile.h"
#include "merge/output/words.h"

#define SINK_BYTES ((size_t)256 << 10)
/* Room that one number, or one step of a string, needs at most. */
#define SINK_ITEM 64

struct sink {
    struct outputfile target;
    int fd;
    gzFile gzip; /* NULL = plain */
    int error;   /* errno of the first failure */
    size_t used;
    char bytes[SINK_BYTES];
};

struct sink *sink_create(const char *path, struct ck_err *err)
{
    struct sink *sink = xmalloc(sizeof(*sink));
    size_t length = strlen(path);

    sink->gzip = NULL;
    sink->error = 0;
    sink->used = 0;
    if (outputfile_open(&sink->target, path, 0600, err) != 0) {
        free(sink);
        return NULL;
    }
    sink->fd = sink->target.fd;
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0) {
        sink->gzip = gzdopen(sink->fd, "wb1");
        if (sink->gzip == NULL) {
            (void)close(sink->fd);
            errno = ENOMEM;
            (void)outputfile_close(&sink->target, false, err);
            free(sink);
            return NULL;
        }
    }
    return sink;
}

static void sink_close(struct sink *sink)
{
    int rc = sink->gzip != NULL ? (gzclose(sink->gzip) == Z_OK ? 0 : -1)
                                : close(sink->fd);

    if (rc != 0 && sink->error == 0) {
        sink->error = errno == 0 ? EIO : errno;
    }
    sink->fd = -1;
}

void sink_destroy(struct sink *sink)
{
    if (sink == NULL) {
        return;
    }
    if (sink->fd >= 0) {
        sink_close(sink);
        (void)outputfile_close(&sink->target, false, NULL);
    }
    free(sink);
}

static void sink_flush(struct sink *sink)
{
    size_t done = 0;

    while (sink->error == 0 && done < sink->used) {
        ssize_t n = sink->gzip != NULL ? gzwrite(sink->gzip, sink->bytes + done,
                                                 (unsigned)(sink->used - done))
                                       : write(sink->fd, sink->bytes + done,
                                               sink->used - done);

        if (n > 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            sink->error = errno == 0 ? EIO : errno;
        }
    }
    sink->used = 0;
}

void sink_bytes(struct sink *sink, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t part = SINK_BYTES - sink->used;

        part = part < length ? part : length;
        memcpy(sink->bytes + sink->used, bytes, part);
        sink->used += part;
        bytes += part;
        length -= part;
        if (sink->used == SINK_BYTES) {
            sink_flush(sink);
        }
    }
}

void sink_text(struct sink *sink, const char *text)
{
    sink_bytes(sink, text, strlen(text));
}

/* Room for a small item at the end of the buffer. */
static char *sink_room(struct sink *sink)
{
    if (SINK_BYTES - sink->used < SINK_ITEM) {
        sink_flush(sink);
    }
    return sink->bytes + sink->used;
}

/* Digits of a number; returns how many. */
static size_t digits_put(char *to, uint64_t value)
{
    char digits[20];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < count; i++) {
        to[i] = digits[count - 1 - i];
    }
    return count;
}

void sink_int(struct sink *sink, int64_t value)
{
    char *to = sink_room(sink);
    size_t used = 0;

    if (value < 0) {
        to[used++] = '-';
    }
    used += digits_put(to + used,
                       value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    sink->used += used;
}

void sink_us(struct sink *sink, int64_t ns)
{
    char *to = sink_room(sink);
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    unsigned rest = (unsigned)(size % 1000);
    size_t used = 0;

    if (ns < 0) {
        to[used++] = '-';
    }
    used += digits_put(to + used, size / 1000);
    to[used++] = '.';
    to[used++] = (char)('0' + rest / 100);
    to[used++] = (char)('0' + rest / 10 % 10);
    to[used++] = (char)('0' + rest % 10);
    sink->used += used;
}

void sink_string(struct sink *sink, const char *text)
{
    static const char replacement[] = {'\357', '\277', '\275'}; /* U+FFFD */
    const char *at = text;

    sink_bytes(sink, "\"", 1);
    while (*at != '\0') {
        size_t length = word_utf8(at);
        char *to = sink_room(sink);

        if (length == 0) {
            memcpy(to, replacement, sizeof(replacement));
            sink->used += sizeof(replacement);
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            to[0] = '\\';
            to[1] = *at;
            sink->used += 2;
        } else if (length == 1 && (unsigned char)*at < 0x20) {
            sink->used += (size_t)snprintf(to, SINK_ITEM, "\\u%04x", *at);
        } else {
            memcpy(to, at, length);
            sink->used += length;
        }
        at += length;
    }
    sink_bytes(sink, "\"", 1);
}

int sink_error(const struct sink *sink)
{
    if (sink->error != 0) {
        errno = sink->error;
        return -1;
    }
    return 0;
}

const char *sink_path(const struct sink *sink)
{
    return sink->target.named;
}

int sink_finish(struct sink *sink, struct ck_err *err)
{
    sink_flush(sink);
    sink_close(sink);
    errno = sink->error;
    return outputfile_close(&sink->target, sink->error == 0, err);
}
