/* evidence.h - what is known of an activity beyond calls and ranges
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Samples of where a thread computed, what the holder of a lock did, which
 * file was waited for: each adds its weight to the activity that it was met
 * in; the heaviest is reported.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_EVIDENCE_H
#define CK_MERGE_ANALYSIS_HISTORY_EVIDENCE_H

#include "merge/analysis/history/callpaths.h"
#include "merge/model/defs.h"
#include "merge/report/report.h"

enum evidence_kind {
    EVIDENCE_SAMPLE,   /* a = process, b = stack of its agent */
    EVIDENCE_HOLDER,   /* a = thread of the definitions, b = what it did */
    EVIDENCE_PATH,     /* a = process, b = name */
    EVIDENCE_OFF,      /* a = enum evidence_off */
    EVIDENCE_FAULTING, /* of the samples: that handled page faults */
};

/* Whether a thread between calls had a CPU. */
enum evidence_off {
    EVIDENCE_ON,
    EVIDENCE_PREEMPTED,
    EVIDENCE_BLOCKED,
    EVIDENCE_OFFS,
};

struct evidence_item {
    uint32_t activity;
    enum evidence_kind kind;
    uint32_t a;
    uint32_t b;
    int64_t weight; /* ns */
};

/* Where a sample met its thread: the innermost frame of the program with a
 * known file and line, else the innermost one; a library's name alone where it
 * has no symbols. */
struct place evidence_place(const struct defs *defs,
                            const struct evidence_item *item);

/* The function by which that place was left: the one that it called, where that
 * is known by name alone ("do_system" of libc); NULL = it called none. */
const char *evidence_called(const struct defs *defs,
                            const struct evidence_item *item);

/* Did the sample meet ck's own code, at work in the program? */
bool evidence_is_own(const struct defs *defs, const struct evidence_item *item);

/* Did it meet code of an OpenMP runtime? */
bool evidence_is_team(const struct defs *defs,
                      const struct evidence_item *item);

/* Did it meet code of the program, or what that called of libc? A runtime's
 * thread that has no work yields there, too. */
bool evidence_is_work(const struct defs *defs,
                      const struct evidence_item *item);

struct evidence;
/* `defs` is borrowed. */
struct evidence *evidence_create(const struct defs *defs);
void evidence_destroy(struct evidence *evidence);
/* The paths of stacks. */
struct callpaths *evidence_paths(const struct evidence *evidence);
void evidence_add(struct evidence *evidence, const struct evidence_item *item);
/* The heaviest of a kind; false when there is none. */
bool evidence_top(const struct evidence *evidence,
                  uint32_t activity,
                  enum evidence_kind kind,
                  struct evidence_item *top);
/* How long it ran, and did not. */
struct report_running evidence_running(const struct evidence *evidence,
                                       uint32_t activity);
/* The function with the most samples, and in it the line. */
struct report_sampled evidence_sampled(const struct evidence *evidence,
                                       uint32_t activity);

#endif
