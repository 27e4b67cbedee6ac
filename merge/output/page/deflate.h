/* deflate.h - bytes as raw deflate, in pieces of a given size
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_PAGE_DEFLATE_H
#define CK_MERGE_OUTPUT_PAGE_DEFLATE_H

#include <stddef.h>

/* Where pieces go: `take` is called when `room` is full, and at the end. */
struct deflate_pieces {
    unsigned char *room;
    size_t length; /* of it */
    void (*take)(void *context, size_t used);
    void *context;
};

/* Levels of zlib. What is in a page is 1 to 4 % larger at the quick one than at
 * zlib's own, 6. */
enum deflate_level { DEFLATE_FASTEST = 1, DEFLATE_QUICK = 4 };

/* By zlib. 0, or -1 with errno. */
int deflate_bytes(const void *bytes,
                  size_t length,
                  enum deflate_level level,
                  const struct deflate_pieces *to);
/* At the highest speed: by ISA-L where that was there at the build
 * (deflatefast_isal.c), else by zlib (deflatefast_none.c). */
int deflate_fast(const void *bytes,
                 size_t length,
                 const struct deflate_pieces *to);

#endif
