/* opencalls.h - calls that were entered and never left
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A rank that died or hung was inside of something. The collector shows calls
 * that stay open; one that no record completes ends where the rank ended.
 */
#ifndef CK_MERGE_TIMELINE_OPENCALLS_H
#define CK_MERGE_TIMELINE_OPENCALLS_H

#include <stddef.h>
#include <stdint.h>

#include "merge/input/rundir.h"
#include "merge/model/defs.h"
#include "merge/model/interval.h"
#include "merge/timeline/axis.h"
#include "schema/err.h"
#include "schema/event.h"

/* The record that the call would have had, with CK_FLAG_CUT, on the axis. */
struct opencalls {
    union {
        struct ck_event e;
        struct ck_call call;
        struct ck_message message;
        struct ck_collective collective;
    } record;
    uint32_t process;
    uint32_t thread;
};

/* Look which open calls of the definitions were completed after all (sets
 * is_completed), once definitions and axis are closed. 0, or -1 with err. */
int opencalls_check(struct rundir *store,
                    struct defs *defs,
                    struct ck_err *err);

/* How long a call of an agent is open, on the axis: to the end of its process,
 * or to when it was seen last. */
struct region opencalls_part(const struct axis *axis,
                             const struct defs *defs,
                             uint32_t agent,
                             const struct defs_open *open);

/* The cuts of a run, the caller's to free. */
void opencalls_make(const struct defs *defs,
                    const struct axis *axis,
                    struct opencalls **cuts,
                    size_t *count);

#endif
