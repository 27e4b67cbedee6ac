/* htmlblock.h - data in the page, deflated and in base64
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_PAGE_HTMLBLOCK_H
#define CK_MERGE_OUTPUT_PAGE_HTMLBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* All borrowed, unless htmlblocks_make() made it. */
struct html_block {
    const char *id; /* a static text of a-z, 0-9 and '-' */
    const void *bytes;
    size_t length;
    bool is_ready; /* it is deflated and in base64 already */
    char *made;    /* by htmlblocks_make(): the bytes; NULL */
};

/* Deflate the blocks that are not ready; `is_beside`: in two threads, where
 * there are CPUs for that. 0, or -1 with errno: htmlblocks_fini() in both
 * cases. */
int htmlblocks_make(struct html_block *blocks, size_t count, bool is_beside);
void htmlblocks_fini(struct html_block *blocks, size_t count);

/* Write an element that a browser neither shows nor runs: <script
 * type="text/plain" id="block-ID">. Deflated without a header, as
 * DecompressionStream('deflate-raw') takes it. 0, or -1 with errno. */
int html_block_put(FILE *file, const struct html_block *block);

/* 'sha256-...' of a script or style, as a policy names it. */
#define HTML_HASH_BYTES 64
void html_hash(const char *text, size_t length, char hash[HTML_HASH_BYTES]);

#endif
