/* firefox.h - samples as a profile for the Firefox Profiler
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_STACKS_FIREFOX_H
#define CK_MERGE_OUTPUT_STACKS_FIREFOX_H

#include "merge/output/stacks/stacktable.h"
#include "schema/err.h"

struct firefox {
    const char *name;    /* of the run */
    const char *version; /* of ck */
    int64_t realtime;    /* of the axis's zero; 0 = not known */
};

/* A thread of the profile for each thread that was sampled. 0, or -1 with err.
 */
int firefox_write(const struct stacktable *table,
                  const struct firefox *about,
                  const char *path,
                  struct ck_err *err);

#endif
