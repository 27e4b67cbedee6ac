/* test_history.c - what the host threads did lately
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/analysis/history/history.h"

#define TID 7
#define PIECES_MAX 16

static struct defs *defs;
static struct history *history;

struct piece {
    struct region part;
    uint32_t call; /* site; 0 = none */
    uint32_t before;
    uint32_t after;
    enum history_off off;
};

struct pieces {
    struct piece items[PIECES_MAX];
    size_t count;
};

static int setup(void **state)
{
    static const uint8_t id[16] = {1};
    uint32_t process;

    (void)state;
    defs = defs_create();
    process = defs_process_find(defs, defs_agent_find(defs, id), 3);
    (void)defs_thread_find(defs, process, TID);
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

static int span_add(const struct history_span *span, ck_time_t horizon)
{
    struct history_span *place = history_place(history, 0, horizon);

    *place = *span;
    history_placed(history, 0);
    return 0;
}

static void call(unsigned kind, ck_time_t start, ck_time_t end, uint64_t site)
{
    struct history_span span = {.start = start,
                                .end = end,
                                .site = site,
                                .kind = (uint16_t)kind,
                                .is_call = true};

    assert_int_equal(span_add(&span, INT64_MIN), 0);
}

static void off(enum history_off what, ck_time_t start, ck_time_t end)
{
    struct region part = {start, end};

    history_add_off(history, 0, part, what, INT64_MIN);
}

static uint32_t site_of(const struct history_span *span)
{
    return span == NULL ? 0 : (uint32_t)span->site;
}

static void
piece_keep(void *state, struct region part, const struct history_state *did)
{
    struct pieces *pieces = state;

    assert_true(pieces->count < PIECES_MAX);
    pieces->items[pieces->count++] =
        (struct piece){part, site_of(did->call), site_of(did->before),
                       site_of(did->after), did->off};
}

static struct pieces walk(ck_time_t start, ck_time_t end)
{
    struct pieces pieces = {.count = 0};
    struct region part = {start, end};

    history_walk(history, 0, part, piece_keep, &pieces);
    return pieces;
}

static void calls_of_libc_are_no_brackets(void **state)
{
    struct pieces pieces;

    (void)state;
    call(CK_KIND_MPI_CALL, 0, 10, 1);
    call(CK_KIND_POSIX, 20, 30, 2);
    call(CK_KIND_POSIX, 40, 50, 3);
    call(CK_KIND_API_OPENCL, 60, 70, 4);
    pieces = walk(10, 60);
    assert_int_equal(pieces.count, 5);
    assert_int_equal(pieces.items[1].call, 2);
    for (size_t i = 0; i < 5; i += 2) {
        assert_int_equal(pieces.items[i].call, 0);
        assert_int_equal(pieces.items[i].before, 1);
        assert_int_equal(pieces.items[i].after, 4);
    }
}

static void a_time_without_a_cpu_parts_a_computation_and_no_call(void **state)
{
    struct pieces pieces;

    (void)state;
    call(CK_KIND_MPI_CALL, 0, 20, 1);
    off(HISTORY_PREEMPTED, 5, 30);
    off(HISTORY_BLOCKED, 40, 50);
    call(CK_KIND_MPI_CALL, 60, 70, 2);
    pieces = walk(0, 60);
    assert_int_equal(pieces.count, 5);
    assert_int_equal(pieces.items[0].part.end, 20);
    assert_int_equal(pieces.items[0].off, HISTORY_ON);
    assert_int_equal(pieces.items[1].part.end, 30);
    assert_int_equal(pieces.items[1].off, HISTORY_PREEMPTED);
    assert_int_equal(pieces.items[2].off, HISTORY_ON);
    assert_int_equal(pieces.items[3].part.start, 40);
    assert_int_equal(pieces.items[3].off, HISTORY_BLOCKED);
    assert_int_equal(pieces.items[4].part.start, 50);
}

static void preemption_counts_within_calls_too(void **state)
{
    struct region part = {10, 45};

    (void)state;
    off(HISTORY_PREEMPTED, 5, 20);
    off(HISTORY_BLOCKED, 20, 30);
    off(HISTORY_PREEMPTED, 40, 50);
    assert_int_equal(history_preempted(history, 0, part), 10 + 5);
}

static void weigh(void *state, const struct history_sample *sample)
{
    *(int64_t *)state += sample->weight * sample->stack;
    assert_int_equal(sample->is_faulting, sample->time == 15);
}

static void samples_belong_to_the_time_they_were_taken_in(void **state)
{
    struct region part = {10, 20};
    int64_t sum = 0;

    (void)state;
    for (ck_time_t time = 0; time < 30; time += 5) {
        struct history_sample sample = {
            .stack = (uint32_t)time, .weight = 1000, .is_faulting = time == 15};

        history_add_sample(history, 0, time, &sample, INT64_MIN);
    }
    history_samples(history, 0, part, weigh, &sum);
    assert_int_equal(sum, (10 + 15) * 1000);
}

static void images_are_found_by_agent_and_number(void **state)
{
    (void)state;
    assert_int_equal(history_process(history, 0, 3), 0);
    assert_int_equal(history_process(history, 0, 4), DEFS_NONE);
    assert_int_equal(history_process(history, 1, 3), DEFS_NONE);
    assert_int_equal(history_thread(history, 0, TID), 0);
    assert_int_equal(history_thread(history, 0, TID + 1), HISTORY_NONE);
}

static void range(ck_time_t start, ck_time_t end, uint64_t site)
{
    struct history_span span = {
        .start = start, .end = end, .site = site, .kind = CK_KIND_RANGE};

    assert_int_equal(span_add(&span, INT64_MIN), 0);
}

static void the_longest_call_is_known_when_it_is_long_gone(void **state)
{
    struct history_span longest, around;

    (void)state;
    assert_false(history_longest(history, 0, &longest, &around));
    range(0, 100000, 1);
    call(CK_KIND_API_CUDA_RUNTIME, 10, 20, 2);
    range(30, 5000, 3);
    call(CK_KIND_API_CUDA_RUNTIME, 40, 4000, 4);
    call(CK_KIND_API_CUDA_DRIVER, 50, 3999, 5);
    for (ck_time_t at = 6000; at < 90000; at += 10) {
        struct history_span span = {
            .start = at, .end = at + 5, .site = 6, .is_call = true};

        assert_int_equal(span_add(&span, at), 0);
    }
    assert_true(history_longest(history, 0, &longest, &around));
    assert_int_equal(longest.site, 4);
    assert_int_equal(longest.start, 40);
    assert_int_equal(longest.end, 4000);
    assert_false(around.is_call);
    assert_int_equal(around.site, 3);
}

static void the_longest_call_may_be_in_no_range(void **state)
{
    struct history_span longest, around;

    (void)state;
    range(0, 10, 1);
    call(CK_KIND_MPI_CALL, 20, 40, 2);
    assert_true(history_longest(history, 0, &longest, &around));
    assert_int_equal(longest.site, 2);
    assert_true(around.is_call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_of_libc_are_no_brackets, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_time_without_a_cpu_parts_a_computation_and_no_call, setup,
            teardown),
        cmocka_unit_test_setup_teardown(preemption_counts_within_calls_too,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            samples_belong_to_the_time_they_were_taken_in, setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_longest_call_is_known_when_it_is_long_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(the_longest_call_may_be_in_no_range,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(images_are_found_by_agent_and_number,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
