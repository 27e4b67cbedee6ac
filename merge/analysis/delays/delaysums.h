/* delaysums.h - delay costs added up by who waited where, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * In integer nanoseconds: the costs of a group and what is unexplained add up
 * to what was added to it, exactly.
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_DELAYSUMS_H
#define CK_MERGE_ANALYSIS_DELAYS_DELAYSUMS_H

#include "merge/analysis/delays/delay.h"

/* Pairs of a group and a source that are kept; beyond, unexplained. */
#define DELAYSUMS_MAX ((size_t)1 << 17)

/* Waits that are reported together. */
struct delaysums_group {
    uint32_t site; /* call of the waiting thread: lookback_activity_site() */
    int32_t blamed;
    enum wait_kind wait;
    bool is_start;
};

struct delaysums;
struct delaysums *delaysums_create(void);
void delaysums_destroy(struct delaysums *sums);
/* Costs that became unexplained beyond DELAYSUMS_MAX. */
uint64_t delaysums_left_out(const struct delaysums *sums);
/* So much of the wait that is looked at belongs to the group. */
void delaysums_piece(struct delaysums *sums,
                     const struct delaysums_group *group,
                     ck_time_t ns);
/* That was all of the wait, or of a part of it: share out what it cost, `of`.
 * What a rank is blamed for takes first what the wait cost because of that
 * rank; what is left of pieces takes its part of what is left of the costs. */
void delaysums_share(struct delaysums *sums,
                     const struct defs *defs,
                     const struct delay *delay,
                     const struct delay_of *of);

/* Groups that differ by is_start alone are one from now on. */
void delaysums_forget_starts(struct delaysums *sums);

/* Costs of some groups together. */
struct delaysums_cost {
    uint32_t source; /* DELAY_NONE = unexplained */
    ck_time_t ns;
};
/* Begin with none; add a group, once however often it is named; add those that
 * blame a rank, or all. */
void delaysums_begin(struct delaysums *sums);
void delaysums_gather(struct delaysums *sums,
                      const struct delaysums_group *group);
void delaysums_gather_rank(struct delaysums *sums, int32_t blamed);
void delaysums_gather_all(struct delaysums *sums);
/* Waits that were shared out among what was gathered. */
uint64_t delaysums_waits(const struct delaysums *sums);
/* What was gathered, the largest first; borrowed until the next begin. */
const struct delaysums_cost *delaysums_costs(struct delaysums *sums,
                                             size_t *count);

#endif
