/* efficiency.h - what part of the time was useful, and where the rest went
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * T is the region, N its ranks that called MPI, U_i the time of rank i outside
 * MPI and behind its return from MPI_Init (on the thread that called MPI
 * first), T_I the run's length in the replay:
 *
 *     parallel = sum U / (N T) = load balance (avg U / max U)
 *                              * communication (max U / T)
 *     communication = serialisation (max U / T_I) * transfer (T_I / T)
 *
 * and for G devices, C their kernels that compute, A all their operations:
 *
 *     device = sum |C| / (G T) = load balance (avg |C| / max |C|)
 *              * communication (max |C| / max |A|)
 *              * orchestration (max |A| / T)
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_EFFICIENCY_H
#define CK_MERGE_ANALYSIS_TOTALS_EFFICIENCY_H

#include "merge/analysis/totals/idealnetwork.h"
#include "merge/messages/match.h"
#include "merge/report/report.h"

/* Write report->efficiency, after devices_report() and ranks_report(). */
void efficiency_report(const struct defs *defs,
                       const struct idealnetwork *idealnetwork,
                       struct match_counts counts,
                       struct report *report);

#endif
