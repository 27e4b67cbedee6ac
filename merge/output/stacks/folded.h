/* folded.h - stacks as lines "rank 3;thread main;main;solve 17"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_STACKS_FOLDED_H
#define CK_MERGE_OUTPUT_STACKS_FOLDED_H

#include "merge/output/stacks/stacktable.h"
#include "merge/report/reportlaunch.h"
#include "schema/err.h"

/* What the number behind a stack counts. */
enum folded_unit {
    FOLDED_SAMPLES,
    FOLDED_MICROSECONDS,
    FOLDED_WEIGHTS, /* as they are: bytes */
};

struct folded_line {
    char *text; /* without its count */
    uint64_t amount;
};

/* The lines of a table, sorted by bytes, no two with one text; the caller's, to
 * be given to folded_free(). */
struct folded_line *folded_lines(const struct stacktable *table,
                                 enum folded_unit unit,
                                 size_t *count);
void folded_free(struct folded_line *lines, size_t count);
/* " 17" */
struct sink;
void folded_count(struct sink *sink, uint64_t amount);

/* Sorted by bytes; equal lines are one, with the sum of what they count. 0, or
 * -1 with err. */
int folded_write(const struct stacktable *table,
                 enum folded_unit unit,
                 const char *path,
                 struct ck_err *err);

/* The same of device work by the stack that launched it, in microseconds; the
 * last frame is the kernel or copy, with a mark behind its name. */
#define FOLDED_DEVICE "_[g]"
int folded_launches(const struct report_launch_stacks *stacks,
                    const char *path,
                    struct ck_err *err);

#endif
