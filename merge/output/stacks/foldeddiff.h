/* foldeddiff.h - the stacks of two runs, each with both counts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_STACKS_FOLDEDDIFF_H
#define CK_MERGE_OUTPUT_STACKS_FOLDEDDIFF_H

#include <stddef.h>
#include <stdint.h>

#include "merge/output/stacks/stacktable.h"
#include "schema/err.h"

/* Samples of a run before, as folded lines. */
struct foldeddiff_before {
    const char *path; /* for what is wrong with it */
    const char *text; /* borrowed */
    size_t length;
};

struct foldeddiff_row {
    char *text; /* "main;solve" */
    uint64_t before, now;
};

struct foldeddiff {
    struct foldeddiff_row *rows;
    size_t count;
};

/* Each stack of either run, what changed most first, then by bytes. 0, or -1
 * with err: `before` are no folded lines, and *diff is untouched. */
int foldeddiff_make(struct foldeddiff *diff,
                    const struct stacktable *table,
                    const struct foldeddiff_before *before,
                    struct ck_err *err);
void foldeddiff_fini(struct foldeddiff *diff);

/* As difffolded.pl writes them, "main;solve 12 17". 0, or -1 with err. */
int foldeddiff_write(const struct foldeddiff *diff,
                     const char *path,
                     struct ck_err *err);

#endif
