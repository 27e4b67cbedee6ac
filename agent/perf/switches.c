/* switches.c - switches of the scheduler as times off the CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread's switches alternate: out, in, out ... A switch in that is read
 * before its switch out (they lay in two CPUs' rings, and the second was read
 * a step later) waits as `in` until that comes.
 *
 * A stack is seen as the thread leaves the CPU, before the record of the
 * switch: it is of the wait that begins next, if the thread came to the CPU
 * before the stack was seen.
 */
#include "agent/perf/switches.h"

#include <stdlib.h>

#include "agent/perf/samplelimits.h"
#include "schema/order.h"

#define BATCH 4096
/* Threads whose last switch is kept, by tid: others with the same remainder
 * push each other out, which loses an interval. */
#define THREADS 4096
/* Waits of a step that are to have a stack; more have none. */
#define ENDED 1024
/* From a thread's stack to its switch it is not longer. */
#define STACK_AHEAD (100 * CK_TIME_US)

struct thread {
    uint32_t tid;
    bool is_preempted;
    ck_time_t out;  /* 0 = runs, or not seen yet */
    ck_time_t in;   /* 0 = none waits */
    ck_time_t came; /* to the CPU, before `out` */
    uint32_t cpu;   /* of out, or of the one that waits */
    uint32_t stack; /* of the wait that began at `out`; 0 = not known */
    uint64_t ip;
};

/* A wait that is over. */
struct ended {
    struct thread thread; /* as it left the CPU */
    uint32_t incarnation;
    ck_time_t end;
};

struct switches {
    size_t count;
    uint64_t migrations;
    ck_time_t least; /* a wait that is to have a stack; 0 = none is */
    struct switches_tally tally;
    struct ended ended[ENDED];
    size_t ended_count;
    struct switch_seen batch[BATCH];
    struct thread threads[THREADS];
};

struct switches *switches_create(void)
{
    return calloc(1, sizeof(struct switches));
}

void switches_destroy(struct switches *switches)
{
    free(switches);
}

CK_ORDER(by_time, struct switch_seen, CK_UP(time))

static void interval_say(struct selfstream *selfstream,
                         const struct ended *ended,
                         int flags)
{
    const struct thread *thread = &ended->thread;
    struct ck_mark record = {
        .e = {.kind =
                  thread->is_preempted ? CK_KIND_PREEMPTED : CK_KIND_BLOCKED,
              .units = sizeof(record) / CK_UNIT_BYTES,
              .flags = (uint8_t)(CK_FLAG_RAW | flags),
              .name = ended->incarnation,
              .start = thread->out},
        .dur = ended->end - thread->out,
        .value = thread->tid,
    };

    if (record.dur >= SAMPLER_OFF_MIN_NS) {
        (void)selfstream_put(selfstream, &record.e);
    }
}

static void stack_say(struct selfstream *selfstream, const struct ended *ended)
{
    const struct thread *thread = &ended->thread;
    struct ck_sample record = {
        .e = {.kind = CK_KIND_OFF_CPU,
              .units = sizeof(record) / CK_UNIT_BYTES,
              .flags = CK_FLAG_RAW,
              .name = ended->incarnation,
              .start = thread->out},
        .ip = thread->ip,
        .tid = thread->tid,
        .cpu = thread->cpu,
        .stack = thread->stack,
        .weight = ended->end - thread->out,
    };

    (void)selfstream_put(selfstream, &record.e);
}

static void ended_put(struct selfstream *selfstream, const struct ended *ended)
{
    bool has_stack = ended->thread.stack != 0;

    interval_say(selfstream, ended, has_stack ? CK_FLAG_STACK : 0);
    if (has_stack) {
        stack_say(selfstream, ended);
    }
}

/* A yield may have been dropped before the records ahead of it are settled. */
static void came_set(struct thread *thread, ck_time_t time)
{
    thread->came = time > thread->came ? time : thread->came;
}

/* A wait is over. */
static void interval_end(struct switches *switches,
                         struct selfstream *selfstream,
                         struct thread *thread,
                         const struct switch_seen *in)
{
    struct ended ended = {*thread, in->incarnation, in->time};
    bool is_wanted = switches->least > 0 && !thread->is_preempted &&
                     in->time - thread->out >= switches->least;

    switches->migrations += thread->cpu != in->cpu;
    switches->tally.waits += is_wanted;
    thread->out = 0;
    thread->stack = 0;
    came_set(thread, in->time);
    if (is_wanted && switches->ended_count < ENDED) {
        switches->ended[switches->ended_count++] = ended;
    } else {
        ended.thread.stack = 0; /* too short for one */
        ended_put(selfstream, &ended);
    }
}

static void switch_settle(struct switches *switches,
                          struct selfstream *selfstream,
                          const struct switch_seen *seen)
{
    struct thread *thread = &switches->threads[seen->tid % THREADS];

    if (thread->tid != seen->tid) {
        *thread = (struct thread){.tid = seen->tid};
    }
    if (!seen->is_out) {
        if (thread->out == 0) {
            came_set(thread, seen->time);
            thread->in = seen->time;
            thread->cpu = seen->cpu;
            return;
        }
        interval_end(switches, selfstream, thread, seen);
        return;
    }
    if (thread->in > seen->time) {
        struct switch_seen in = *seen;

        in.time = thread->in;
        in.cpu = thread->cpu;
        thread->out = seen->time;
        thread->cpu = seen->cpu;
        thread->is_preempted = seen->is_preempted;
        interval_end(switches, selfstream, thread, &in);
        thread->in = 0;
        return;
    }
    thread->out = seen->time;
    thread->is_preempted = seen->is_preempted;
    thread->stack = 0;
    thread->in = 0;
    thread->cpu = seen->cpu;
}

uint64_t switches_migrations(const struct switches *switches)
{
    return switches->migrations;
}

void switches_settle(struct switches *switches, struct selfstream *selfstream)
{
    qsort(switches->batch, switches->count, sizeof(*switches->batch), by_time);
    for (size_t i = 0; i < switches->count; i++) {
        switch_settle(switches, selfstream, &switches->batch[i]);
    }
    switches->count = 0;
}

/* A thread that waits in a loop of sched_yield() is switched out and in again
 * a million times a second: such a pair is dropped as it comes, before it
 * costs its place in the order. */
static bool is_short_pair(const struct switches *switches,
                          const struct switch_seen *seen)
{
    const struct switch_seen *last;

    if (switches->count == 0 || seen->is_out) {
        return false;
    }
    last = &switches->batch[switches->count - 1];
    return last->is_out && last->tid == seen->tid && seen->time >= last->time &&
           seen->time - last->time < SAMPLER_OFF_MIN_NS;
}

/* Drop it: what was seen of the thread before is of no later wait. */
static void short_pair_drop(struct switches *switches,
                            const struct switch_seen *in)
{
    struct thread *thread = &switches->threads[in->tid % THREADS];

    switches->count--;
    switches->migrations += switches->batch[switches->count].cpu != in->cpu;
    if (thread->tid != in->tid) {
        *thread = (struct thread){.tid = in->tid};
    }
    came_set(thread, in->time);
}

void switches_add(struct switches *switches,
                  struct selfstream *selfstream,
                  const struct switch_seen *seen)
{
    if (is_short_pair(switches, seen)) {
        short_pair_drop(switches, seen);
        return;
    }
    if (switches->count == BATCH) {
        switches_settle(switches, selfstream);
    }
    switches->batch[switches->count++] = *seen;
}

/* ---- stacks ---------------------------------------------------------------
 */

void switches_stacks(struct switches *switches, ck_time_t least)
{
    switches->least = least;
}

static bool is_of(const struct thread *thread, uint32_t tid, ck_time_t time)
{
    return thread->tid == tid && thread->out != 0 && !thread->is_preempted &&
           time <= thread->out && time >= thread->came &&
           thread->out - time < STACK_AHEAD;
}

/* Number of the ended wait that begins there; ENDED = none is known. */
static size_t
ended_find(const struct switches *switches, uint32_t tid, ck_time_t time)
{
    for (size_t i = switches->ended_count; i-- > 0;) {
        if (is_of(&switches->ended[i].thread, tid, time)) {
            return i;
        }
    }
    return ENDED;
}

bool switches_is_wanted(const struct switches *switches,
                        uint32_t tid,
                        ck_time_t time,
                        bool *goes_on)
{
    *goes_on = is_of(&switches->threads[tid % THREADS], tid, time);
    return *goes_on || ended_find(switches, tid, time) < ENDED;
}

void switches_stack(struct switches *switches, const struct switch_stack *seen)
{
    struct thread *thread = &switches->threads[seen->tid % THREADS];
    size_t i = ended_find(switches, seen->tid, seen->time);

    if (i < ENDED) {
        thread = &switches->ended[i].thread;
    } else if (!is_of(thread, seen->tid, seen->time)) {
        return;
    }
    thread->stack = seen->stack;
    thread->ip = seen->ip;
}

void switches_put(struct switches *switches, struct selfstream *selfstream)
{
    for (size_t i = 0; i < switches->ended_count; i++) {
        switches->tally.stacks += switches->ended[i].thread.stack != 0;
        ended_put(selfstream, &switches->ended[i]);
    }
    switches->ended_count = 0;
}

struct switches_tally switches_tally(const struct switches *switches)
{
    return switches->tally;
}
