/* text.h - the report for a person
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_TEXT_TEXT_H
#define CK_MERGE_OUTPUT_TEXT_TEXT_H

#include <stdio.h>

#include "merge/output/text/textstyle.h"
#include "merge/report/report.h"

/* Write the report; the stream's error flag tells whether it worked. */
void output_text(const struct report *report,
                 const struct text_style *style,
                 FILE *file);

#endif
