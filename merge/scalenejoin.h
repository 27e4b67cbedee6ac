/* scalenejoin.h - device results added to a profile of scalene, line by line
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files are matched by their real paths, never by their last part alone.
 */
#ifndef CK_MERGE_SCALENEJOIN_H
#define CK_MERGE_SCALENEJOIN_H

#include "merge/clocks/align.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"
#include "schema/err.h"

struct scalenejoin;
/* Read the profile. `path` is borrowed. NULL with err. */
struct scalenejoin *scalenejoin_create(const char *path, struct ck_err *err);
void scalenejoin_destroy(struct scalenejoin *join);
/* Once the clocks are known: which samples to look at. The profile is that of
 * the lowest rank. `has_dates`: false = clocks are not dates, no sample can be
 * placed. */
void scalenejoin_aim(struct scalenejoin *join,
                     const struct defs *defs,
                     const struct align *align,
                     bool has_dates);
/* A timeline_take_f. */
int scalenejoin_take(void *join, const struct timeline_event *event);
/* Write report->scalene; the join is borrowed by the report then. 0 or -1. */
int scalenejoin_report(struct scalenejoin *join, struct report *report);
/* The profile with the device's columns, and the report under "ck". 0, or -1
 * with err. */
int scalenejoin_write(const struct scalenejoin *join,
                      const struct report *report,
                      const char *path,
                      struct ck_err *err);

#endif
