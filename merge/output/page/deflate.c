/* deflate.c - bytes as raw deflate, in pieces of a given size, by zlib
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/deflate.h"

#include <errno.h>
#include <limits.h>

#include <zlib.h>

#define RAW_DEFLATE (-15)
#define MEMORY 9

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
    if (deflateInit2(&stream, (int)level, Z_DEFLATED, RAW_DEFLATE, MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        errno = ENOMEM;
        return -1;
    }
    rc = stream_run(&stream, to);
    (void)deflateEnd(&stream);
    return rc;
}
