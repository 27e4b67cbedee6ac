/* csvfile.h - one table as a file of comma-separated values (RFC 4180)
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     csvfile_text(csv, "name"); csvfile_int(csv, 3); csvfile_row(csv);
 *
 * A text that a spreadsheet would take for a formula (= + - @ tab return) gets
 * an apostrophe in front; bytes that are not UTF-8 become U+FFFD.
 */
#ifndef CK_MERGE_OUTPUT_CSV_CSVFILE_H
#define CK_MERGE_OUTPUT_CSV_CSVFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "merge/output/outputfile.h"
#include "schema/err.h"

struct csvfile {
    struct outputfile target;
    FILE *file;
    bool has_fields; /* in this row */
};

/* DIR/NAME.csv, anew, with these names of columns, separated by blanks. 0, or
 * -1 with err. */
int csvfile_open(struct csvfile *csv,
                 const char *dir,
                 const char *name,
                 const char *columns,
                 struct ck_err *err);
void csvfile_text(struct csvfile *csv, const char *text); /* NULL = empty */
void csvfile_int(struct csvfile *csv, int64_t value);
void csvfile_double(struct csvfile *csv, double value);
/* A rank; unknown = empty. */
void csvfile_rank(struct csvfile *csv, int32_t rank);
void csvfile_row(struct csvfile *csv);
/* 0, or -1 with err: the file is as it was before. */
int csvfile_close(struct csvfile *csv, struct ck_err *err);

#endif
