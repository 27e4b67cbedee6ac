/* fold.h - the text report on a terminal that is narrower than its page
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_TEXT_FOLD_H
#define CK_MERGE_OUTPUT_TEXT_FOLD_H

#include <stddef.h>

/* Narrower than that is not tried. */
#define FOLD_COLUMNS_MIN 40

/* The text in lines of at most so many columns, the caller's to free: tables
 * lose blanks that all their rows have, what is still too long goes on in the
 * next line. */
char *fold_text(const char *text, size_t columns, size_t *length);

#endif
