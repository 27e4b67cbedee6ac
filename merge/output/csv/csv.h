/* csv.h - the tables of the report as files for spreadsheets and scripts
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns have the names of report.json's members.
 */
#ifndef CK_MERGE_OUTPUT_CSV_CSV_H
#define CK_MERGE_OUTPUT_CSV_CSV_H

#include <stddef.h>

#include "merge/report/report.h"
#include "schema/err.h"

/* Into a directory, which is made where it is not there yet; other files in it
 * stay. 0, or -1 with err. */
int output_csv(const struct report *report,
               const char *dir,
               struct ck_err *err);

/* A table: its file is NAME.csv. */
struct csv_table {
    const char *name;    /* NULL = there are no more */
    const char *columns; /* as csvfile_open() has them */
};

struct csv_table csv_table(size_t number);

#endif
