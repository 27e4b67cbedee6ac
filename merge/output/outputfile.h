/* outputfile.h - an output file that is there as a whole or not at all
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is written goes to a new file beside the named one, which takes its
 * place once all of it is on the disk: a merge that fails leaves what was
 * there before. Links are followed, but for those of another user who is not
 * root, and an existing file keeps its mode.
 * A terminal, a pipe or another device is written as it is.
 */
#ifndef CK_MERGE_OUTPUT_OUTPUTFILE_H
#define CK_MERGE_OUTPUT_OUTPUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "schema/err.h"

struct outputfile {
    char path[PATH_MAX];  /* links resolved */
    char fresh[PATH_MAX]; /* what is written; "" = the path itself */
    char named[PATH_MAX]; /* as it was asked for */
    int fd;               /* the caller's to close, before outputfile_close() */
};

/* "-" is stdout. `mode` is that of a file that is not there yet. 0, or -1 with
 * err. */
int outputfile_open(struct outputfile *target,
                    const char *path,
                    mode_t mode,
                    struct ck_err *err);
/* The descriptor as a stream, which the caller closes. NULL with errno. */
FILE *outputfile_stream(struct outputfile *target);
/* Put the new file in place; or, when writing it failed with errno, remove it.
 * 0, or -1 with err. */
int outputfile_close(struct outputfile *target,
                     bool is_good,
                     struct ck_err *err);

#endif
