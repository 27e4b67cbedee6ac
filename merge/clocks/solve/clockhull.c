/* clockhull.c - of the facts between two clocks those that may bound
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/solve/clockhull.h"

#include <stdbool.h>
#include <stdlib.h>

#include "merge/model/array.h"
#include "schema/clock/clocktrend.h"
#include "schema/order.h"

/* No two clocks run apart faster: 1000 ppm. */
#define DRIFT_MAX_PPB 1000000

void clockhull_fini(struct clockhull *hull)
{
    free(hull->facts);
}

/* The middle one of three is on or above the line through the others. */
static bool is_above(const struct clockhull_fact *a,
                     const struct clockhull_fact *b,
                     const struct clockhull_fact *c)
{
    return (__int128)(b->way - a->way) * (c->sent - a->sent) >=
           (__int128)(c->way - a->way) * (b->sent - a->sent);
}

/* Whether `a` cannot be tighter than `b`, at any drift. */
static bool is_slack(const struct clockhull_fact *a,
                     const struct clockhull_fact *b)
{
    return a->way - b->way >=
           ck_clock_drift(ck_clock_distance(a->sent, b->sent), DRIFT_MAX_PPB);
}

/* Append to the open window, which stays a lower hull. */
static void hull_add(struct clockhull *hull, struct clockhull_fact fact)
{
    struct clockhull_fact *facts = hull->facts;

    while (hull->count > hull->open &&
           is_slack(&facts[hull->count - 1], &fact)) {
        hull->count--;
    }
    if (hull->count > hull->open && is_slack(&fact, &facts[hull->count - 1])) {
        return;
    }
    while (hull->count > hull->open + 1 &&
           is_above(&facts[hull->count - 2], &facts[hull->count - 1], &fact)) {
        hull->count--;
    }
    facts[hull->count++] = fact;
}

CK_ORDER(fact_order, struct clockhull_fact, CK_UP(sent))

void clockhull_thin(struct clockhull *hull, unsigned bits)
{
    size_t count = hull->count;

    if (count == 0) {
        return;
    }
    qsort(hull->facts, count, sizeof(*hull->facts), fact_order);
    hull->count = hull->open = 0;
    hull->window = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        struct clockhull_fact fact = hull->facts[i];

        if (fact.sent >> bits != hull->window) {
            hull->window = fact.sent >> bits;
            hull->open = hull->count;
        }
        hull_add(hull, fact);
    }
}

void clockhull_add(struct clockhull *hull,
                   struct clockhull_fact fact,
                   unsigned bits)
{
    array_grow(&hull->facts, &hull->room, hull->count, sizeof(fact));
    if (fact.sent >> bits != hull->window ||
        (hull->count > hull->open &&
         fact.sent < hull->facts[hull->count - 1].sent)) {
        /* What comes out of order is a window of its own. */
        hull->window = fact.sent >> bits;
        hull->open = hull->count;
    }
    hull_add(hull, fact);
}
