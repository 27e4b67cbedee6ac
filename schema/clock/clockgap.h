/* clockgap.h - what a clock may do between two bursts of probes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_SCHEMA_CLOCK_CLOCKGAP_H
#define CK_SCHEMA_CLOCK_CLOCKGAP_H

#include <stddef.h>

#include "schema/clock/clockpiece.h"

/* Widen the knots at both ends of each gap of a piece about their middles, for
 * a step that passes for wander there. */
void ck_clockgap_widen(struct ck_clock_knot *knots, size_t count);

#endif
