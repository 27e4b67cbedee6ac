/* textstyle.h - how the text report may look
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_TEXT_TEXTSTYLE_H
#define CK_MERGE_OUTPUT_TEXT_TEXTSTYLE_H

#include <stdbool.h>

struct text_style {
    bool has_unicode; /* bars and signs outside ASCII */
    bool has_colour;
    bool is_all_ranks; /* every row, however many */
    int columns;       /* of the terminal, if it has less than a page; else 0 */
    const char *page;  /* path of the HTML page, NULL = none; borrowed */
};

#endif
