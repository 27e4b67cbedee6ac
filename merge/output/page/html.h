/* html.h - the report as one page that a browser opens from the disk
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The page needs no network and no other file. What C writes answers without
 * scripts and on paper; the scripts beside this file draw the rest from the
 * blocks of data in it. Its policy allows these scripts and this style alone:
 * no text of a run can become code.
 */
#ifndef CK_MERGE_OUTPUT_PAGE_HTML_H
#define CK_MERGE_OUTPUT_PAGE_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "merge/output/page/htmlblock.h"
#include "merge/report/report.h"

/* All borrowed. */
struct html_page {
    const struct report *report;
    const char *text; /* the report as text */
    size_t text_length;
    const struct html_block *blocks; /* one with the id "report": report.json */
    size_t blocks_count;
    bool is_live; /* it asks its server for what is new: live.js */
};

/* The page's text, the caller's to free; its length in *length. NULL with
 * errno. */
char *output_html(const struct html_page *page, size_t *length);

#endif
