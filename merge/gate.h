/* gate.h - what a run must keep to, as an exit status
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_GATE_H
#define CK_MERGE_GATE_H

#include "merge/report/report.h"

/* --max-clock-error: may the clocks of two ranks be further apart? Logs it on
 * stderr; `limit` < 0 = not asked. An exit status. */
int gate_clocks(const struct report *report, ck_time_t limit);

#endif
