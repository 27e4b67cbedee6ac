/* clocksync.c - which clock a ring uses, and its clock facts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/clock/clocksync.h"

#include <math.h>
#include <time.h>

#include "agent/process/procfile.h"
#include "agent/stream/selfstream.h"
#include "schema/clock/clocksource.h"
#include "schema/event.h"

#define READINGS 16
/* The clocksource is read again; merge counts on it (ticksfit.c). */
#define SOURCE_PERIOD (10 * CK_TIME_S)
/* No rate changes by so much. */
#define JUMP 1e-3
#define CLOCKSOURCE                                                            \
    "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static int64_t clock_read(enum ck_clock clock)
{
    static const clockid_t ids[] = {
        [CK_CLOCK_REALTIME] = CLOCK_REALTIME,
        [CK_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
        [CK_CLOCK_BOOTTIME] = CLOCK_BOOTTIME,
    };

    return clock == CK_CLOCK_TSC ? ck_time_ticks() : ck_time_of(ids[clock]);
}

/* RAW, other, RAW: the tightest of several brackets. */
struct clocksync_pair clocksync_pair(enum ck_clock clock)
{
    struct clocksync_pair best = {.width = INT64_MAX};

    for (int i = 0; i < READINGS; i++) {
        ck_time_t before = ck_time_raw();
        int64_t other = clock_read(clock);
        ck_time_t after = ck_time_raw();

        if ((after - before + 1) / 2 < best.width) {
            best.other = other;
            best.raw = before + (after - before) / 2;
            best.width = (after - before + 1) / 2;
        }
    }
    return best;
}

/* What the kernel keeps time by, as a number; 0 = not known. */
static int64_t source_read(void)
{
    char source[32];

    (void)procfile_read(source, sizeof(source), CLOCKSOURCE);
    return ck_clocksource_number(source);
}

enum ck_clock clocksync_choose(void)
{
    return ck_clocksource_is_counter(source_read()) ? CK_CLOCK_TSC
                                                    : CK_CLOCK_RAW;
}

void clocksync_init(struct clocksync *sync, enum ck_clock clock)
{
    struct clocksync_pair pair = clocksync_pair(CK_CLOCK_TSC);

    *sync = (struct clocksync){
        .clock = clock,
        .ticks0 = pair.other,
        .raw0 = pair.raw,
        .source_until = INT64_MIN,
    };
}

static bool is_near(double rate, double other)
{
    return other > 0 && fabs(rate - other) < JUMP * other;
}

void clocksync_learn(struct clocksync *sync, int64_t ticks, ck_time_t raw)
{
    double rate = (double)(raw - sync->raw0) / (double)(ticks - sync->ticks0);

    if (raw - sync->raw0 < CK_TIME_MS) {
        return;
    }
    /* A counter that jumped: the rate of before is as good as any, unless the
     * new one lasts. */
    if (ticks > sync->ticks0 &&
        (sync->ns_per_tick <= 0 || is_near(rate, sync->ns_per_tick) ||
         is_near(rate, sync->refused))) {
        sync->ns_per_tick = rate;
        sync->refused = 0;
    } else {
        sync->refused = ticks > sync->ticks0 ? rate : 0;
    }
    sync->ticks0 = ticks;
    sync->raw0 = raw;
}

static void pair_put(struct selfstream *selfstream,
                     enum ck_clock clock,
                     struct clocksync_pair pair,
                     int64_t source)
{
    struct ck_clock_fact fact = {
        .e = {.kind = CK_KIND_CLOCK_PAIR,
              .units = sizeof(fact) / CK_UNIT_BYTES,
              .start = pair.other},
        .value = pair.raw,
        .width = pair.width,
        .t3 = source,
        .clock = (uint32_t)clock,
    };

    (void)selfstream_put(selfstream, &fact.e);
}

void clocksync_record(struct clocksync *sync, struct selfstream *selfstream)
{
    static const enum ck_clock seconds[] = {
        CK_CLOCK_REALTIME, CK_CLOCK_MONOTONIC, CK_CLOCK_BOOTTIME};

    if (sync->clock == CK_CLOCK_TSC) {
        struct clocksync_pair pair = clocksync_pair(CK_CLOCK_TSC);

        if (pair.raw >= sync->source_until) {
            sync->source = source_read();
            sync->source_until = pair.raw + SOURCE_PERIOD;
        }
        clocksync_learn(sync, pair.other, pair.raw);
        pair_put(selfstream, CK_CLOCK_TSC, pair, sync->source);
    }
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        pair_put(selfstream, seconds[i], clocksync_pair(seconds[i]), 0);
    }
}

ck_time_t clocksync_raw(const struct clocksync *sync, int64_t stamp)
{
    if (sync->clock != CK_CLOCK_TSC) {
        return stamp;
    }
    return sync->raw0 +
           (ck_time_t)((double)(stamp - sync->ticks0) * sync->ns_per_tick);
}
