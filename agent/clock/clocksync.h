/* clocksync.h - which clock a ring uses, and its clock facts
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A fact is a pair: another clock's reading and RAW at the same moment, with
 * the half width of the bracket. merge fits the maps; what is here is enough
 * to give the times of open calls and losses in RAW nanoseconds.
 */
#ifndef CK_AGENT_CLOCK_CLOCKSYNC_H
#define CK_AGENT_CLOCK_CLOCKSYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

struct selfstream;

/* Another clock and RAW at the same moment. */
struct clocksync_pair {
    int64_t other;   /* ns, of a counter ticks */
    ck_time_t raw;   /* middle of the bracket */
    ck_time_t width; /* half of it */
};

struct clocksync {
    enum ck_clock clock; /* the ring's */
    int64_t ticks0;      /* latest pair */
    ck_time_t raw0;
    double ns_per_tick; /* up to it; 0 = not yet */
    double refused;     /* the latest rate, if it was not taken; 0 = it was */
    int64_t source;     /* the kernel's clocksource (clocksource.h) */
    ck_time_t source_until; /* RAW: then it is read again */
};

/* TSC where the kernel itself keeps time by it, else RAW. */
enum ck_clock clocksync_choose(void);

/* The best of some readings. */
struct clocksync_pair clocksync_pair(enum ck_clock clock);

/* Take the first pair. */
void clocksync_init(struct clocksync *sync, enum ck_clock clock);

/* Go on from another pair, also of a counter that jumped. */
void clocksync_learn(struct clocksync *sync, int64_t ticks, ck_time_t raw);

/* Record one fact for each clock: the best of some readings. */
void clocksync_record(struct clocksync *sync, struct selfstream *selfstream);

/* RAW nanoseconds of a stamp of the ring's clock, to about a microsecond. */
ck_time_t clocksync_raw(const struct clocksync *sync, int64_t stamp);

#endif
