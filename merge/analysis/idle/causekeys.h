/* causekeys.h - numbers for the causes that rows of the ledger belong to
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * With N ranks the ledger has up to N times N rows, and the report far fewer
 * causes. What is kept of each cause as the merge goes on is kept by these
 * numbers. Rows that are one row of the report may have several, but rows with
 * one number are one cause (causes.c), and the report has all of their devices
 * or none.
 */
#ifndef CK_MERGE_ANALYSIS_IDLE_CAUSEKEYS_H
#define CK_MERGE_ANALYSIS_IDLE_CAUSEKEYS_H

#include "merge/analysis/delays/rows.h"
#include "merge/analysis/history/lookback.h"

struct causekeys;
/* Borrowed; is_shown as of rows_create(). */
struct causekeys *causekeys_create(const struct defs *defs,
                                   struct lookback *lookback,
                                   rows_shown_f is_shown);
void causekeys_destroy(struct causekeys *keys);
/* Number of a row's cause: 0, 1, 2 ... */
int64_t causekeys_find(struct causekeys *keys, const struct ledger_row *row);

#endif
