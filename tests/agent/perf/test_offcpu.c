/* test_offcpu.c - whose switches are looked at
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/perf/offcpu.h"
#include "agent/perf/tracepoint.h"
#include "agent/process/detach.h"

#define WAITS 50
#define TRIES 1000

/* A process of that name that waits so often. */
static pid_t sleeper_start(const char *name)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_NAME, name);
        for (int i = 0; i < WAITS; i++) {
            (void)nanosleep(&pause, NULL);
        }
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

struct found {
    uint32_t pid[2];
    unsigned count[2];
};

static void found_count(void *state, const struct perfevent_sample *seen)
{
    struct found *found = state;

    for (int i = 0; i < 2; i++) {
        found->count[i] += seen->pid == found->pid[i];
    }
}

static void any_count(void *state, const struct perfevent_sample *seen)
{
    (void)seen;
    ++*(unsigned *)state;
}

/* All CPUs are looked at, with rings; else the test is skipped. */
static struct offcpu *cpus_look(uint32_t stack_bytes)
{
    struct offcpu_wish wish = {.is_wide = true,
                               .sharers = 1,
                               .stack_bytes = stack_bytes,
                               .may_lock = true};
    struct ck_err why_not;
    struct offcpu *offcpu = offcpu_create(getpid(), &wish, &why_not);

    if (offcpu == NULL) {
        print_message("skipped: %s\n", why_not.text);
        skip();
    }
    offcpu_map(offcpu, -1);
    if (offcpu_cpus(offcpu).unmapped > 0) {
        print_message("skipped: no memory for the rings\n");
        offcpu_destroy(offcpu);
        skip();
    }
    return offcpu;
}

/* An eighth of a ring is less than these waits' stacks. */
static void a_filled_part_is_seen_by_who_is_awake(void **state)
{
    struct offcpu *offcpu = cpus_look(8192);
    unsigned count = 0;

    (void)state;
    assert_false(offcpu_is_filling(NULL));
    assert_int_equal(waitpid(sleeper_start("another"), NULL, 0) > 0, 1);
    assert_true(offcpu_is_filling(offcpu));
    /* Others of this machine wait, too. */
    for (int i = 0; i < TRIES && offcpu_is_filling(offcpu); i++) {
        offcpu_mark(offcpu);
        offcpu_step(offcpu, any_count, &count);
    }
    assert_true(count > 0);
    assert_false(offcpu_is_filling(offcpu));
    offcpu_destroy(offcpu);
}

/* Where CPUs are looked at: a collector sleeps a hundred times a second. */
static void a_collector_does_not_look_at_its_own_waits(void **state)
{
    struct offcpu_wish wish = {
        .is_wide = true, .sharers = 1, .stack_bytes = 1024, .may_lock = true};
    struct found found = {.count = {0}};
    struct ck_err why_not;
    struct offcpu *offcpu;
    uint64_t number;

    (void)state;
    if (!tracepoint_number("sched/sched_switch", &number)) {
        print_message("skipped: the tracepoint cannot be read here\n");
        skip();
    }
    offcpu = offcpu_create(getpid(), &wish, &why_not);
    if (offcpu == NULL) {
        print_message("skipped: %s\n", why_not.text);
        skip();
    }
    offcpu_map(offcpu, -1);
    found.pid[0] = (uint32_t)sleeper_start(DETACH_NAME);
    found.pid[1] = (uint32_t)sleeper_start("another");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid((pid_t)found.pid[i], NULL, 0), found.pid[i]);
    }
    offcpu_mark(offcpu);
    offcpu_step(offcpu, found_count, &found);
    offcpu_destroy(offcpu);
    assert_int_equal(found.count[0], 0);
    assert_true(found.count[1] > 0);
}

/* The samples of one process, and frames of its own in their chains. */
struct chained {
    uint32_t pid;
    unsigned samples;
    unsigned frames;
};

static void chains_count(void *state, const struct perfevent_sample *seen)
{
    struct chained *chained = state;
    const uint64_t *words = (const uint64_t *)(seen + 1);

    if (seen->pid != chained->pid) {
        return;
    }
    chained->samples++;
    for (uint64_t i = 0; i < seen->count; i++) {
        chained->frames += words[i] < (uint64_t)1 << 63;
    }
}

static struct chained chains_look(struct offcpu *offcpu)
{
    struct chained chained = {.pid = (uint32_t)sleeper_start("another")};

    assert_true(waitpid((pid_t)chained.pid, NULL, 0) > 0);
    offcpu_mark(offcpu);
    offcpu_step(offcpu, chains_count, &chained);
    assert_true(chained.samples > 0);
    return chained;
}

/* They cost a page fault each where code has no frame pointers. */
static void chains_come_while_they_continue_stacks(void **state)
{
    struct offcpu *offcpu = cpus_look(1024);
    ck_time_t now = CK_TIME_S;

    (void)state;
    assert_int_equal(chains_look(offcpu).frames, 0);
    offcpu_depth(offcpu, false, false);
    assert_int_equal(chains_look(offcpu).frames, 0);
    offcpu_depth(offcpu, true, false);
    assert_true(chains_look(offcpu).frames > 0);
    for (int i = 0; i < 100; i++) {
        offcpu_depth(offcpu, true, true);
        offcpu_pace(offcpu, now += OFFCPU_WINDOW);
    }
    assert_true(chains_look(offcpu).frames > 0);
    for (int i = 0; i < 50; i++) {
        offcpu_depth(offcpu, true, false);
        offcpu_pace(offcpu, now += OFFCPU_WINDOW);
    }
    assert_int_equal(chains_look(offcpu).frames, 0);
    offcpu_depth(offcpu, true, true);
    assert_true(chains_look(offcpu).frames > 0);
    offcpu_destroy(offcpu);
    offcpu_depth(NULL, true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filled_part_is_seen_by_who_is_awake),
        cmocka_unit_test(a_collector_does_not_look_at_its_own_waits),
        cmocka_unit_test(chains_come_while_they_continue_stacks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
