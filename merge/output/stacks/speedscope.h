/* speedscope.h - stacks as a file for speedscope
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_STACKS_SPEEDSCOPE_H
#define CK_MERGE_OUTPUT_STACKS_SPEEDSCOPE_H

#include "merge/output/stacks/stacktable.h"
#include "schema/err.h"

struct speedscope {
    const char *name;    /* of the run */
    const char *version; /* of ck */
};

/* A profile of all ranks, then one of each thread. 0, or -1 with err. */
int speedscope_write(const struct stacktable *table,
                     const struct speedscope *about,
                     const char *path,
                     struct ck_err *err);

#endif
