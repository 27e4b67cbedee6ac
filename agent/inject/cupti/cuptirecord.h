/* cuptirecord.h - from an activity record of CUPTI to a record of the ring
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIRECORD_H
#define CK_AGENT_INJECT_CUPTI_CUPTIRECORD_H

#include "agent/inject/cupti/cuptiapi.h"
#include "agent/inject/inject.h"

/* Kinds that record_write() knows and ckcupti asks for. */
extern const uint32_t record_kinds[];
extern const size_t record_kinds_count;

/* Records of the device whose times could not be used. */
uint64_t record_bad_times(void);

/* Write one activity record into this thread's slot; kinds that were not asked
 * for are passed over. Frees what CUPTI hands over with it. */
void record_write(const struct cupti_record *activity);

#endif
