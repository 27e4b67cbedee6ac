/* unknowntail.h - from when on nothing is known of an agent, and why
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An agent that says how its target ended has said all. Of another one, and of
 * one whose last records are missing, nobody knows what came after the last
 * record: it may have been anything.
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
/* What a device's idle time in that part counts as. */
enum cause unknowntail_cause(enum report_dark reason);

#endif
