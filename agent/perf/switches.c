/* switches.c - switches of the scheduler as times off the CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread's switches alternate: out, in, out ... A switch in that is read
 * before its switch out (they lay in two CPUs' rings, and the second was read
 * a step later) waits as `in` until that comes.
 */
#include "agent/perf/switches.h"

#include <stdlib.h>

#include "agent/perf/samplelimits.h"
#include "schema/order.h"

#define BATCH 4096
/* Threads whose last switch is kept, by tid: others with the same remainder
 * push each other out, which loses an interval. */
#define THREADS 4096

struct thread {
    uint32_t tid;
    bool is_preempted;
    ck_time_t out; /* 0 = runs, or not seen yet */
    ck_time_t in;  /* 0 = none waits */
    uint32_t cpu;  /* of out, or of the one that waits */
};

struct switches {
    size_t count;
    uint64_t migrations;
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
                         const struct thread *thread,
                         uint32_t incarnation,
                         ck_time_t end)
{
    struct ck_mark record = {
        .e = {.kind =
                  thread->is_preempted ? CK_KIND_PREEMPTED : CK_KIND_BLOCKED,
              .units = sizeof(record) / CK_UNIT_BYTES,
              .flags = CK_FLAG_RAW,
              .name = incarnation,
              .start = thread->out},
        .dur = end - thread->out,
        .value = thread->tid,
    };

    if (record.dur >= SAMPLER_OFF_MIN_NS) {
        (void)selfstream_put(selfstream, &record.e);
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
            thread->in = seen->time;
            thread->cpu = seen->cpu;
            return;
        }
        switches->migrations += thread->cpu != seen->cpu;
        interval_say(selfstream, thread, seen->incarnation, seen->time);
        thread->out = 0;
        return;
    }
    thread->out = seen->time;
    thread->is_preempted = seen->is_preempted;
    if (thread->in > seen->time) {
        switches->migrations += thread->cpu != seen->cpu;
        interval_say(selfstream, thread, seen->incarnation, thread->in);
        thread->out = 0;
    }
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

void switches_add(struct switches *switches,
                  struct selfstream *selfstream,
                  const struct switch_seen *seen)
{
    if (is_short_pair(switches, seen)) {
        switches->count--;
        switches->migrations +=
            switches->batch[switches->count].cpu != seen->cpu;
        return;
    }
    if (switches->count == BATCH) {
        switches_settle(switches, selfstream);
    }
    switches->batch[switches->count++] = *seen;
}
