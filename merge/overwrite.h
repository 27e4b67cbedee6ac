/* overwrite.h - what no output of ckmerge may replace
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OVERWRITE_H
#define CK_MERGE_OVERWRITE_H

#include "merge/options.h"
#include "schema/err.h"

/* Before anything is read or written: no output is one of the inputs, under
 * whatever name, or a recording; the output of a kernel-only merge replaces
 * only what such a merge wrote, unless options->is_forced. `chrome` is the path
 * of the trace, "" = none. 0, or -1 with err. */
int overwrite_check(const struct options *options,
                    const char *chrome,
                    struct ck_err *err);

#endif
