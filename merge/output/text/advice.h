/* advice.h - what to try, where a rule supports it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_TEXT_ADVICE_H
#define CK_MERGE_OUTPUT_TEXT_ADVICE_H

#include "merge/output/text/page.h"

/* The case to advise on: by what time was lost. */
struct advice_case {
    enum cause kind; /* CAUSES = not known */
    bool is_late;    /* others waited for it, else its own device */
    const struct report_activity *did;
    uint64_t count; /* pieces that the time came in */
    ck_time_t ns;
    enum report_load_verdict load; /* why threads had no CPU */
};

/* Of a straggler nothing but what it did is known. */
enum cause advice_kind(const struct report_activity *did);

/* A static sentence, NULL = no rule fits. */
const char *advice_find(const struct advice_case *of);
/* "    Try: ...", unless the report has that text. It must be static. */
void page_advice(const struct page *page, const char *text);

#endif
