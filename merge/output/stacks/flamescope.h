/* flamescope.h - samples one by one, as `perf script` prints them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_STACKS_FLAMESCOPE_H
#define CK_MERGE_OUTPUT_STACKS_FLAMESCOPE_H

#include "merge/output/stacks/stacktable.h"
#include "schema/err.h"

/* Every sample that the table has kept, in order of time; `realtime`: of the
 * axis's zero, 0 = not known (times count from the axis's zero then). 0, or -1
 * with err. */
int flamescope_write(const struct stacktable *table,
                     int64_t realtime,
                     const char *path,
                     struct ck_err *err);

#endif
