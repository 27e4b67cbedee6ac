/* htmlcut.c - the report with as many rows as a page has room for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/htmlcut.h"

#include <stdio.h>

void html_cut(const struct report *report,
              size_t rows,
              struct report *part,
              char text[HTML_CUT_TEXT])
{
    const struct {
        const char *name;
        size_t *count;
    } lists[] = {
        {"kernels", &part->kernels_count},
        {"copy_places", &part->copy_places_count},
        {"lines", &part->lines_count},
        {"hot_spots", &part->hot_count},
        {"calls", &part->calls_count},
        {"functions", &part->functions_count},
        {"ranges", &part->ranges_count},
        {"libc", &part->libc_count},
        {"waits", &part->waits_count},
        {"busy_of", &part->levels_count},
        {"inputs", &part->inputs_count},
    };
    size_t used = 1;

    *part = *report;
    text[0] = '{';
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (*lists[i].count > rows) {
            used += (size_t)snprintf(text + used, HTML_CUT_TEXT - used,
                                     "%s\"%s\":%zu", used > 1 ? "," : "",
                                     lists[i].name, *lists[i].count);
            *lists[i].count = rows;
        }
    }
    (void)snprintf(text + used, HTML_CUT_TEXT - used, "}");
}
