/* results.h - the report of a merge, written where it is asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_RESULTS_H
#define CK_MERGE_RESULTS_H

#include <limits.h>

#include "merge/baseline.h"
#include "merge/options.h"
#include "merge/output/flames/flames.h"
#include "merge/output/lanes/lanes.h"
#include "merge/output/stacks/foldeddiff.h"
#include "merge/report/report.h"
#include "merge/scalenejoin.h"
#include "schema/err.h"

struct results {
    char page[PATH_MAX]; /* where the HTML page is, "" = nowhere: filled by
                            results_write() */
    /* All borrowed. */
    const struct options *options;
    const struct report *report;
    const struct scalenejoin *join;  /* NULL = none */
    const struct baseline *baseline; /* without a text = none */
    struct lanes *lanes;             /* of the page's timeline; NULL = none */
    const struct flames *flames;     /* of its flame graphs; NULL = none */
    const struct foldeddiff *diff;   /* of stacks beside the baseline's */
    const struct defs *defs;
};

/* Everything but the trace, which is written while the run is merged. 0, or
 * -1 with err. */
int results_write(struct results *results, struct ck_err *err);

#endif
