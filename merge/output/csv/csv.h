/* csv.h - the tables of the report as files for spreadsheets and scripts
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns have the names of report.json's members.
 */
#ifndef CK_MERGE_OUTPUT_CSV_CSV_H
#define CK_MERGE_OUTPUT_CSV_CSV_H

#include "merge/report/report.h"
#include "schema/err.h"

/* Into a directory, which is made where it is not there yet; other files in it
 * stay. 0, or -1 with err. */
int output_csv(const struct report *report,
               const char *dir,
               struct ck_err *err);

#endif
