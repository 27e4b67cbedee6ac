/* openmetrics.h - the report as metrics for a monitoring system
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A metric without a known value has no sample.
 */
#ifndef CK_MERGE_OUTPUT_OPENMETRICS_OPENMETRICS_H
#define CK_MERGE_OUTPUT_OPENMETRICS_OPENMETRICS_H

#include <stddef.h>

#include "merge/report/report.h"

/* Ranks with a sample of their own, the worst. */
#define OPENMETRICS_RANKS 32

/* The text, the caller's to free; its length in *length. NULL with errno. */
char *output_openmetrics(const struct report *report, size_t *length);

#endif
