/* cuptishare.h - CUPTI as one of several subscribers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * From CUDA 13.3 and driver 610 on CUPTI has several subscribers, each with
 * buffers of its own. They all use a second set of functions, which name the
 * subscriber; a client of the first set is refused then, and the other way
 * round.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTISHARE_H
#define CK_AGENT_INJECT_CUPTI_CUPTISHARE_H

#include <stdbool.h>

/* Has the CUPTI that was opened that set? */
bool share_is_possible(void);
/* From now on cupti_api is of that subscriber. */
void share_begin(void *subscriber);

#endif
