/* delay.h - what a late rank did more than the one that waited for it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The delay costs of Boehme et al., "Identifying the Root Causes of Wait States
 * in Large-Scale Parallel Applications" (ACM TOPC 3(2), 2016), forward in one
 * pass. Thread b waits for w ns, until a comes at U. Let p be the last instant
 * until which both waited, or one for the other. From p on, a did k for tm_a(k)
 * up to U, and b for tm_b(k) until it began to wait; their waits in these times
 * had cost c_a(r, k) and c_b(r, k) because of what rank r did. What both have
 * cancels out:
 *
 *     x(r, k) = c_a(r, k) - c_b(r, k)
 *     x(a, k) += tm_a(k) - tm_b(k)     where that is more than 0,
 *     x(b, k) += tm_a(k) - tm_b(k)     where it is less
 *     Q = max(w, sum of all x > 0, and what of a's waits was not explained
 *                beyond that of b's)
 *     cost(r, k) = w x(r, k) / Q       of all x > 0
 *     unexplained = w - the sum of costs
 *
 * In the papers all that a waited passes on what it cost, also what it cost
 * because of b itself, or of one that b waited for as well. Both intervals
 * begin at the same instant p, so the positive differences are at least w: what
 * is not explained is what was not recorded, or is before the first p, or was
 * in turn not explained.
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_DELAY_H
#define CK_MERGE_ANALYSIS_DELAYS_DELAY_H

#include "merge/analysis/delays/delaysource.h"

/* Costs kept of a wait. */
#define DELAY_COSTS_MAX 32
/* More than one of so many parts of a wait matters, where the rest of its costs
 * is left out. */
#define DELAY_COSTS_CUT 100

struct delay;
/* Borrowed; `limit` as in delayprofile.h. */
struct delay *
delay_create(struct lookback *lookback, struct region region, size_t limit);
void delay_destroy(struct delay *delay);
/* A thread entered an MPI call whose wait is not known yet. */
void delay_enter(struct delay *delay, uint32_t thread, struct region call);
/* That call was looked at (after delay_wait(), if it waited). In order of the
 * calls' ends. */
void delay_leave(struct delay *delay, uint32_t thread, struct region call);
/* It waited in `part`, from its beginning on. All that it waited for is known,
 * and the waits of the others up to then were looked at. */
void delay_wait(struct delay *delay,
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
/* How often a bound was reached so far. */
struct report_delay_limits delay_limits(const struct delay *delay);
const struct delaysources *delay_sources(const struct delay *delay);

#endif
