/* runplace.h - the directory of the run that was read, to write into
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who owns the folder that a run is in can exchange the run for a link to
 * another directory at any moment. So a directory is opened, and is written to
 * by its descriptor only where it has a file of an agent of the run: the 128
 * random bits in its name are in no other directory.
 */
#ifndef CK_MERGE_RUNPLACE_H
#define CK_MERGE_RUNPLACE_H

#include <limits.h>
#include <stddef.h>

#include "merge/model/defs.h"
#include "schema/err.h"

struct runplace {
    const char *run; /* borrowed; as it was named */
    int fd;
    char path[PATH_MAX]; /* the open directory's; without /proc, its name */
};

/* 0, or -1 with err. */
int runplace_open(struct runplace *place,
                  const char *run,
                  const struct defs *defs,
                  struct ck_err *err);
/* As ck_run_replace(). */
int runplace_replace(const struct runplace *place,
                     const char *name,
                     const char *text,
                     size_t length,
                     struct ck_err *err);
/* Unless it is not there. */
void runplace_remove(const struct runplace *place, const char *name);
void runplace_close(struct runplace *place);

#endif
