/* cuptitaken.h - whether CUPTI still gives its buffers to ckcupti
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI has one pair of buffer callbacks a process, and a second client's
 * replace the first one's without a word. Launches are told to ckcupti either
 * way: work that was launched and is done, and of which no buffer came, says
 * that somebody else has them. What was launched meanwhile is counted as lost,
 * and after TAKEN_BACK the callbacks are registered again.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTITAKEN_H
#define CK_AGENT_INJECT_CUPTI_CUPTITAKEN_H

#include "schema/time.h"

/* Looks, one each flush, until the callbacks are taken back: two seconds. */
#define TAKEN_BACK 20

/* A kernel was launched; all work of a context is done. Any thread. */
void taken_launched(void);
void taken_synced(void);
/* Look; only on the flush thread, behind a flush. */
void taken_check(void);

#endif
