/* saying.h - a part of the text report, of a report made by hand
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_MERGE_SAYING_H
#define CK_TESTS_MERGE_SAYING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "merge/output/text/page.h"
#include "merge/report/report.h"

static char *text; /* of the last part */

static inline int teardown(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    return 0;
}

/* Print a part of the page of that report, into `text`. */
static inline void say(void (*part)(const struct page *page),
                       const struct report *report)
{
    static const struct text_style style = {.columns = 0};
    struct page page = {.report = report, .style = &style};
    size_t length;

    free(text);
    text = NULL;
    page.file = open_memstream(&text, &length);
    assert_non_null(page.file);
    part(&page);
    assert_int_equal(fclose(page.file), 0);
}

#endif
