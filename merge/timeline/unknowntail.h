/* unknowntail.h - from when on nothing is known of an agent, and why
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An agent that recorded how its target ended is complete. Of another one, and
 * of one whose last records are missing, what came after the last record is not
 * known: it may have been anything.
 */
#ifndef CK_MERGE_TIMELINE_UNKNOWNTAIL_H
#define CK_MERGE_TIMELINE_UNKNOWNTAIL_H

#include "merge/model/defs.h"
#include "merge/model/cause.h"
#include "merge/model/interval.h"
#include "merge/report/report.h"
#include "merge/timeline/axis.h"

struct unknowntail {
    enum report_dark reason;
    struct region part; /* on the axis; ends with the target where that is
                           known */
};

struct unknowntail unknowntail_find(const struct defs *defs,
                                    const struct axis *axis,
                                    uint32_t agent);
/* When the process ended, on the axis, or its agent's program, which it did not
 * outlive as far as is known. False: not known. */
bool unknowntail_ended(const struct defs *defs,
                       const struct axis *axis,
                       uint32_t process,
                       ck_time_t *end);
/* The same of all processes of the rank that called MPI, or of all where none
 * did; not known where the end of one of them was not seen. */
bool unknowntail_rank_ended(const struct defs *defs,
                            const struct axis *axis,
                            const struct defs_rank *rank,
                            ck_time_t *end);
/* What a device's idle time in that part counts as. */
enum cause unknowntail_cause(enum report_dark reason);

#endif
