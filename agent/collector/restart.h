/* restart.h - when a dead collector is followed by another
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Always, and at once; but of those that live for less than a second one after
 * the other, from the third on only one a second begins. Meanwhile the ring
 * takes what it has room for, and its writers count the rest. Pure: times in, a
 * time out.
 */
#ifndef CK_AGENT_COLLECTOR_RESTART_H
#define CK_AGENT_COLLECTOR_RESTART_H

#include <stdbool.h>

#include "schema/time.h"

#define RESTART_EACH CK_TIME_S
/* Of those that lived for less, so many in a row are followed at once. */
#define RESTART_QUICK 2

struct restart {
    ck_time_t born; /* the collector now or last, RAW */
    ck_time_t due;  /* when the next one begins; 0 = one is there */
    unsigned young; /* that died so soon, in a row */
};

/* One begins. */
void restart_born(struct restart *restart, ck_time_t now);
/* It died: `due` is set. */
void restart_died(struct restart *restart, ck_time_t now);
/* None could begin. */
void restart_failed(struct restart *restart, ck_time_t now);
/* Do they die as soon as they begin? */
bool restart_is_vain(const struct restart *restart);
/* Time until the next begins, at most `limit` (-1: no limit), in ms for
 * poll(). */
int64_t
restart_wait(const struct restart *restart, ck_time_t now, int64_t limit_ms);

#endif
