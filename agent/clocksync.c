/* clocksync.c - which clock a ring uses, and its clock facts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/clocksync.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/own.h"
#include "schema/event.h"

#define READINGS 16
#define CLOCKSOURCE                                                            \
    "/sys/devices/system/clocksource/clocksource0/current_clocksource"

struct pair {
    int64_t other;
    ck_time_t raw;   /* middle of the bracket */
    ck_time_t width; /* half of it */
};

static int64_t clock_read(enum ck_clock clock)
{
    static const clockid_t ids[] = {
        [CK_CLOCK_REALTIME] = CLOCK_REALTIME,
        [CK_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
        [CK_CLOCK_BOOTTIME] = CLOCK_BOOTTIME,
    };
    struct timespec ts;

    if (clock == CK_CLOCK_TSC) {
        return ck_time_ticks();
    }
    (void)clock_gettime(ids[clock], &ts);
    return (int64_t)ts.tv_sec * CK_TIME_S + ts.tv_nsec;
}

/* RAW, other, RAW: the tightest of several brackets. */
static struct pair pair_read(enum ck_clock clock)
{
    struct pair best = {.width = INT64_MAX};

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

enum ck_clock clocksync_choose(void)
{
    enum ck_clock clock = CK_CLOCK_RAW;
#if defined(__x86_64__)
    char source[32] = "";
    FILE *file = fopen(CLOCKSOURCE, "re");

    if (file != NULL) {
        if (fgets(source, sizeof(source), file) != NULL &&
            strcmp(source, "tsc\n") == 0) {
            clock = CK_CLOCK_TSC;
        }
        (void)fclose(file);
    }
#endif
    return clock;
}

void clocksync_init(struct clocksync *sync, enum ck_clock clock)
{
    struct pair pair = pair_read(CK_CLOCK_TSC);

    *sync = (struct clocksync){
        .clock = clock, .ticks0 = pair.other, .raw0 = pair.raw};
}

static void pair_put(struct own *own, enum ck_clock clock, struct pair pair)
{
    struct ck_clock_fact fact = {
        .e = {.kind = CK_KIND_CLOCK_PAIR,
              .units = sizeof(fact) / CK_UNIT_BYTES,
              .start = pair.other},
        .value = pair.raw,
        .width = pair.width,
        .clock = (uint32_t)clock,
    };

    (void)own_put(own, &fact.e);
}

void clocksync_record(struct clocksync *sync, struct own *own)
{
    static const enum ck_clock seconds[] = {
        CK_CLOCK_REALTIME, CK_CLOCK_MONOTONIC, CK_CLOCK_BOOTTIME};

    if (sync->clock == CK_CLOCK_TSC) {
        struct pair pair = pair_read(CK_CLOCK_TSC);

        if (pair.other > sync->ticks0) {
            sync->ns_per_tick = (double)(pair.raw - sync->raw0) /
                                (double)(pair.other - sync->ticks0);
        }
        pair_put(own, CK_CLOCK_TSC, pair);
    }
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        pair_put(own, seconds[i], pair_read(seconds[i]));
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
