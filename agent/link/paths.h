/* paths.h - where the data of this agent goes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_LINK_PATHS_H
#define CK_AGENT_LINK_PATHS_H

#include <limits.h>
#include <stdbool.h>

#include "agent/process/identity.h"
#include "schema/err.h"

/* Paths that outlive a change of directory. */
struct paths {
    char dir[PATH_MAX];      /* run directory */
    char fallback[PATH_MAX]; /* for the spool, where `dir` cannot be written */
    bool is_moved;           /* `dir` is not the one that was given */
    int claim;               /* of `dir` (claim.h), -1 = none */
};

/* `dir` is the user's, or NULL. A directory that holds the run of another job
 * is left alone, or that another job has claimed: places->dir is the first of
 * DIR.2, DIR.3 ... that does not, which all agents of a job find alike, and
 * *err has a line about it. 0, or -1 with err.
 */
int paths_find(struct paths *places,
               const struct identity *identity,
               const char *dir,
               struct ck_err *err);

#endif
