/* text.h - the report for a person
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_TEXT_TEXT_H
#define CK_MERGE_OUTPUT_TEXT_TEXT_H

#include <stdio.h>

#include "merge/output/text/textstyle.h"
#include "merge/report/report.h"

/* The parts of the report, in its order. */
enum text_part {
    TEXT_HEAD,          /* one line: program, ranks, region, run */
    TEXT_ALARMS,        /* what is wrong with the run; may be empty */
    TEXT_RUNNING,       /* where ranks of a running job were; the same */
    TEXT_ANSWER,        /* the first sentences */
    TEXT_WHY,           /* why the devices were idle */
    TEXT_ROWS,          /* a row for each device, or rank */
    TEXT_DEVICE_TABLES, /* submits, kernels, copies */
    TEXT_MPI,           /* late ranks, waits, steps, efficiency */
    TEXT_TABLES,        /* ranges, hot spots, calls, messages, counters */
    TEXT_TRUST,
    TEXT_MORE,
    TEXT_PARTS
};

/* Write one part. */
void output_text_part(const struct report *report,
                      const struct text_style *style,
                      enum text_part part,
                      FILE *file);
/* Write the report; the stream's error flag is set if it failed. */
void output_text(const struct report *report,
                 const struct text_style *style,
                 FILE *file);

/* Write where the ranks of a running job are. */
void output_where(const struct report *report,
                  const struct text_style *style,
                  FILE *file);

#endif
