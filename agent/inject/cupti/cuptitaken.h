/* cuptitaken.h - whether CUPTI still gives its buffers to ckcupti
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI has one pair of buffer callbacks a process, and a second client's
 * replace the first one's silently. Launches are reported to ckcupti either
 * way: work that was launched and is done, but came in no buffer, shows that
 * another client has them. What was launched meanwhile is counted as lost, and
 * after TAKEN_BACK the callbacks are registered again. Where ckcuda reports
 * when the other one came and left (cuptilink.h), that counts instead.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTITAKEN_H
#define CK_AGENT_INJECT_CUPTI_CUPTITAKEN_H

#include "agent/inject/cudalink.h"

/* Looks, one each flush, until the callbacks are taken back: two seconds. */
#define TAKEN_BACK 20
/* Looks after which a client has left that wants no kernels any more and does
 * not ask for what there is: five seconds. */
#define TAKEN_ENDED 50

/* A kernel was launched; all work of a context is done. Any thread. */
void taken_launched(void);
void taken_synced(void);
/* What another client did. Any thread. */
void taken_rival(enum cuda_rival what);
/* Without a subscription: calls come from CUPTI's records, which `enable` asks
 * for; while another client is there, ckcuda alone reports launches. Before the
 * first look. */
typedef void taken_calls_f(void);
void taken_share(taken_calls_f *enable);
/* Look; only on the flush thread, behind a flush. */
void taken_check(void);

#endif
