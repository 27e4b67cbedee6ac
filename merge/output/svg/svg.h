/* svg.h - pictures of a report without a browser
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each returns the picture's text, the caller's to free, with its length; NULL
 * with errno.
 */
#ifndef CK_MERGE_OUTPUT_SVG_SVG_H
#define CK_MERGE_OUTPUT_SVG_SVG_H

#include <stddef.h>

#include "merge/output/flames/flames.h"
#include "merge/output/lanes/lanes.h"
#include "merge/output/stacks/foldeddiff.h"
#include "merge/report/report.h"

/* A bar for each device: what its time was. */
char *output_svg_ledger(const struct report *report, size_t *length);
/* A cell for each step and rank: how long, against the median. */
char *output_svg_steps(const struct report *report, size_t *length);
/* A row for each rank over time, with the longest waits as arrows. */
char *output_svg_timeline(const struct report *report,
                          struct lanes *lanes,
                          size_t *length);

/* Flame graphs of the CPU, off the CPU, of devices, and of their idle time; of
 * the samples beside those of another run, if `diff` has any. */
char *output_svg_flame(const struct report *report,
                       const struct flames *flames,
                       const struct foldeddiff *diff,
                       size_t *length);

#endif
