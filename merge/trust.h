/* trust.h - what is missing, how the clocks were placed, what ck cost
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_TRUST_H
#define CK_MERGE_TRUST_H

#include "merge/clocks/align.h"
#include "merge/input/rundir.h"
#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Write what the report needs to be believed. */
void trust_report(const struct defs *defs,
                  const struct align *align,
                  const struct rundir *store,
                  struct report *report);

#endif
