/* htmltables.h - the first rows of the tables, for a page without scripts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_PAGE_HTMLTABLES_H
#define CK_MERGE_OUTPUT_PAGE_HTMLTABLES_H

#include <stdio.h>

#include "merge/report/report.h"

/* Rows of a table. */
#define HTMLTABLES_ROWS 20

/* Those that have rows, each under a heading; scripts put their own in their
 * place. */
void html_tables(FILE *file, const struct report *report);

#endif
