/* deflate.c - bytes as raw deflate, in pieces of a given size, by zlib
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/deflate.h"

#include <errno.h>
#include <limits.h>

#include <zlib.h>

/* zlib's exponents: of its window, where it keeps some bytes for what is ahead,
 * and of its tables' sizes, which are 64 times and more as large. */
#define WINDOW_LEAST 9
#define WINDOW_MOST 15
#define WINDOW_AHEAD 262
#define MEMORY_LEAST 1
#define MEMORY_MOST 9
#define MEMORY_SHIFT 6

/* 0, or -1 with errno. */
static int stream_run(z_stream *stream, const struct deflate_pieces *to)
{
    int rc;

    do {
        stream->next_out = to->room;
        stream->avail_out = (uInt)to->length;
        do {
            rc = deflate(stream, Z_FINISH);
        } while (rc == Z_OK && stream->avail_out > 0);
        to->take(to->context, to->length - stream->avail_out);
    } while (rc == Z_OK || rc == Z_BUF_ERROR);
    if (rc != Z_STREAM_END) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

static int exponent(size_t length, int least, int most)
{
    int bits = least;

    while (bits < most && (size_t)1 << bits < length) {
        bits++;
    }
    return bits;
}

/* Tables of the size of the bytes, which pack them as well as larger ones: zlib
 * clears all of them, and most blocks of a page are small. */
static int stream_init(z_stream *stream, enum deflate_level level)
{
    size_t window = (size_t)stream->avail_in + WINDOW_AHEAD;
    size_t memory = ((size_t)stream->avail_in >> MEMORY_SHIFT) + 1;

    return deflateInit2(stream, (int)level, Z_DEFLATED,
                        -exponent(window, WINDOW_LEAST, WINDOW_MOST),
                        exponent(memory, MEMORY_LEAST, MEMORY_MOST),
                        Z_DEFAULT_STRATEGY);
}

int deflate_bytes(const void *bytes,
                  size_t length,
                  enum deflate_level level,
                  const struct deflate_pieces *to)
{
    z_stream stream = {.next_in = (z_const Bytef *)bytes,
                       .avail_in = (uInt)length};
    int rc;

    if (length > UINT_MAX) {
        errno = EFBIG;
        return -1;
    }
    if (stream_init(&stream, level) != Z_OK) {
        errno = ENOMEM;
        return -1;
    }
    rc = stream_run(&stream, to);
    (void)deflateEnd(&stream);
    return rc;
}
