/* foldeddiff.h - the stacks of two runs as lines "main;solve 12 17"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_STACKS_FOLDEDDIFF_H
#define CK_MERGE_OUTPUT_STACKS_FOLDEDDIFF_H

#include <stddef.h>

#include "merge/output/stacks/stacktable.h"
#include "schema/err.h"

/* Samples of a run before, as folded lines. */
struct foldeddiff_before {
    const char *path; /* for what is wrong with it */
    const char *text; /* borrowed */
    size_t length;
};

/* Each stack of either run with the samples of the run before and of this one,
 * as difffolded.pl writes them; sorted by bytes. 0, or -1 with err: also where
 * `before` are no folded lines. */
int foldeddiff_write(const struct stacktable *table,
                     const struct foldeddiff_before *before,
                     const char *path,
                     struct ck_err *err);

#endif
