/* callpaths.h - the user's functions that a sampled thread was in
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A path is the functions of a stack that are the user's own (userfile.h),
 * outermost first, each once; equal paths have one number in all processes. Of
 * what was sampled in a function it is asked by which of its callers that is
 * explained.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_CALLPATHS_H
#define CK_MERGE_ANALYSIS_HISTORY_CALLPATHS_H

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Functions of a path that are kept: the innermost ones. */
#define CALLPATHS_DEPTH 32
/* No function of the user's. */
#define CALLPATHS_NONE 0

struct callpaths;
/* Borrowed. */
struct callpaths *callpaths_create(const struct defs *defs);
void callpaths_destroy(struct callpaths *paths);
/* Number of the path of a process's stack. */
uint32_t
callpaths_number(struct callpaths *paths, uint32_t process, uint32_t stack);

/* The path up to that function (without its line); CALLPATHS_NONE = it is not
 * in it. */
uint32_t callpaths_cut(const struct callpaths *paths,
                       uint32_t path,
                       const struct place *function);

/* Samples with one path. */
struct callpaths_part {
    uint32_t path;
    bool is_meant; /* in the function that is to be explained */
    double ns;     /* of the thread that is asked about */
    double others; /* of threads that it is compared with */
};

/* The outermost function (a program's main one left out) that has nearly all
 * by which the meant ones are more than the others', and has little that is not
 * meant, or little of others; and who called it. Without names where there is
 * none but the meant function itself, which is `leaf`. */
struct report_callers callpaths_explain(const struct callpaths *paths,
                                        struct place leaf,
                                        const struct callpaths_part *parts,
                                        size_t count);

#endif
