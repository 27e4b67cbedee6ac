/* sendpolicy.c - when a collector exchanges messages with its aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/sendpolicy.h"

#include <stddef.h>

static bool is_lot(const struct sendpolicy_look *look)
{
    uint64_t most = look->outbox->bytes / 8;
    size_t bytes;

    if (most > SENDPOLICY_BYTES) {
        most = SENDPOLICY_BYTES;
    }
    if (look->is_urgent) {
        most = 1;
    }
    return outbox_unsent(look->outbox, &bytes) != NULL &&
           outbox_waiting(look->outbox) >= most;
}

bool sendpolicy_is_due(struct sendpolicy *sendpolicy,
                       const struct sendpolicy_look *look,
                       ck_time_t now)
{
    if (look->state == SESSION_AWAY) {
        return true;
    }
    if (!sendpolicy->has_mail && now < sendpolicy->at && !is_lot(look)) {
        return false;
    }
    sendpolicy->at = look->state == SESSION_SENDING
                         ? pace_until(now, SENDPOLICY_PAUSE_SENDING)
                         : now + SENDPOLICY_PAUSE;
    return true;
}
