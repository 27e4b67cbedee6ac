/* merging.h - one ckmerge at work on a run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * `ckmerge RUN` on a finished run prints the report on stdout, which is kept
 * here for the clients that wait for it, and writes report.txt, report.json and
 * report.html itself. `ckmerge --live RUN` writes what it is asked for alone.
 */
#ifndef CK_AGGREGATOR_LIVE_MERGING_H
#define CK_AGGREGATOR_LIVE_MERGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"
#include "schema/time.h"

/* Longest report handed on; the whole is in report.txt. */
#define MERGING_TEXT_MAX ((size_t)960 * 1024)

struct merging;

/* What ckmerge is asked for; all borrowed. */
struct merging_wish {
    const char *const *outputs; /* values of --output, ends with NULL; or
                                   NULL */
    bool is_pageless;           /* no report.html in the run */
    bool is_forced;             /* outputs replace files of others */
    /* The job is still running: nothing is kept in the run, the report is not
     * printed, others have the CPUs first, and it ends with this process. */
    bool is_live;
    bool is_urgent;    /* with is_live: as important as the job, as it is waited
                          for */
    const void *index; /* of the frames to read (frameindex.h); NULL = none */
    size_t index_bytes;
    int64_t cpu_s; /* with is_live: CPU time after which it is ended */
};

/* Start it on a run. NULL with err. */
struct merging *merging_start(const char *run,
                              const struct merging_wish *wish,
                              struct ck_err *err);
/* 1 it has ended: *code is its exit code (128 + signal), 0 not yet. */
int merging_look(struct merging *merging, int *code);
/* CPU time that it took, with its own children, after its end. */
ck_time_t merging_cpu(const struct merging *merging);
/* What it printed, after its end; borrowed, NUL-terminated. */
const char *merging_text(struct merging *merging, size_t *length);
/* Kill the child; its end is looked for as that of any. */
void merging_kill(const struct merging *merging);
/* Ends the child when it is still running: one on a finished run by SIGTERM,
 * waiting for it; one of a running job is killed, and not waited for long. */
void merging_destroy(struct merging *merging);

#endif
