/* resident.h - how much memory the program's processes have
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read from /proc, sent as MEMORY records where it changed. One user, the
 * collector's thread.
 */
#ifndef CK_AGENT_COLLECTOR_RESIDENT_H
#define CK_AGENT_COLLECTOR_RESIDENT_H

#include <stdint.h>

#include "agent/stream/selfstream.h"
#include "schema/ring/ring.h"
#include "schema/time.h"

/* Between two looks at statm; at status, which has the kernel's own peak; and,
 * at least, at smaps_rollup, which has to walk all pages: in sum it takes no
 * more than a part in RESIDENT_WALK_SHARE of a CPU.
 */
#define RESIDENT_PAUSE (100 * CK_TIME_MS)
#define RESIDENT_STATUS_PAUSE CK_TIME_S
#define RESIDENT_WALK_PAUSE (2 * CK_TIME_S)
#define RESIDENT_WALK_SHARE 1000
/* Processes that are followed. */
#define RESIDENT_PROCESSES 64

struct resident;

/* Both borrowed. NULL with ENOMEM. */
struct resident *resident_create(struct ck_ring_header *header,
                                 struct selfstream *selfstream);
void resident_destroy(struct resident *resident);

/* Look at processes that are in the ring's table, where it is time to. */
void resident_step(struct resident *resident, ck_time_t now);

#endif
