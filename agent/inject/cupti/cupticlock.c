/* cupticlock.c - which clock CUPTI stamps with, and its pairs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cupticlock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "agent/inject/cupti/cuptiapi.h"
#include "agent/inject/inject.h"

/* Pairs kept, a power of two; at ten a second more than a minute. */
#define CLOCK_PAIRS 1024
#define CLOCK_TRIES 10
#define CLOCK_GOOD CK_TIME_US
/* Two clocks of one machine do not drift apart faster; what does was set. */
#define CLOCK_DRIFT_PPM 1000
#define CLOCK_DRIFT_LEAST ((int64_t)50 * CK_TIME_US)

/* Whose stamps CUPTI gives. */
enum source { SOURCE_RAW, SOURCE_REAL, SOURCE_OTHER };

struct pair {
    _Atomic int64_t stamp;
    _Atomic int64_t raw;
};
static struct pair pairs[CLOCK_PAIRS];
static _Atomic uint64_t taken;
/* Pairs before this one are of another clock. */
static _Atomic uint64_t first;
static enum source source; /* flush thread only */
static _Atomic int is_raw;
static ck_time_t began_raw;
static int64_t began_ticks;

/* One clock for all of CUPTI's stamps: RAW ns. */
static uint64_t now(void)
{
    return (uint64_t)ck_time_raw();
}

/* A stamp and the two clocks of the host around it. */
struct look {
    int64_t raw[2], real[2], stamp;
};

static int look_take(struct look *look)
{
    uint64_t stamp = 0;
    int rc;

    look->raw[0] = ck_time_raw();
    look->real[0] = ck_time_of(CLOCK_REALTIME);
    rc = cupti_api.cuptiGetTimestamp(&stamp);
    look->real[1] = ck_time_of(CLOCK_REALTIME);
    look->raw[1] = ck_time_raw();
    look->stamp = (int64_t)stamp;
    return rc == CUPTI_OK ? 0 : -1;
}

static enum source source_of(const struct look *look)
{
    if (look->stamp >= look->raw[0] && look->stamp <= look->raw[1]) {
        return SOURCE_RAW;
    }
    return look->stamp >= look->real[0] && look->stamp <= look->real[1]
               ? SOURCE_REAL
               : SOURCE_OTHER;
}

/* The look that took the least time, of a few. 0, or -1. */
static int look_best(struct look *best)
{
    struct look look = {{0, 0}, {0, 0}, 0};
    int rc = -1;

    for (int i = 0; i < CLOCK_TRIES &&
                    (rc != 0 || best->raw[1] - best->raw[0] > CLOCK_GOOD);
         i++) {
        if (look_take(&look) == 0 &&
            (rc != 0 ||
             look.raw[1] - look.raw[0] < best->raw[1] - best->raw[0])) {
            *best = look;
            rc = 0;
        }
    }
    return rc;
}

/* Was neither clock set between the two? */
static bool is_steady(int64_t stamps, int64_t raws)
{
    int64_t off = llabs(stamps - raws);

    return stamps > 0 &&
           off <= CLOCK_DRIFT_LEAST + raws / 1000000 * CLOCK_DRIFT_PPM;
}

bool clock_pair(void)
{
    uint64_t at = atomic_load(&taken);
    struct pair *pair = &pairs[at % CLOCK_PAIRS];
    struct look look = {{0, 0}, {0, 0}, 0};
    enum source seen;
    bool is_same = true;

    if (look_best(&look) != 0) {
        return true; /* nothing is known of it */
    }
    seen = source_of(&look);
    if (at > 0 && seen != source) {
        is_same = false;
        atomic_store(&first, at);
    }
    source = seen;
    atomic_store(&is_raw, seen == SOURCE_RAW);
    atomic_store(&pair->stamp, look.stamp);
    atomic_store(&pair->raw, look.raw[0] + (look.raw[1] - look.raw[0]) / 2);
    /* release: pairs with the acquire in clock_raw() */
    atomic_store_explicit(&taken, at + 1, memory_order_release);
    return is_same;
}

int clock_start(void)
{
    bool is_buggy = cupti_api.version >= CUPTI_SINCE_CLOCK_BUG &&
                    cupti_api.version < CUPTI_SINCE_CLOCK_MENDED;
    int rc = is_buggy ? CUPTI_OK
                      : cupti_api.cuptiActivityRegisterTimestampCallback(now);

    began_raw = ck_time_raw();
    began_ticks = ck_time_ticks();
    if (rc == CUPTI_OK) {
        (void)clock_pair();
    }
    return rc;
}

ck_time_t clock_of_ring(int64_t stamp)
{
    ck_time_t raw = ck_time_raw();
    int64_t ticks = ck_time_ticks();

    if (inject_ring.clock != CK_CLOCK_TSC || ticks <= began_ticks) {
        return stamp;
    }
    return raw -
           (ck_time_t)((double)(ticks - stamp) * (double)(raw - began_raw) /
                       (double)(ticks - began_ticks));
}

/* Between two pairs, or behind the last one. */
static uint64_t
between(const struct pair *pair, const struct pair *next, int64_t stamp)
{
    int64_t from = atomic_load_explicit(&pair->stamp, memory_order_relaxed);
    int64_t raw = atomic_load_explicit(&pair->raw, memory_order_relaxed);
    int64_t stamps, raws;

    if (next == NULL) {
        return (uint64_t)(raw + (stamp - from));
    }
    stamps = atomic_load_explicit(&next->stamp, memory_order_relaxed) - from;
    raws = atomic_load_explicit(&next->raw, memory_order_relaxed) - raw;
    if (!is_steady(stamps, raws)) {
        return 0;
    }
    return (uint64_t)(raw +
                      (int64_t)((__int128)(stamp - from) * raws / stamps));
}

uint64_t clock_raw(uint64_t stamp)
{
    uint64_t count = atomic_load_explicit(&taken, memory_order_acquire);
    uint64_t oldest = atomic_load(&first);
    const struct pair *next = NULL;

    if (stamp == 0 || count == 0 || atomic_load(&is_raw)) {
        return stamp;
    }
    /* The oldest may be overwritten while it is read. */
    if (count > CLOCK_PAIRS - 1 && oldest < count - (CLOCK_PAIRS - 1)) {
        oldest = count - (CLOCK_PAIRS - 1);
    }
    for (uint64_t i = count; i-- > oldest;) {
        const struct pair *pair = &pairs[i % CLOCK_PAIRS];

        if (atomic_load_explicit(&pair->stamp, memory_order_relaxed) <=
                (int64_t)stamp ||
            i == oldest) {
            return between(pair,
                           i == oldest && next != NULL &&
                                   (int64_t)stamp < pair->stamp
                               ? NULL
                               : next,
                           (int64_t)stamp);
        }
        next = pair;
    }
    return 0;
}
