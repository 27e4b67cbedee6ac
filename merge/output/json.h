/* json.h - the report as JSON (docs/analysis.md lists its fields)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_JSON_H
#define CK_MERGE_OUTPUT_JSON_H

#include <stdio.h>

#include "merge/report.h"

/* The report's text, the caller's to free; its length in *length. NULL with
 * errno. */
char *output_json(const struct report *report, size_t *length);

#endif
