/* lines.h - device time by the line of source that launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel belongs to its launching call (thread and number of the call); the
 * call's place is that of its call site, or else of the innermost range of its
 * thread that names a line of Python ("train.py(42): step", not of an
 * installed package). A bounded number of calls is remembered.
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_LINES_H
#define CK_MERGE_ANALYSIS_DEVICES_LINES_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct lines;
/* `defs` is borrowed. */
struct lines *lines_create(const struct defs *defs, struct region region);
void lines_destroy(struct lines *lines);
int lines_take(void *lines, const struct timeline_event *event);
/* The line, with its file and kernel, of the event that was taken last; valid
 * until the next one. NULL = it is no kernel of the region. */
const struct report_line *lines_last(const struct lines *lines);
/* Write report->lines. Their busy times add up to the devices' kernel
 * unions. */
void lines_report(struct lines *lines, struct report *report);

#endif
