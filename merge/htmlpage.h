/* htmlpage.h - the HTML page of a merge, no larger than it may be
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_HTMLPAGE_H
#define CK_MERGE_HTMLPAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "merge/baseline.h"
#include "merge/model/defs.h"
#include "merge/output/flames/flames.h"
#include "merge/output/lanes/lanes.h"
#include "merge/report/report.h"

/* Bytes of a page by default, and the least that may be asked
 * for: code, style and a short report take a good part of these. */
#define HTMLPAGE_BYTES ((size_t)5000000)
#define HTMLPAGE_BYTES_LEAST ((size_t)500000)
/* Items of the timeline that are worth keeping for a page of so many bytes. */
size_t htmlpage_items(size_t bytes);

/* All borrowed. */
struct htmlpage {
    const struct report *report;
    const char *text; /* the report as text */
    size_t text_length;
    const struct baseline *baseline; /* without a text = none */
    struct lanes *lanes;             /* NULL = none; folded where need be */
    const struct flames *flames;     /* NULL = none */
    const struct defs *defs;
    size_t bytes; /* that the page may have; 0 = HTMLPAGE_BYTES */
    bool is_live; /* the job is still running */
};

/* The page, the caller's to free. It is larger than it may be only where the
 * report alone is. */
char *htmlpage_make(const struct htmlpage *page, size_t *length);

#endif
