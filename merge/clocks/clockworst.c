/* clockworst.c - which two clocks are known least of each other
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of two clocks is at least what each one's bound gives, so their
 * sum is a limit that costs nothing. Of few domains every pair is looked at,
 * and reported. Of many they are looked at from the largest sum on, until no
 * sum that is left is larger than what was found.
 */
#include "merge/clocks/clockworst.h"

#include <stdlib.h>

#include "merge/clocks/calibration.h"
#include "merge/model/memory.h"
#include "schema/order.h"

/* Of so many domains each pair is reported. */
#define DOMAINS_TOLD 32
/* Pairs that are looked at of more. */
#define PAIRS_LOOKED 4000

/* An agent of each domain, DEFS_NONE = it has none. The caller's to free. */
static uint32_t *agents_of(const struct defs *defs)
{
    uint32_t *agents = xmalloc((defs->domains_count + 1) * sizeof(*agents));

    for (size_t i = 0; i < defs->domains_count; i++) {
        agents[i] = DEFS_NONE;
    }
    for (uint32_t i = 0; i < defs->agents_count; i++) {
        if (agents[defs->agents[i].domain] == DEFS_NONE) {
            agents[defs->agents[i].domain] = i;
        }
    }
    return agents;
}

CK_ORDER(time_order, ck_time_t, CK_LESS(*a, *b))

/* The largest first; of equal ones in the order of the domains. */
CK_ORDER(worst_first,
         struct report_clock_pair,
         CK_DOWN(bound_max) ?: CK_UP(a) ?: CK_UP(b))

/* Two domains against each other over the region. Where they are not known
 * everywhere it remains their sum. */
static void pair_look(const struct align *align,
                      const struct report *report,
                      const uint32_t *agents,
                      struct report_clock_pair *pair)
{
    const ck_time_t stretch[2] = {report->region.start, report->region.end};
    ck_time_t parts[CLOCKPARTS];

    if (align_pair_parts(align, agents[pair->a], agents[pair->b], stretch,
                         parts) != 0) {
        return;
    }
    qsort(parts, CLOCKPARTS, sizeof(*parts), time_order);
    pair->bound_median = parts[CLOCKPARTS / 2];
    pair->bound_max = parts[CLOCKPARTS - 1];
    pair->is_sum =
        !calibration_pair_is_solved(align_calibration(align), pair->a, pair->b,
                                    stretch[0] + (stretch[1] - stretch[0]) / 2);
}

/* All pairs, by the sum of both. The caller's to free. */
static struct report_clock_pair *pairs_list(const struct report *report,
                                            size_t *count)
{
    size_t domains = report->domains_count;
    struct report_clock_pair *pairs =
        xcalloc(domains * domains / 2 + 1, sizeof(*pairs));

    *count = 0;
    for (uint32_t a = 0; a < domains; a++) {
        const struct report_domain *x = &report->domains[a];

        for (uint32_t b = a + 1; b < domains; b++) {
            const struct report_domain *y = &report->domains[b];

            if (x->ranks > 0 && y->ranks > 0 && x->is_calibrated &&
                y->is_calibrated) {
                pairs[(*count)++] = (struct report_clock_pair){
                    a, b, x->bound_median + y->bound_median,
                    x->bound_max + y->bound_max, true};
            }
        }
    }
    return pairs;
}

/* The worst one; the pairs are sorted by their sums. */
static struct report_clock_pair worst_find(const struct align *align,
                                           const struct report *report,
                                           const uint32_t *agents,
                                           struct report_clock_pair *pairs,
                                           size_t count)
{
    struct report_clock_pair worst = {0};

    for (size_t i = 0; i < count && pairs[i].bound_max > worst.bound_max; i++) {
        if (i < PAIRS_LOOKED) {
            pair_look(align, report, agents, &pairs[i]);
        }
        if (pairs[i].bound_max > worst.bound_max) {
            worst = pairs[i];
        }
    }
    return worst;
}

void clockworst_report(const struct defs *defs,
                       const struct align *align,
                       struct report *report)
{
    size_t count;
    struct report_clock_pair *pairs = pairs_list(report, &count);
    uint32_t *agents = agents_of(defs);

    if (report->domains_count > DOMAINS_TOLD) {
        qsort(pairs, count, sizeof(*pairs), worst_first);
        report->clock_worst = worst_find(align, report, agents, pairs, count);
        free(pairs);
    } else {
        for (size_t i = 0; i < count; i++) {
            pair_look(align, report, agents, &pairs[i]);
            if (pairs[i].bound_max > report->clock_worst.bound_max) {
                report->clock_worst = pairs[i];
            }
        }
        report->clock_pairs = pairs;
        report->clock_pairs_count = count;
    }
    free(agents);
}
