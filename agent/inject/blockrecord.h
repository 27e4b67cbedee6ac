/* blockrecord.h - the records of a sampled block: it is there, it is gone
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_BLOCKRECORD_H
#define CK_AGENT_INJECT_BLOCKRECORD_H

#include "agent/inject/inject.h"
#include "agent/inject/liveblocks.h"

/* One record of a kind of CK_CLASS_STACKED, at time `now`; flags: CK_FLAG_RAW,
 * or none. Only with a writer. False: the ring had no room. */
bool blockrecord_put(const struct live_block *block,
                     enum ck_kind kind,
                     uint32_t name,
                     int64_t now,
                     uint8_t flags);

#endif
