/* livedir.h - the directory of a run in which merges of a running job write
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_LIVE_LIVEDIR_H
#define CK_AGGREGATOR_LIVE_LIVEDIR_H

#include "schema/err.h"

/* In the run directory; it holds files only. */
#define LIVEDIR_NAME "live"

/* Make it in `run`, for this user alone; what an earlier ckagg left in one of
 * that name is removed. A link or a file of that name is left alone. 0, or -1
 * with err. */
int livedir_make(const char *run, struct ck_err *err);
/* Is it still a directory of this user alone? 0, or -1 with err. */
int livedir_check(const char *run, struct ck_err *err);
/* Remove it with its files from the run whose directory is open at `run`. 0:
 * it is gone, or was not there; -1 with errno. */
int livedir_remove(int run);

#endif
