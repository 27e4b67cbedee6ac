/* bell.h - what wakes a collector when a slot fills up
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writers touch the ring's file (ck_ring_bell()), which is watched here. Where
 * it cannot be watched there is no bell, and who would sleep long must look
 * by the clock. One user, one thread.
 */
#ifndef CK_AGENT_BELL_H
#define CK_AGENT_BELL_H

#include <stdbool.h>

#include "agent/ringfile.h"
#include "schema/time.h"

/* It is not heard more often than this. */
#define BELL_PAUSE (1 * CK_TIME_MS)

struct bell {
    struct ck_ring_header *header; /* borrowed */
    int fd;                        /* -1 = there is none */
    ck_time_t heard_at;            /* 0 = not yet */
};

/* Watch the file. It does not ring yet. */
void bell_open(struct bell *bell, const struct ringfile *ring);
void bell_close(struct bell *bell);

/* Is it to ring in the wait that begins now? One that is short needs none, and
 * saves those who come and go the touch. */
void bell_set(struct bell *bell, bool is_on);

/* To be polled for POLLIN; -1 = there is none, or it rang a moment ago. */
int bell_fd(const struct bell *bell, ck_time_t now);
/* It rang: be silent until the next one. */
void bell_hear(struct bell *bell, ck_time_t now);

#endif
