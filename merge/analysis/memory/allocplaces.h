/* allocplaces.h - where in the program memory came from
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks are sampled by their bytes: one of s bytes with p = 1 - exp(-s /
 * mean), and represents s / p bytes and 1 / p blocks. These sums are without
 * bias; the variance of a sum of bytes is estimated, without bias, by the sum
 * of s^2 (1 - p) / p^2 over the blocks sampled (Horvitz and Thompson, 1952).
 */
#ifndef CK_MERGE_ANALYSIS_MEMORY_ALLOCPLACES_H
#define CK_MERGE_ANALYSIS_MEMORY_ALLOCPLACES_H

#include "merge/analysis/history/lookback.h"
#include "merge/report/report.h"

/* Rows of a report; those with the fewest bytes are left out. */
#define ALLOCPLACES_LISTED_MAX 256

struct allocplaces;
/* Whose memory: what the program asks of its allocator, or of devices, whose
 * objects are all recorded. */
enum allocplaces_of {
    ALLOCPLACES_HOST,
    ALLOCPLACES_DEVICES,
};
/* Borrowed; the lookback takes each event before. */
struct allocplaces *allocplaces_create(const struct defs *defs,
                                       const struct lookback *lookback,
                                       enum allocplaces_of of);
void allocplaces_destroy(struct allocplaces *places);
/* A timeline_take_f: records of the class STACKED, of the whole run. */
void allocplaces_take(void *places, const struct timeline_event *event);
/* Write report->allocations, or report->device_memory. */
void allocplaces_report(const struct allocplaces *places,
                        struct report *report);

#endif
