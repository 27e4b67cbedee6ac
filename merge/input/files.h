/* files.h - the files that a store is read from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_INPUT_FILES_H
#define CK_MERGE_INPUT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/err.h"
#include "schema/store/run.h"

/* Append the files of a run, or one file; what was there stays. 0, or -1 with
 * err: nothing is there that could be read. */
int files_append(struct ck_run_files *files,
                 const char *path,
                 struct ck_err *err);
/* Seconds since one of them was written last. */
int64_t files_age(const struct ck_run_files *files);
/* Written by ckagg, not by an agent that could not deliver. */
bool files_is_segment(const char *path);
/* What stayed of segments that were discarded. */
bool files_is_facts(const char *path);

#endif
