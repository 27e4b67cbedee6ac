/* test_locks.c - locks that make threads serial, against each nanosecond
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/threads/locks.h"
#include "tests/merge/chance.h"

#define THREADS 4
#define LENGTH 400
#define NAME 5
#define SLEEP 6
#define READ 7
#define SAMPLE 5 /* ns */
#define NONE                                                                   \
    {                                                                          \
        LENGTH, 0                                                              \
    }

struct span {
    ck_time_t start, end;
};

static struct defs *defs;
static struct history *history;
static uint32_t process, threads[THREADS];

static int setup(void **state)
{
    const uint8_t id[16] = {1};
    uint32_t agent;

    (void)state;
    defs = defs_create();
    agent = defs_agent_find(defs, id);
    process = defs_process_find(defs, agent, 1);
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = defs_thread_find(defs, process, 100 + i);
    }
    names_set(defs->processes[process].names, NAME,
              texts_keep(defs->texts, "pthread_mutex_lock", 18));
    names_set(defs->processes[process].names, SLEEP,
              texts_keep(defs->texts, "nanosleep", 9));
    names_set(defs->processes[process].names, READ,
              texts_keep(defs->texts, "read", 4));
    defs_close(defs);
    history = history_create(defs, 0);
    return history == NULL;
}

static int teardown(void **state)
{
    (void)state;
    history_destroy(history);
    defs_destroy(defs);
    return 0;
}

/* holder: a tid, 0 = not known. */
static void wait_put(struct locks *locks,
                     uint32_t thread,
                     struct span span,
                     uint64_t lock,
                     uint32_t holder)
{
    struct ck_call call = {.e = {.kind = CK_KIND_POSIX,
                                 .units = 2,
                                 .name = NAME,
                                 .start = span.start},
                           .dur = span.end - span.start,
                           .site = 0x1000,
                           .arg = lock,
                           .extra = holder};
    struct timeline_event event = {.record = &call.e,
                                   .start = span.start,
                                   .end = span.end,
                                   .process = process,
                                   .thread = threads[thread]};

    locks_take(locks, &event);
}

static void sample_put(struct locks *locks, uint32_t thread, ck_time_t at)
{
    struct ck_sample sample = {
        .e = {.kind = CK_KIND_SAMPLE, .units = 1, .name = 1, .start = at},
        .tid = 100 + thread,
        .weight = SAMPLE};
    struct timeline_event event = {.record = &sample.e,
                                   .start = at,
                                   .end = at,
                                   .process = process,
                                   .thread = threads[thread]};

    locks_take(locks, &event);
}

static void span_add(struct span *life, struct span span)
{
    life->start = span.start < life->start ? span.start : life->start;
    life->end = span.end > life->end ? span.end : life->end;
}

/* A wait for a lock that another thread may be known to hold: that one, or the
 * thread itself. */
static uint32_t held_put(struct locks *locks,
                         uint32_t thread,
                         struct span span,
                         struct span lives[])
{
    uint32_t holder = chance_below(3) == 0 ? chance_below(THREADS) : thread;

    wait_put(locks, thread, span, 0xabc, holder == thread ? 0 : 100 + holder);
    span_add(&lives[holder], span);
    return holder;
}

/* Random waits of all threads for one lock: the report counts the instants at
 * which some waited, and those at which all of its users did but one. With
 * samples a thread is there from the first to the last time that it is seen. */
static bool is_wrong(void *with_samples)
{
    const bool *has_samples = with_samples;
    struct region region = {50, 350};
    struct locks *locks = locks_create(defs, history, region);
    uint8_t waits[THREADS][LENGTH] = {0};
    struct report report = {0};
    ck_time_t free_at[THREADS] = {0}, sum = 0, wall = 0, serial = 0;
    uint32_t users = 0, most = 0;
    bool is_used[THREADS] = {false}, is_bad, is_sampled = false;
    struct span lives[THREADS] = {NONE, NONE, NONE, NONE};

    for (ck_time_t at = 0; at < LENGTH; at++) {
        for (uint32_t t = 0; t < THREADS; t++) {
            struct span span = {at, at + 1 + chance_below(40)};

            if (*has_samples && at >= region.start && at < region.end &&
                at >= free_at[t] && chance_below(50) == 0) {
                is_sampled = true;
                sample_put(locks, t, at);
                span_add(&lives[t], (struct span){at, at + SAMPLE});
            }
            if (at < free_at[t] || chance_below(12) != 0 || span.end > LENGTH) {
                continue;
            }
            is_used[held_put(locks, t, span, lives)] = true;
            memset(&waits[t][span.start], 1, (size_t)(span.end - span.start));
            free_at[t] = span.end + 1;
            is_used[t] = true;
            span_add(&lives[t], span);
        }
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        users += is_used[t];
    }
    for (ck_time_t at = region.start; at < region.end; at++) {
        uint32_t count = 0, there = 0;

        for (uint32_t t = 0; t < THREADS; t++) {
            count += waits[t][at];
            there +=
                is_used[t] &&
                (!is_sampled || (at >= lives[t].start && at < lives[t].end));
        }
        sum += count;
        wall += count > 0;
        serial += count > 0 && there > 1 && count + 1 >= there;
        most = count > 0 && there > most ? there : most;
    }
    locks_report(locks, &report);
    is_bad = report.threads.locks_count != (sum > 0);
    if (!is_bad && sum > 0) {
        const struct report_lock *lock = &report.threads.locks[0];

        is_bad = lock->ns != sum || lock->wall != wall ||
                 lock->serial != serial || lock->threads != users ||
                 lock->at_once != most;
    }
    locks_destroy(locks);
    report_fini(&report);
    return is_bad;
}

static void times_are_those_of_each_instant(void **state)
{
    (void)state;
    chance_worlds(500, is_wrong, &(bool){false});
}

static void a_thread_counts_while_it_is_there(void **state)
{
    (void)state;
    chance_worlds(500, is_wrong, &(bool){true});
}

static void locks_are_apart_by_their_addresses(void **state)
{
    struct locks *locks = locks_create(defs, history, (struct region){0, 400});
    struct report report = {0};

    (void)state;
    wait_put(locks, 0, (struct span){10, 60}, 0x1, 0);
    wait_put(locks, 1, (struct span){20, 30}, 0x2, 0);
    locks_report(locks, &report);
    assert_int_equal(report.threads.locks_count, 2);
    for (size_t i = 0; i < 2; i++) {
        /* Alone a thread waits for one that is not known. */
        assert_int_equal(report.threads.locks[i].serial, 0);
        assert_int_equal(report.threads.locks[i].threads, 1);
    }
    locks_destroy(locks);
    report_fini(&report);
}

/* Another one got it without a wait. */
static void a_thread_that_waits_does_not_hold_it(void **state)
{
    struct locks *locks = locks_create(defs, history, (struct region){0, 400});
    struct report report = {0};

    (void)state;
    wait_put(locks, 0, (struct span){10, 20}, 0x1, 0);
    wait_put(locks, 1, (struct span){15, 30}, 0x1, 0);
    sample_put(locks, 0, 25); /* holds it, while the other one waits */
    wait_put(locks, 1, (struct span){40, 60}, 0x1, 0);
    sample_put(locks, 1, 50); /* had it last, and waits */
    locks_report(locks, &report);
    assert_int_equal(report.threads.locks_count, 1);
    assert_int_equal(report.threads.locks[0].did.total, 5);
    locks_destroy(locks);
    report_fini(&report);
}

static void
call_put(struct locks *locks, uint32_t thread, uint32_t name, struct span span)
{
    struct ck_call call = {
        .e = {.kind = CK_KIND_POSIX, .name = name, .start = span.start},
        .dur = span.end - span.start,
        .site = 0x2000};
    struct timeline_event event = {.record = &call.e,
                                   .start = span.start,
                                   .end = span.end,
                                   .process = process,
                                   .thread = threads[thread]};

    locks_take(locks, &event);
}

/* It slept before it was waited for, and reads for long behind that. */
static void a_holder_was_in_what_lasted_while_others_waited(void **state)
{
    struct locks *locks = locks_create(defs, history, (struct region){0, 4000});
    struct report report = {0};

    (void)state;
    for (ck_time_t at = 0; at < 4000; at += 1000) {
        wait_put(locks, 1, (struct span){at, at + 5}, 0x1, 0);
        call_put(locks, 1, SLEEP, (struct span){at + 10, at + 100});
        wait_put(locks, 0, (struct span){at + 20, at + 103}, 0x1, 0);
        call_put(locks, 1, READ, (struct span){at + 101, at + 900});
    }
    locks_report(locks, &report);
    assert_int_equal(report.threads.locks_count, 1);
    assert_string_equal(report.threads.locks[0].call, "nanosleep");
    assert_int_equal(report.threads.locks[0].call_ns, 4 * 80);
    locks_destroy(locks);
    report_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_holder_was_in_what_lasted_while_others_waited),
        cmocka_unit_test(times_are_those_of_each_instant),
        cmocka_unit_test(a_thread_counts_while_it_is_there),
        cmocka_unit_test(locks_are_apart_by_their_addresses),
        cmocka_unit_test(a_thread_that_waits_does_not_hold_it),
    };

    chance_seed(CHANCE_SEED);
    return cmocka_run_group_tests(tests, setup, teardown);
}
