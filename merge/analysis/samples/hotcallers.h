/* hotcallers.h - functions of the user's by the samples below them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_SAMPLES_HOTCALLERS_H
#define CK_MERGE_ANALYSIS_SAMPLES_HOTCALLERS_H

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Functions of a report; the coldest are left out. */
#define HOTCALLERS_LISTED_MAX 64

struct hotcallers;
/* `defs` is borrowed. */
struct hotcallers *hotcallers_create(const struct defs *defs);
void hotcallers_destroy(struct hotcallers *hotcallers);

/* Samples of a process that met a stack. */
struct hotcallers_stack {
    uint32_t process;
    uint32_t number;   /* of the stack; 0 = none */
    struct place leaf; /* what they count for */
    ck_time_t ns;
};
void hotcallers_add(struct hotcallers *hotcallers,
                    const struct hotcallers_stack *stack);
/* Write report->callers. */
void hotcallers_report(const struct hotcallers *hotcallers,
                       struct report *report);

/* Name the callers that explain the report's hot functions. */
void hotcallers_explain(const struct hotcallers *hotcallers,
                        struct report *report);

#endif
