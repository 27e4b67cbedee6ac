/* htmlparts.h - the parts of the page that need no scripts
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words are those of the text report.
 */
#ifndef CK_MERGE_OUTPUT_PAGE_HTMLPARTS_H
#define CK_MERGE_OUTPUT_PAGE_HTMLPARTS_H

#include <stddef.h>
#include <stdio.h>

#include "merge/report/report.h"

/* The heading, and what is wrong with the run. Each writes whole elements. */
void html_head(FILE *file, const struct report *report);
/* The sections of <main>; `text` is the whole report as text. */
void html_sections(FILE *file,
                   const struct report *report,
                   const char *text,
                   size_t length);

#endif
