/* causality.h - does any message arrive before it was sent
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Takes messages and collectives and compares times of
 * different clock domains, as recorded and as aligned. What it cannot match
 * for certain it leaves out and counts.
 */
#ifndef CK_MERGE_CLOCKS_CAUSALITY_H
#define CK_MERGE_CLOCKS_CAUSALITY_H

#include "merge/clocks/align.h"
#include "merge/model/defs.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct causality;
/* Definitions and align are borrowed. */
struct causality *causality_create(const struct defs *defs,
                                   const struct align *align);
void causality_destroy(struct causality *causality);
/* A timeline_take_f. */
int causality_take(void *causality, const struct timeline_event *event);
/* Match and count into the report. */
void causality_report(struct causality *causality, struct report *report);

#endif
