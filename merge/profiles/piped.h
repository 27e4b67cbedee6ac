/* piped.h - an input that can be read only once, kept in a file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A profile is read more than once, by several threads; stdin and a pipe are
 * copied first, to a file without a name.
 */
#ifndef CK_MERGE_PROFILES_PIPED_H
#define CK_MERGE_PROFILES_PIPED_H

#include <stdbool.h>

#include "schema/err.h"

struct piped;

/* "-" (stdin), or a named pipe? */
bool piped_is(const char *path);
/* Read it to its end. NULL with err. */
struct piped *piped_keep(const char *path, struct ck_err *err);
void piped_destroy(struct piped *piped);
/* Where the copy is read; borrowed, as long as it is there. */
const char *piped_file(const struct piped *piped);
/* What it is called in messages; borrowed from `path`, or constant. */
const char *piped_name(const char *path);

#endif
