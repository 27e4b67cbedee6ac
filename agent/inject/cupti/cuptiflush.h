/* cuptiflush.h - the thread that asks CUPTI for its records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each FLUSH_PERIOD it takes what is complete, asks for drops, and checks
 * that CUPTI's clock and buffers are still ck's. At exit it takes all that is
 * left; the program waits at most FLUSH_LIMIT for that.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIFLUSH_H
#define CK_AGENT_INJECT_CUPTI_CUPTIFLUSH_H

#include <stdbool.h>

#include "schema/time.h"

#define FLUSH_PERIOD ((ck_time_t)100 * CK_TIME_MS)
#define FLUSH_LIMIT ((ck_time_t)4 * CK_TIME_S)
#define FLUSH_CONTEXT_LIMIT CK_TIME_S

/* Start it; sharing: a client that takes over keeps CUPTI. 0, or -1 with
 * errno. */
int flush_start(bool is_sharing);
/* Take all that is left and end it; called at exit, any number of times. */
void flush_end(void);
/* Have what is complete taken by the flush thread, now: before a context goes.
 * Waits FLUSH_CONTEXT_LIMIT at most. Only in callbacks of API calls, where
 * CUPTI allows a flush. */
void flush_now(void);
/* A call of the program was reported. Before that nothing is asked of CUPTI: it
 * loads ck within cuInit(), which may take seconds. Any thread. */
void flush_hear(void);
/* Record no more; a NOTE gives `why` (may be NULL). Any thread. */
void flush_stop(const char *why);

/* Whether records are taken at all in this process. */
bool flush_is_on(void);
bool flush_is_own_thread(void);

#endif
