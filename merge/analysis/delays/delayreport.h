/* delayreport.h - what made ranks late, for the report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_DELAYREPORT_H
#define CK_MERGE_ANALYSIS_DELAYS_DELAYREPORT_H

#include "merge/analysis/delays/delaysums.h"

/* What was gathered, in words: the rank whose delays cost the most, of what it
 * did the kind that did and of that kind the largest, and the largest of
 * all. */
void delayreport_fill(struct lookback *lookback,
                      const struct delay *delay,
                      struct delaysums *sums,
                      struct report_delays *report);

/* Do samples of so long, one a period, show where a thread was? Not a few of
 * them where it had no CPU for all but a twentieth of the time. */
bool delayreport_is_seen(const struct report_running *running,
                         ck_time_t sampled,
                         ck_time_t period);

#endif
