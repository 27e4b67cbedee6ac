/* jsonclocks.h - the clocks part of the JSON report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_JSON_JSONCLOCKS_H
#define CK_MERGE_OUTPUT_JSON_JSONCLOCKS_H

#include "merge/report/report.h"
#include "schema/json.h"

/* "clock_domains": how the domains were placed. */
void json_domains(struct ck_json *j, const struct report *report);
/* "clocks", "clock_conflicts", "causality". */
void json_clocks(struct ck_json *j, const struct report *report);

#endif
