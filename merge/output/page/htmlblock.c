/* htmlblock.c - data in the page, deflated and in base64
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/htmlblock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "merge/model/beside.h"
#include "merge/model/memory.h"
#include "merge/output/page/deflate.h"
#include "schema/order.h"

/* A multiple of 3, so that only the last piece of base64 is filled up. */
#define PIECE 49152
/* Two letters of base64 are 12 bits. */
#define PAIRS 4096
/* Blocks of more bytes are deflated at the highest speed, and are larger for
 * it. */
#define FAST ((size_t)1 << 20)

/* What was deflated, on its way to base64. */
struct piece {
    unsigned char bytes[PIECE];
    char text[PIECE / 3 * 4 + 1];
    char pairs[PAIRS][2];
    FILE *file; /* borrowed */
};

static void pairs_fill(char pairs[PAIRS][2])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+/";

    for (unsigned i = 0; i < PAIRS; i++) {
        pairs[i][0] = letters[i >> 6];
        pairs[i][1] = letters[i & 63];
    }
}

/* Three bytes as four letters. */
static void letters_put(const struct piece *piece, const uint8_t *of, char *to)
{
    unsigned bits = (unsigned)of[0] << 16 | (unsigned)of[1] << 8 | of[2];

    memcpy(to, piece->pairs[bits >> 12], 2);
    memcpy(to + 2, piece->pairs[bits & (PAIRS - 1)], 2);
}

/* All but the last piece are as long as there is room. */
static void piece_take(void *context, size_t used)
{
    struct piece *piece = context;
    size_t whole = used / 3 * 3;
    size_t length = whole / 3 * 4;

    for (size_t i = 0, to = 0; i < whole; i += 3, to += 4) {
        letters_put(piece, piece->bytes + i, piece->text + to);
    }
    if (whole < used) {
        uint8_t last[3] = {piece->bytes[whole],
                           used - whole > 1 ? piece->bytes[whole + 1] : 0, 0};

        letters_put(piece, last, piece->text + length);
        memset(piece->text + length + 1 + (used - whole), '=',
               3 - (used - whole));
        length += 4;
    }
    (void)fwrite(piece->text, 1, length, piece->file);
}

static int bytes_put(FILE *file, const struct html_block *block)
{
    struct piece *piece = xmalloc(sizeof(*piece));
    const struct deflate_pieces to = {
        .room = piece->bytes,
        .length = sizeof(piece->bytes),
        .take = piece_take,
        .context = piece,
    };
    int rc;

    piece->file = file;
    pairs_fill(piece->pairs);
    rc = block->length > FAST
             ? deflate_fast(block->bytes, block->length, &to)
             : deflate_bytes(block->bytes, block->length, DEFLATE_QUICK, &to);
    free(piece);
    return rc != 0 || ferror(file) ? -1 : 0;
}

int html_block_put(FILE *file, const struct html_block *block)
{
    int rc = 0;

    fprintf(file, "<script type=\"text/plain\" id=\"block-%s\">", block->id);
    if (block->is_ready) {
        (void)fwrite(block->bytes, 1, block->length, file);
    } else {
        rc = bytes_put(file, block);
    }
    fputs("</script>\n", file);
    return rc;
}

/* Blocks that two threads deflate, the longest first. */
struct making {
    struct html_block **blocks;
    size_t count;
    atomic_size_t taken;
    atomic_int error; /* errno; 0 = none failed */
};

static void block_make(struct html_block *block, struct making *making)
{
    size_t length;
    FILE *file = xmemstream(&block->made, &length);
    int rc = bytes_put(file, block);

    if (rc != 0) {
        atomic_store(&making->error, errno);
    }
    (void)fclose(file);
    block->bytes = block->made;
    block->length = length;
    block->is_ready = true;
}

static void blocks_work(void *state)
{
    struct making *making = state;
    size_t at;

    while ((at = atomic_fetch_add(&making->taken, 1)) < making->count) {
        block_make(making->blocks[at], making);
    }
}

CK_ORDER_POINTERS(by_length, struct html_block, CK_DOWN(length))

int htmlblocks_make(struct html_block *blocks, size_t count, bool is_beside)
{
    struct making making = {.blocks = xcalloc(count, sizeof(*making.blocks))};
    struct beside beside;

    for (size_t i = 0; i < count; i++) {
        if (!blocks[i].is_ready) {
            making.blocks[making.count++] = &blocks[i];
        }
    }
    qsort(making.blocks, making.count, sizeof(*making.blocks), by_length);
    beside_begin(&beside, blocks_work, &making, is_beside);
    blocks_work(&making);
    beside_end(&beside);
    free(making.blocks);
    errno = atomic_load(&making.error);
    return errno == 0 ? 0 : -1;
}

void htmlblocks_fini(struct html_block *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(blocks[i].made);
    }
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
