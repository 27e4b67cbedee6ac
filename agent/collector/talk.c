/* talk.c - when a collector speaks with its aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/talk.h"

#include <stddef.h>

bool talk_listens(const struct talk_look *look)
{
    return look->is_urgent || look->state != SESSION_SENDING ||
           outbox_used(look->outbox) > look->outbox->bytes / 4;
}

static bool is_lot(const struct talk_look *look)
{
    uint64_t most = look->outbox->bytes / 8;
    size_t bytes;

    if (most > TALK_BYTES) {
        most = TALK_BYTES;
    }
    if (look->is_urgent) {
        most = 1;
    }
    return outbox_unsent(look->outbox, &bytes) != NULL &&
           outbox_waiting(look->outbox) >= most;
}

bool talk_is_due(struct talk *talk, const struct talk_look *look, ck_time_t now)
{
    if (look->state == SESSION_AWAY) {
        return true;
    }
    if (!talk->has_mail && now < talk->at && !is_lot(look)) {
        return false;
    }
    talk->at = look->state == SESSION_SENDING
                   ? pace_until(now, TALK_PAUSE_SENDING)
                   : now + TALK_PAUSE;
    return true;
}
