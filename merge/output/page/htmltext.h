/* htmltext.h - texts of a run in HTML: any bytes are shown, none is believed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_PAGE_HTMLTEXT_H
#define CK_MERGE_OUTPUT_PAGE_HTMLTEXT_H

#include <stddef.h>
#include <stdio.h>

/* Write a text between two tags, or into a quoted attribute: & < > " ' become
 * references, bytes that are not UTF-8 U+FFFD, characters that are not seen or
 * turn the direction of writing escapes like \u202e. Line feeds stay. The
 * stream's error flag is set if it failed. */
void html_text(FILE *file, const char *text, size_t length);

#endif
