/* gzip.h - the bytes of a file, plain or gzip, from its first to its last
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Recognised by content. One bounded buffer, whatever the file's size.
 */
#ifndef CK_MERGE_PROFILES_GZIP_H
#define CK_MERGE_PROFILES_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"

struct gzip;
/* NULL with err. */
struct gzip *gzip_open(const char *path, struct ck_err *err);
void gzip_close(struct gzip *gzip);
/* Up to `room` bytes. Bytes read, 0 at the end, -1 when the file cannot be
 * read on: gzip_error() has the reason. `gzip` is a struct gzip. */
int64_t gzip_read(void *gzip, void *to, size_t room);
/* The first bytes of a plain file, before anything was read. False: it has
 * not so many, or is compressed. */
bool gzip_peek(const struct gzip *gzip, void *to, size_t bytes);
/* The descriptor of a plain file and its length; -1 = it is compressed. */
int gzip_plain(const struct gzip *gzip, uint64_t *bytes);
/* Read a plain file on from there. 0, or -1 with errno. */
int gzip_seek(struct gzip *gzip, uint64_t offset);
/* "" = none; borrowed. */
const char *gzip_error(const struct gzip *gzip);

#endif
