/* alike.h - one cause of idle time on several ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where ranks do the same, their devices are idle for the same cause, each of
 * its own: it is listed once, with the ranks that have it too. What one rank
 * has twice as much of as another is two causes.
 */
#ifndef CK_MERGE_OUTPUT_TEXT_ALIKE_H
#define CK_MERGE_OUTPUT_TEXT_ALIKE_H

#include "merge/output/text/page.h"

/* Is the cause shown with another one that is listed before it? */
bool alike_is_shown(const struct report *report, size_t cause);
/* "    The same on ranks 1-3: 14.1 % more (47.3 s)." where there are
 * such. */
void alike_put(const struct page *page, const struct report_cause *cause);

#endif
