/* cuptiuntimed.h - when a device may have done work that has no times
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Not before its launch, nor before the end of what was launched earlier into
 * its stream; over when something that was launched later into it began, or
 * when the record came. Where the launch is not known, not before CUPTI asked
 * for the buffer. That time counts as unknown: a LOST record of no records.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIUNTIMED_H
#define CK_AGENT_INJECT_CUPTI_CUPTIUNTIMED_H

#include <stdint.h>

#include "schema/time.h"

/* Work of a stream; times on RAW ns. */
struct untimed_work {
    uint64_t stream; /* any number that is its own */
    uint32_t correlation;
    ck_time_t start, end; /* where they are known */
};

/* A buffer that CUPTI asked for at that time, on the thread that walks it. */
void untimed_begin(ck_time_t requested);
/* In its order. */
void untimed_good(const struct untimed_work *work);
/* `launched` is 0 where it is not known. */
void untimed_bad(const struct untimed_work *work, ck_time_t launched);
/* The buffer's end. */
void untimed_end(void);

#endif
