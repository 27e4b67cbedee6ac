/* cuptilost.h - losses are reported exactly, however full the ring is
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One LOST record counts many others. Where the thread that has to write
 * it has no room, the loss is kept, added to others of its reason, until the
 * flush thread has room; what never finds any is counted in the ring, record
 * by record.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTILOST_H
#define CK_AGENT_INJECT_CUPTI_CUPTILOST_H

#include "agent/inject/inject.h"

/* `value` records were lost between two RAW times; 0: it is unknown what the
 * device did then. Any thread. */
void lost_tell(enum ck_lost reason,
               int64_t value,
               ck_time_t first,
               ck_time_t last);
/* Report what was kept; one thread at a time. True when nothing is left. */
bool lost_tell_kept(void);
/* The same for the last time: the ring counts what is left. */
void lost_end(void);

#endif
