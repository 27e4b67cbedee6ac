/* clockbounds.h - how well clocks are known over time, for a trace
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A sample is the largest bound of a stretch of the trace, so that no instant
 * of a clock is worse than what is drawn. Where it does not change there is
 * none.
 */
#ifndef CK_MERGE_OUTPUT_CLOCKBOUNDS_H
#define CK_MERGE_OUTPUT_CLOCKBOUNDS_H

#include "merge/clocks/align.h"
#include "merge/model/defs.h"
#include "merge/model/interval.h"

/* In place of a bound where there is none. */
#define CLOCKBOUNDS_UNKNOWN (-1)

/* A clock's bound, in ns, from that time on. */
typedef void (*clockbounds_f)(void *state,
                              uint32_t clock,
                              ck_time_t time,
                              ck_time_t bound);
/* One clock after the other, each in order of time; nothing where there is but
 * one clock. */
void clockbounds_each(const struct defs *defs,
                      const struct align *align,
                      struct region part,
                      clockbounds_f f,
                      void *state);

#endif
