/* shadow.h - times that say nothing: records lost, a tracer at work, a host
 * that stood still
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_SHADOW_H
#define CK_MERGE_ANALYSIS_HISTORY_SHADOW_H

#include <stdint.h>

#include "merge/model/cause.h"
#include "merge/model/interval.h"

/* Parts kept at most; of more the oldest go. */
#define SHADOW_PARTS_MAX 65536

/* A part and whom it concerns: an agent or a process (the other CAST_NONE),
 * one thread (tid) or all (0). */
struct shadow_part {
    struct region part;
    enum cause cause;
    uint32_t agent;
    uint32_t process;
    uint32_t tid;
};

struct shadow;
/* NULL with ENOMEM. */
struct shadow *shadow_create(void);
void shadow_destroy(struct shadow *shadow);
/* Copied; parts that ended by `horizon` may go. 0, or -1 with ENOMEM. */
int shadow_add(struct shadow *shadow,
               const struct shadow_part *part,
               ck_time_t horizon);
/* From now on shadow_at() is about this thread, within `within`. */
void shadow_aim(struct shadow *shadow,
                uint32_t agent,
                uint32_t process,
                uint32_t tid,
                struct region within);
/* What covers `time`, CAUSES = nothing; *until is brought forward to where
 * that changes. */
enum cause
shadow_at(const struct shadow *shadow, ck_time_t time, ck_time_t *until);

#endif
