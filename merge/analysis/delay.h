/* delay.h - what a late rank did more than the one that waited for it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The delay costs of Boehme et al., "Identifying the Root Causes of Wait States
 * in Large-Scale Parallel Applications" (ACM TOPC 3(2), 2016), forward in one
 * pass. Thread b waits for w ns, until a comes at U. Let p be the last instant
 * until which both waited, or one for the other. From p on, a did k for tm_a(k)
 * up to U, and b for tm_b(k) until it began to wait:
 *
 *     d(k) = max(0, tm_a(k) - tm_b(k))     D = sum of d
 *     W    = what a itself waited since p
 *     Q    = max(D + W, w)
 *     cost(k on a)  = w d(k) / Q
 *     cost(r)      += w c(r) / Q    of each wait of a since p that cost c(r)
 *                                   because of r
 *     unexplained   = w - the sum of costs
 *
 * Both intervals begin at the same instant p, so D + W >= w: what is not
 * explained is what was not recorded, or lies before the first p, or was in
 * turn not explained.
 */
#ifndef CK_MERGE_ANALYSIS_DELAY_H
#define CK_MERGE_ANALYSIS_DELAY_H

#include "merge/analysis/delaysource.h"

/* Costs kept of a wait; instants that a thread shares with others. */
#define DELAY_COSTS_MAX 32
#define DELAY_SYNCS_MAX 64

struct delay;
/* Borrowed; `limit` as in delayprofile.h. NULL with ENOMEM. */
struct delay *
delay_create(struct scene *scene, struct region region, size_t limit);
void delay_destroy(struct delay *delay);
/* A thread entered an MPI call whose wait is not known yet, and that call was
 * looked at (after delay_wait(), if it waited). In order of the calls' ends. 0,
 * or -1 with ENOMEM. */
int delay_enter(struct delay *delay, uint32_t thread, struct region call);
int delay_leave(struct delay *delay, uint32_t thread, struct region call);
/* It waited in `part`, from its beginning on. All that it waited for is known,
 * and the waits of the others up to then were looked at. 0, or -1 with ENOMEM.
 */
int delay_wait(struct delay *delay,
               uint32_t thread,
               struct region part,
               const struct wait *wait);

/* What a wait cost. */
struct delay_of {
    ck_time_t ns; /* the whole wait; 0 = not known */
    const struct delay_cost *costs;
    size_t count;
};
/* Of the wait of the thread in `part`; borrowed until the next call that is
 * not const. */
struct delay_of
delay_find(const struct delay *delay, uint32_t thread, struct region part);
const struct delaysources *delay_sources(const struct delay *delay);

struct delay_counts {
    uint64_t waits;
    uint64_t unanchored; /* of two that had nothing in common before */
};
struct delay_counts delay_counts(const struct delay *delay);

#endif
