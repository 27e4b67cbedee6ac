/* jsonreport.h - the report as JSON (docs/analysis.md lists its fields)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_JSON_JSONREPORT_H
#define CK_MERGE_OUTPUT_JSON_JSONREPORT_H

#include <stdio.h>

#include "merge/report/report.h"
#include "schema/json.h"

/* The report's text, the caller's to free; its length in *length. NULL with
 * errno. */
char *output_json(const struct report *report, size_t *length);
/* The same as a member of something larger. */
void output_json_put(struct ck_json *json,
                     const char *name,
                     const struct report *report);
/* Rows that the table of steps has in it, and lengths by rank that each of them
 * has: as many as there are ranks, or 0. */
size_t output_json_steps(const struct report *report);
size_t output_json_lengths(const struct report *report);

#endif
