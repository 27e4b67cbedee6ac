/* restart.c - when a dead collector is followed by another
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/restart.h"

void restart_born(struct restart *restart, ck_time_t now)
{
    restart->born = now;
    restart->due = 0;
}

void restart_died(struct restart *restart, ck_time_t now)
{
    restart->young =
        now - restart->born < RESTART_EACH ? restart->young + 1 : 0;
    restart->due =
        restart_is_vain(restart) ? restart->born + RESTART_EACH : now;
}

void restart_failed(struct restart *restart, ck_time_t now)
{
    restart->due = now + RESTART_EACH;
}

bool restart_is_vain(const struct restart *restart)
{
    return restart->young > RESTART_QUICK;
}

int64_t
restart_wait(const struct restart *restart, ck_time_t now, int64_t limit_ms)
{
    int64_t left_ms;

    if (restart->due == 0) {
        return limit_ms;
    }
    left_ms = restart->due > now ? (restart->due - now) / CK_TIME_MS + 1 : 0;
    return limit_ms < 0 || left_ms < limit_ms ? left_ms : limit_ms;
}
