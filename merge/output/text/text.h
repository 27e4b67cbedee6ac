/* text.h - the report for a person
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_TEXT_TEXT_H
#define CK_MERGE_OUTPUT_TEXT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "merge/report/report.h"

struct text_style {
    bool has_unicode; /* bars and signs outside ASCII */
    bool has_colour;
    bool is_all_ranks; /* every row, however many */
    int columns;       /* of the terminal, if it has less than a page; else 0 */
};

/* Write the report; the stream's error flag tells whether it worked. */
void output_text(const struct report *report,
                 const struct text_style *style,
                 FILE *file);

#endif
