/* inflate.h - one step of a gzip decompressor (inflate_isal.c or
 * inflate_zlib.c, whichever is built)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_PROFILES_INFLATE_H
#define CK_MERGE_PROFILES_INFLATE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes still to be read, and room still to be filled; both move on. */
struct inflate_io {
    const uint8_t *in;
    size_t in_bytes;
    uint8_t *out;
    size_t out_bytes;
};

struct inflater;
struct inflater *inflater_create(void);
void inflater_destroy(struct inflater *inflater);
/* Begin another member. */
void inflater_reset(struct inflater *inflater);
/* 1 at a member's end (its sum was right), 0 when it wants more input or more
 * room, -1 when the data is damaged. */
int inflater_step(struct inflater *inflater, struct inflate_io *io);

#endif
