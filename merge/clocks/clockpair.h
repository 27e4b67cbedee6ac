/* clockpair.h - how far two clocks may be apart when neither is the axis
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of two clocks against the axis may be vague, and yet exact of
 * one against the other: two hosts that exchange messages, far from the rest.
 * So the facts are solved once more for one of the two, and kept: all pairs
 * that it is in are answered by that.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKPAIR_H
#define CK_MERGE_CLOCKS_CLOCKPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/clocks/solve/clocksolve.h"
#include "merge/timeline/clockparts.h"
#include "schema/time.h"

/* Nodes and links that are looked at for all pairs of a run; beyond, there is
 * no answer. */
#define CLOCKPAIR_WORK ((size_t)20000000)

struct clockpair;
/* Of a solve that has run, borrowed. */
struct clockpair *clockpair_create(const struct clocksolve *solve);
void clockpair_destroy(struct clockpair *pair);
/* At a time on the axis: the offset of the one clock less that of the other is
 * no more than that from the truth. CK_CLOCK_NONE: no more
 * is known than of each alone. */
ck_time_t
clockpair_bound(struct clockpair *pair, uint32_t a, uint32_t b, ck_time_t time);
/* The largest bound in each part of a stretch of the axis. False: no more is
 * known than of each alone. */
bool clockpair_parts(struct clockpair *pair,
                     uint32_t a,
                     uint32_t b,
                     const ck_time_t stretch[2],
                     ck_time_t parts[CLOCKPARTS]);

#endif
