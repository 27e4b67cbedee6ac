/* baseline.h - the report of another run, to be compared with in the HTML page
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_BASELINE_H
#define CK_MERGE_BASELINE_H

#include <limits.h>
#include <stddef.h>

#include "merge/baselinepage.h"
#include "schema/err.h"

/* No longer report is read. */
#define BASELINE_BYTES ((size_t)256 << 20)

struct baseline {
    char *text; /* of report.json; NULL = none */
    size_t length;
    struct baselinepage page; /* of a run that has one */
};

/* The stacks of another run. */
struct baseline_stacks {
    char *text; /* NULL = none */
    size_t length;
    char file[PATH_MAX];
};

/* Read the report.json of a run, or the file itself. What is no report of ck,
 * or none that is whole, is refused. 0, or -1 with err: *baseline is
 * untouched. */
int baseline_read(struct baseline *baseline,
                  const char *path,
                  struct ck_err *err);
/* Read RUN/stacks.folded, or that file beside a report. 0, or -1 with err:
 * *stacks is untouched. */
int baseline_stacks_read(struct baseline_stacks *stacks,
                         const char *path,
                         struct ck_err *err);
void baseline_stacks_fini(struct baseline_stacks *stacks);
void baseline_fini(struct baseline *baseline);

#endif
