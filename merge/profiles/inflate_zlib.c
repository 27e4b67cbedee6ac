/* inflate_zlib.c - one step of a gzip decompressor, by zlib
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/inflate.h"

#include <stdlib.h>

#include <zlib.h>

#include "merge/model/memory.h"

#define WINDOW_GZIP (15 + 16)

struct inflater {
    z_stream stream;
};

struct inflater *inflater_create(void)
{
    struct inflater *inflater = xcalloc(1, sizeof(*inflater));

    if (inflateInit2(&inflater->stream, WINDOW_GZIP) != Z_OK) {
        free(inflater);
        return NULL;
    }
    return inflater;
}

void inflater_destroy(struct inflater *inflater)
{
    if (inflater != NULL) {
        (void)inflateEnd(&inflater->stream);
        free(inflater);
    }
}

void inflater_reset(struct inflater *inflater)
{
    (void)inflateReset(&inflater->stream);
}

int inflater_step(struct inflater *inflater, struct inflate_io *io)
{
    z_stream *z = &inflater->stream;
    int rc;

    z->next_in = (Bytef *)(uintptr_t)io->in; /* read only */
    z->avail_in = (uInt)io->in_bytes;
    z->next_out = io->out;
    z->avail_out = (uInt)io->out_bytes;
    rc = inflate(z, Z_NO_FLUSH);
    io->in = z->next_in;
    io->in_bytes = z->avail_in;
    io->out = z->next_out;
    io->out_bytes = z->avail_out;
    if (rc == Z_STREAM_END) {
        return 1;
    }
    return rc == Z_OK || rc == Z_BUF_ERROR ? 0 : -1;
}
