/* options.h - what ckmerge is asked to do
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OPTIONS_H
#define CK_MERGE_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/cli.h"
#include "launch/format.h"
#include "merge/model/defs.h"

struct options {
    const char *run; /* with is_kernel_only: the output */
    bool is_kernel_only;
    const char *const *inputs; /* of a kernel-only merge; borrowed from argv */
    size_t inputs_count;
    const char *scalene;      /* profile to be joined with, NULL = none */
    struct ck_cli_list given; /* --rank FILE=N */
    struct ck_cli_list outputs;
    const char *baseline; /* run to compare with, NULL = none */
    const char *ranks;    /* "" = all */
    const char *region;   /* "" = none; "NAME" or "NAME#3", a range */
    int64_t from;         /* ns after the run's start; -1 = not given */
    int64_t to;
    int64_t max_clock_error; /* ns; -1 = not given */
    const char *clock_facts; /* "all", "probes", "messages",
                                "kernels" */
    bool is_forced;          /* an output may replace a file that is not ours */
    bool is_all_ranks;
    bool is_plain;
    bool is_verify;
    bool is_quiet;
    bool is_live;       /* the job is still running */
    const char *frames; /* index of its frames, NULL = none */
    bool has_page;      /* report.html beside the report */
    int64_t page_bytes; /* that it may have; 0 = not given */
    bool has_progress;
};

/* Read CKMERGE_OPTIONS and the command line. */
enum ck_cli_result options_read(struct options *options,
                                int argc,
                                char **argv,
                                struct ck_err *err);

/* Is that format asked for? */
bool options_has(const struct options *options, enum ck_format format);
/* Is only a part of the run to be looked at? Then nothing in it is replaced
 * but what was asked for. */
bool options_is_part(const struct options *options);
/* Where the HTML page goes that has no name: beside the report of the run, or
 * the output of a kernel-only merge. 0, or -1 with err. */
#define OPTIONS_PAGE "report.html"
int options_page(const struct options *options,
                 char path[PATH_MAX],
                 struct ck_err *err);

/* Mark the ranks of "0,2-5" as the wanted ones; "" = all. `missing` names those
 * that are not there, "" = all are. 0, or -1 with err: none is there. */
int options_ranks(const char *text,
                  struct defs *defs,
                  struct ck_err *missing,
                  struct ck_err *err);

#endif
