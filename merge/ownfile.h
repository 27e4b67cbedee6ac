/* ownfile.h - files that ckmerge has written, known by what is in them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each format begins in a way that nothing else does by chance. A name shows
 * nothing: trace.json may be anyone's.
 */
#ifndef CK_MERGE_OWNFILE_H
#define CK_MERGE_OWNFILE_H

#include <stdbool.h>

/* Is it empty, or an output of ckmerge, plain or gzip? `columns`: of a table
 * (csvfile_open()), NULL = it is none. */
bool ownfile_is(const char *path, const char *columns);
/* Is it what a kernel-only merge writes, JSON with a member "ck"? */
bool ownfile_is_merged(const char *path);

#endif
