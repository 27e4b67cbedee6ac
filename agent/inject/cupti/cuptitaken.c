/* cuptitaken.c - notice a second client by the work it has the records of
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counts alone only raise a suspicion: launches into a graph that is being
 * captured have no record either. Then CUPTI is asked for the record of a
 * device, which needs a buffer too. If no buffer comes, another client has
 * them.
 */
#include "agent/inject/cupti/cuptitaken.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/inject/cupti/cuptiapi.h"
#include "agent/inject/cupti/cuptibuffer.h"
#include "agent/inject/cupti/cuptilink.h"
#include "agent/inject/cupti/cuptilost.h"
#include "agent/inject/cupti/cuptirecord.h"
#include "agent/inject/inject.h"

/* Threads that launch share this many counters. */
#define TAKEN_SHARDS 64
#define TAKEN_LINE 64
/* The shortest record of a kernel. */
#define TAKEN_RECORD 128
#define TAKEN_BUFFER (BUFFER_BYTES / TAKEN_RECORD)
/* Launches that may be queued on devices that are busy. */
#define TAKEN_QUEUED 8192
/* Looks without a buffer until another client is certain. */
#define TAKEN_LOOKS 3

static struct {
    _Atomic uint64_t count;
    char rest[TAKEN_LINE - sizeof(uint64_t)];
} shards[TAKEN_SHARDS];
static _Atomic uint32_t next_shard;
/* Set when ck shares CUPTI: then calls, too, come from CUPTI's records. */
static taken_calls_f *calls_enable;
static __thread uint32_t shard; /* + 1; 0 = none yet */
static _Atomic uint64_t synced; /* launches before the newest wait for all */

/* What ckcuda reports of another client: how often one came, and the launches
 * until then. */
static struct {
    _Atomic uint32_t came;
    _Atomic int state; /* enum cuda_rival */
    _Atomic uint64_t launches;
    _Atomic int64_t since;
} rival;

/* Flush thread only. */
static struct {
    uint64_t buffers;  /* asked for and given back, at the last look */
    uint64_t launches; /* up to the last time when a buffer moved */
    ck_time_t since;   /* that time */
    uint64_t lost;     /* launches reported as lost, of these */
    unsigned looks;    /* under suspicion */
    unsigned away;     /* looks since the callbacks are another's; 0 = ours */
    uint32_t rivals;   /* that came, as far as they were looked at */
    unsigned ended;    /* looks since it wants no kernels */
    bool is_rival;     /* away by one that ckcuda reported */
} seen;

void taken_share(taken_calls_f *enable)
{
    calls_enable = enable;
}

void taken_launched(void)
{
    if (shard == 0) {
        shard = atomic_fetch_add(&next_shard, 1) % TAKEN_SHARDS + 1;
    }
    atomic_fetch_add_explicit(&shards[shard - 1].count, 1,
                              memory_order_relaxed);
}

static uint64_t launches(void)
{
    uint64_t sum = link_launches();

    for (int i = 0; i < TAKEN_SHARDS; i++) {
        sum += atomic_load_explicit(&shards[i].count, memory_order_relaxed);
    }
    return sum;
}

void taken_synced(void)
{
    atomic_store_explicit(&synced, launches(), memory_order_relaxed);
}

static bool is_suspicious(uint64_t all)
{
    uint64_t done = atomic_load_explicit(&synced, memory_order_relaxed);

    return (done > seen.launches &&
            (done - seen.launches > 2 * TAKEN_BUFFER || done == all)) ||
           all - seen.launches > 2 * TAKEN_BUFFER + TAKEN_QUEUED;
}

/* Buffers move: they are ours. */
static void ours(uint64_t buffers, uint64_t all)
{
    seen.buffers = buffers;
    seen.launches = all;
    seen.since = ck_time_raw();
    seen.lost = 0;
    seen.looks = seen.away = 0;
    seen.is_rival = false;
}

/* What was launched and not yet reported as lost. */
static void lost_say(uint64_t all)
{
    ck_time_t now = ck_time_raw();

    if (all > seen.launches + seen.lost) {
        lost_tell(CK_LOST_DEVICE, (int64_t)(all - seen.launches - seen.lost),
                  seen.since, now);
        seen.lost = all - seen.launches;
    }
    seen.since = now;
}

static void take_back(void)
{
    (void)cupti_api.cuptiActivityRegisterCallbacks(buffer_requested,
                                                   buffer_completed);
    for (size_t i = 0; i < record_kinds_count; i++) {
        (void)cupti_api.cuptiActivityEnable(record_kinds[i]);
    }
    if (calls_enable != NULL) {
        calls_enable();
        link_decide(CUDA_BY_CUPTI);
    }
}

/* The first look at it; later ones are counted. */
static void away_look(void)
{
    if (seen.away++ > 0) {
        return;
    }
    (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                     "another tool of this process took CUPTI's buffers: "
                     "device events are missing until ck has them back");
    buffer_forget();
}

static void away(uint64_t buffers, uint64_t all)
{
    away_look();
    lost_say(all);
    if (seen.away > TAKEN_BACK) {
        take_back();
        ours(buffers, all);
    }
}

void taken_rival(enum cuda_rival what)
{
    if (what == CUDA_RIVAL_CAME) {
        atomic_store(&rival.launches, launches());
        atomic_store(&rival.since, ck_time_raw());
        atomic_fetch_add(&rival.came, 1);
        if (calls_enable != NULL) {
            link_decide(CUDA_BY_DRIVER);
        }
    }
    atomic_store(&rival.state, (int)what);
}

static void rival_begin(void)
{
    away_look();
    if (!seen.is_rival) {
        seen.is_rival = true;
        seen.launches = atomic_load(&rival.launches);
        seen.since = atomic_load(&rival.since);
        seen.lost = 0;
    }
}

/* It has left: what is launched until the callbacks are ours again is lost,
 * too, and counted behind that. Without a count the time is unknown. */
static void rival_end(void)
{
    ck_time_t since = atomic_load(&rival.since);

    take_back();
    lost_say(launches());
    lost_tell(CK_LOST_DEVICE, 0, since, ck_time_raw());
    ours(buffer_requested_count() + buffer_completed_count(), launches());
}

static bool rival_check(void)
{
    uint32_t came = atomic_load(&rival.came);
    int state = atomic_load(&rival.state);

    if (came != seen.rivals) {
        seen.rivals = came;
        rival_begin();
    }
    if (!seen.is_rival) {
        return false;
    }
    seen.ended = state == CUDA_RIVAL_ENDS ? seen.ended + 1 : 0;
    if (state == CUDA_RIVAL_LEFT || seen.ended > TAKEN_ENDED) {
        rival_end();
    } else {
        lost_say(launches());
    }
    return true;
}

void taken_check(void)
{
    uint64_t buffers = buffer_requested_count() + buffer_completed_count();
    uint64_t all = launches();

    if (rival_check() || calls_enable != NULL) {
        return;
    }
    if (buffers != seen.buffers || all == 0) {
        ours(buffers, all);
    } else if (seen.away > 0) {
        away(buffers, all);
    } else if (!is_suspicious(all)) {
        seen.looks = 0;
    } else if (seen.looks++ == 0) {
        if (cupti_api.cuptiActivityEnableAndDump != NULL) {
            (void)cupti_api.cuptiActivityEnableAndDump(CUPTI_KIND_DEVICE);
        }
    } else if (seen.looks > TAKEN_LOOKS) {
        away(buffers, all);
    }
}
