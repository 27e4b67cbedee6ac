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
    double usual_ready;            /* as page_usual_ready() has it */
};

/* The part of the time in which all ranks wanted a CPU outside MPI that they
 * had none in, 0 to 1. */
double page_usual_ready(const struct report *report);

/* Was it without a CPU for most of the time, and that more than work that takes
 * longer is by itself where all ranks lack one for such a part? Twice as much,
 * or the work is what made it late. */
bool page_is_without_cpu(const struct report_running *running,
                         double usual_ready);

/* Of a straggler nothing but what it did is known. */
enum cause advice_kind(const struct report_activity *did);

/* A static sentence, NULL = no rule fits. */
const char *advice_find(const struct advice_case *of);
/* "    Try: ...", unless the report has that text. It must be static. */
void page_advice(const struct page *page, const char *text);

#endif
