/* htmlblock.c - data in the page, deflated and in base64
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/htmlblock.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include <sodium.h>
#include <zlib.h>

/* A multiple of 3, so that only the last piece of base64 is filled up. */
#define PIECE 49152
#define RAW_DEFLATE (-15)
#define MEMORY 9
/* Blocks of more bytes are deflated at the highest speed, and are larger for
 * it. */
#define FAST ((size_t)1 << 20)

/* What was deflated and waits for its place in base64. */
struct piece {
    unsigned char bytes[PIECE];
    char text[PIECE / 3 * 4 + 1];
    size_t used;
};

static void piece_put(struct piece *piece, FILE *file)
{
    (void)sodium_bin2base64(piece->text, sizeof(piece->text), piece->bytes,
                            piece->used, sodium_base64_VARIANT_ORIGINAL);
    fputs(piece->text, file);
    piece->used = 0;
}

/* Deflate all of the input. 0, or -1 with errno. */
static int deflate_put(z_stream *stream, struct piece *piece, FILE *file)
{
    int rc;

    do {
        stream->next_out = piece->bytes + piece->used;
        stream->avail_out = (uInt)(PIECE - piece->used);
        rc = deflate(stream, Z_FINISH);
        piece->used = PIECE - stream->avail_out;
        if (piece->used == PIECE || rc == Z_STREAM_END) {
            piece_put(piece, file);
        }
    } while (rc == Z_OK || rc == Z_BUF_ERROR);
    if (rc != Z_STREAM_END) {
        errno = EINVAL;
        return -1;
    }
    return ferror(file) ? -1 : 0;
}

int html_block_put(FILE *file, const struct html_block *block)
{
    struct piece *piece = malloc(sizeof(*piece));
    z_stream stream = {.next_in = (z_const Bytef *)block->bytes,
                       .avail_in = (uInt)block->length};
    int rc = -1;

    if (block->length > UINT_MAX) {
        errno = EFBIG;
    } else if (piece == NULL ||
               deflateInit2(&stream,
                            block->length > FAST ? Z_BEST_SPEED
                                                 : Z_DEFAULT_COMPRESSION,
                            Z_DEFLATED, RAW_DEFLATE, MEMORY,
                            Z_DEFAULT_STRATEGY) != Z_OK) {
        errno = ENOMEM;
    } else {
        piece->used = 0;
        fprintf(file, "<script type=\"text/plain\" id=\"block-%s\">",
                block->id);
        rc = deflate_put(&stream, piece, file);
        fputs("</script>\n", file);
        (void)deflateEnd(&stream);
    }
    free(piece);
    return rc;
}

void html_hash(const char *text, size_t length, char hash[HTML_HASH_BYTES])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char base64[sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES,
                                          sodium_base64_VARIANT_ORIGINAL)];

    (void)crypto_hash_sha256(digest, (const unsigned char *)text, length);
    (void)sodium_bin2base64(base64, sizeof(base64), digest, sizeof(digest),
                            sodium_base64_VARIANT_ORIGINAL);
    (void)snprintf(hash, HTML_HASH_BYTES, "'sha256-%s'", base64);
}
