/* test_perfring.c - rings of the kernel: how large, and what is lost in them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ring is played: a mapping that the test fills as the kernel does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/perf/perfring.h"

/* What a user may lock for one CPU without rights, and its control pages. */
#define USER_KIB 516

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void rings_of_all_sharers_fit_what_a_user_may_lock(void **state)
{
    (void)state;
    for (size_t sharers = 1; sharers <= 16; sharers++) {
        struct perfring_pages share = perfring_share(2, sharers, false);
        size_t pages =
            share.of[PERFEVENT_SAMPLES] + 1 + share.of[PERFEVENT_SWITCHES] + 1;

        assert_true(share.of[PERFEVENT_SAMPLES] > 0);
        assert_true(pages * sharers * page_bytes() <= USER_KIB * 1024);
    }
}

/* As many copies of stacks as fit, of some size, into what a user may lock. */
static void rings_with_stacks_fit_what_a_user_may_lock(void **state)
{
    (void)state;
    for (size_t sharers = 1; sharers <= 16; sharers++) {
        struct perfring_pages share = perfring_share(2, sharers, false);
        size_t before = share.of[PERFEVENT_SAMPLES];
        size_t pages;

        perfring_widen(&share, 16384, sharers, false);
        assert_true(share.of[PERFEVENT_SAMPLES] >= before);
        pages =
            share.of[PERFEVENT_SAMPLES] + 1 + share.of[PERFEVENT_SWITCHES] + 1;
        assert_true(pages * sharers * page_bytes() <= USER_KIB * 1024);
        /* Three records of that size fit. */
        assert_true(3 * perfring_stack(&share, PERFEVENT_SAMPLES) <=
                    share.of[PERFEVENT_SAMPLES] * page_bytes());
        assert_true(sharers > 2 ||
                    perfring_stack(&share, PERFEVENT_SAMPLES) >= 16384);
        assert_true(sharers > 8 ||
                    perfring_stack(&share, PERFEVENT_SAMPLES) > 0);
    }
}

static void who_may_lock_has_whole_stacks_for_many_sharers(void **state)
{
    struct perfring_pages share = perfring_share(2, 16, true);

    (void)state;
    perfring_widen(&share, 16384, 16, true);
    assert_true(perfring_stack(&share, PERFEVENT_SAMPLES) >= 16384);
}

static void who_may_lock_has_room_for_a_storm_of_switches(void **state)
{
    struct perfring_pages free = perfring_share(2, 1, true);
    struct perfring_pages user = perfring_share(2, 1, false);

    (void)state;
    assert_true(free.of[PERFEVENT_SWITCHES] > user.of[PERFEVENT_SWITCHES]);
    /* A million yields a second, two records of 40 bytes each, for 10 ms. */
    assert_true(free.of[PERFEVENT_SWITCHES] * page_bytes() >= 10 * 1000 * 80);
    assert_true(perfring_share(256, 1, true).of[PERFEVENT_SWITCHES] <=
                user.of[PERFEVENT_SWITCHES]);
}

struct seen {
    uint32_t types[16];
    uint64_t words[16];
    size_t count;
};

static void seen_take(void *state, const struct perf_event_header *record)
{
    struct seen *seen = state;

    seen->types[seen->count] = record->type;
    memcpy(&seen->words[seen->count++], record + 1, sizeof(uint64_t));
}

/* Write a record of three words where the kernel would. */
static void
record_write(struct perfring *ring, uint32_t type, uint64_t a, uint64_t b)
{
    uint64_t words[3] = {0, a, b};
    struct perf_event_header header = {.type = type, .size = sizeof(words)};
    uint8_t *data = (uint8_t *)ring->page + page_bytes();

    memcpy(words, &header, sizeof(header));
    for (size_t i = 0; i < 3; i++) {
        uint64_t at = (ring->page->data_head + 8 * i) % ring->bytes;

        memcpy(data + at, &words[i], sizeof(words[i]));
    }
    ring->page->data_head += sizeof(words);
}

static void records_and_losses_are_counted_apart(void **state)
{
    struct perfring ring = {.fd = -1, .bytes = page_bytes()};
    struct seen seen = {.count = 0};

    (void)state;
    ring.page = mmap(NULL, 2 * page_bytes(), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(ring.page, MAP_FAILED);
    /* One of them is across the ring's end. */
    ring.page->data_head = ring.page->data_tail = page_bytes() - 32;
    record_write(&ring, PERF_RECORD_SWITCH, 7, 0);
    record_write(&ring, PERF_RECORD_SAMPLE, 8, 0);
    record_write(&ring, PERF_RECORD_LOST, 1, 27158);
    record_write(&ring, PERF_RECORD_SWITCH, 9, 0);
    record_write(&ring, PERF_RECORD_LOST, 1, 2);
    perfring_drain(&ring, seen_take, &seen);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.types[1], PERF_RECORD_SAMPLE);
    assert_int_equal(seen.words[1], 8);
    assert_int_equal(seen.words[2], 9);
    assert_int_equal(ring.tally.taken, 3);
    assert_int_equal(ring.tally.lost, 27160);
    assert_int_equal(ring.page->data_tail, ring.page->data_head);
    perfring_drain(&ring, seen_take, &seen);
    assert_int_equal(ring.tally.taken, 3);
    perfring_fini(&ring);
}

static void a_ring_that_is_not_mapped_has_nothing(void **state)
{
    struct perfring ring = {.fd = -1};
    struct seen seen = {.count = 0};

    (void)state;
    perfring_drain(&ring, seen_take, &seen);
    assert_int_equal(seen.count, 0);
    perfring_fini(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_of_all_sharers_fit_what_a_user_may_lock),
        cmocka_unit_test(rings_with_stacks_fit_what_a_user_may_lock),
        cmocka_unit_test(who_may_lock_has_whole_stacks_for_many_sharers),
        cmocka_unit_test(who_may_lock_has_room_for_a_storm_of_switches),
        cmocka_unit_test(records_and_losses_are_counted_apart),
        cmocka_unit_test(a_ring_that_is_not_mapped_has_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
