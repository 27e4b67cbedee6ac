/* overwrite.h - what no output of ckmerge may replace
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OVERWRITE_H
#define CK_MERGE_OVERWRITE_H

#include <stddef.h>

#include "merge/options.h"
#include "schema/err.h"

/* Before anything is read or written: no output is one of the inputs, under
 * whatever name, or a recording; a FILE that is named, and the output of a
 * kernel-only merge, replace only what is empty or what ckmerge wrote, unless
 * options->is_forced. `paths`: of the outputs that have a name of their own, ""
 * = none. 0, or -1 with err. */
int overwrite_check(const struct options *options,
                    const char *const *paths,
                    size_t count,
                    struct ck_err *err);

#endif
