/* htmlcut.h - the report with as many rows as a page has room for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_PAGE_HTMLCUT_H
#define CK_MERGE_OUTPUT_PAGE_HTMLCUT_H

#include <stddef.h>

#include "merge/report/report.h"

/* Rows that a list has in a page at most, and bytes of JSON that a page is made
 * of unless its lists are as short as they get. */
#define HTML_CUT_ROWS 5000
#define HTML_CUT_BYTES ((size_t)16 << 20)

/* Room for the text of html_cut(). */
#define HTML_CUT_TEXT 512

/* Make *part the report with at most so many rows in each of its long lists,
 * the longest ones; it borrows all from the report, and is not to be freed.
 * `text` becomes JSON: how many rows each list has that was cut, by its name in
 * report.json; "{}" = none was. */
void html_cut(const struct report *report,
              size_t rows,
              struct report *part,
              char text[HTML_CUT_TEXT]);

#endif
