/* cuptiflush.h - the thread that asks CUPTI for its records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each FLUSH_PERIOD it takes what is complete, asks for drops, and checks
 * that CUPTI still uses ck's clock. At exit it takes all that is left; the
 * program waits at most FLUSH_LIMIT for that.
 */
#ifndef CK_AGENT_INJECT_CUPTIFLUSH_H
#define CK_AGENT_INJECT_CUPTIFLUSH_H

#include <stdbool.h>

#include "schema/time.h"

#define FLUSH_PERIOD ((ck_time_t)100 * CK_TIME_MS)
#define FLUSH_LIMIT ((ck_time_t)4 * CK_TIME_S)

/* Start it. 0, or -1 with errno. */
int flush_start(void);
/* Take all that is left and end it; called at exit, any number of times. */
void flush_end(void);
/* Take what is complete, now, on this thread: before a context goes. */
void flush_now(void);
/* Record no more; `why` (may be NULL) is said in a NOTE. Any thread. */
void flush_stop(const char *why);

/* Whether records are taken at all in this process. */
bool flush_is_on(void);
bool flush_is_own_thread(void);

#endif
