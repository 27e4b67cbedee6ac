/* scalene.h - device results in the form of a scalene profile
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What scalene's viewer reads, with the columns that nkipy adds: device time
 * (nc_*) and host time of the launches (nrt_*) by line and by kernel. All of
 * ck's own report is under "ck".
 */
#ifndef CK_MERGE_OUTPUT_JSON_SCALENE_H
#define CK_MERGE_OUTPUT_JSON_SCALENE_H

#include <stdint.h>

#include "merge/report/report.h"
#include "schema/err.h"
#include "schema/json.h"

/* Where no line is known. */
#define SCALENE_NO_FILE "(launched from a line that is not recorded)"

/* Device time of one line, of one kernel, or of all. */
struct scalene_cell {
    ck_time_t busy;
    ck_time_t host;
    uint64_t calls;
};
struct scalene_cell scalene_total(const struct report *report);
/* Rows of report->lines that are of this file and line, added up. `file` as in
 * the rows. */
struct scalene_cell
scalene_sum(const struct report *report, const char *file, uint32_t line);
/* The nc_ and nrt_ members of the open object. `ranks`: divide times. */
void scalene_put_cell(struct ck_json *json,
                      const struct scalene_cell *cell,
                      const struct scalene_cell *total,
                      double ranks);
/* A whole line object of a line that scalene did not see. */
void scalene_put_line(struct ck_json *json,
                      const struct report *report,
                      const char *file,
                      uint32_t line,
                      double ranks);
/* The function rows of a file: one a kernel. */
void scalene_put_functions(struct ck_json *json,
                           const struct report *report,
                           const char *file,
                           double ranks);
/* The whole file object of a file that scalene did not see. */
void scalene_put_file(struct ck_json *json,
                      const struct report *report,
                      const char *file,
                      double ranks);
/* Top level: neuron_total_nc_time_ms and its like, and "ck". */
void scalene_put_totals(struct ck_json *json,
                        const struct report *report,
                        double ranks);

/* A whole profile made of the report alone. 0, or -1 with err. */
int scalene_write(const struct report *report,
                  const char *path,
                  struct ck_err *err);

#endif
