/* masked.h - times that are no evidence: records lost, a tracer at work, a host
 * that did not run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_MASKED_H
#define CK_MERGE_ANALYSIS_HISTORY_MASKED_H

#include <stdint.h>

#include "merge/model/cause.h"
#include "merge/model/interval.h"

/* Parts kept at most; of more the oldest go. */
#define MASKED_PARTS_MAX 65536

/* A part and whom it concerns: an agent or a process (the other DEFS_NONE),
 * one thread (tid) or all (0). */
struct masked_part {
    struct region part;
    enum cause cause;
    uint32_t agent;
    uint32_t process;
    uint32_t tid;
};

struct masked;
struct masked *masked_create(void);
void masked_destroy(struct masked *masked);
/* Copied; parts that ended by `horizon` may go. */
void masked_add(struct masked *masked,
                const struct masked_part *part,
                ck_time_t horizon);
/* From now on masked_at() is about this thread, within `within`. */
void masked_aim(struct masked *masked,
                uint32_t agent,
                uint32_t process,
                uint32_t tid,
                struct region within);
/* What covers `time`, CAUSES = nothing; *until is brought forward to where
 * that changes. */
enum cause
masked_at(const struct masked *masked, ck_time_t time, ck_time_t *until);

#endif
