/* test_ringsize.c - the line where the recording memory is not as wished
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/ring/ringsize.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define HUGE (1024 * 1024 * GIB)

/* The ring that this wish makes where so much is free. */
static struct ringfile ring_of(const struct ringfile_wish *wish, uint64_t free)
{
    struct ringfile ring = {.path = "/dev/shm/ck-7/1.ring"};

    if (wish->bound != 0 && wish->bound < free / 4 * 3) {
        free = wish->bound / 3 * 4;
    }
    assert_int_equal(ringplan_make(&ring.plan, HUGE, free, 1, &wish->plan), 0);
    return ring;
}

/* The line about such options. */
static const char *
line_of(uint64_t slot_bytes, uint64_t ring_bytes, uint64_t free)
{
    static char line[RINGSIZE_LINE];
    struct ringfile_wish wish = {.plan = {.slot_bytes = slot_bytes},
                                 .bound = ring_bytes};
    struct ringfile ring = ring_of(&wish, free);

    ringsize_line(&ring, &wish, line);
    return line;
}

static void sizes_as_wished_are_not_spoken_of(void **state)
{
    (void)state;
    assert_string_equal(line_of(0, 0, HUGE), "");
    assert_string_equal(line_of(0, 0, 64 * MIB), "");
    assert_string_equal(line_of(16 * KIB, 0, HUGE), "");
    assert_string_equal(line_of(GIB, 0, HUGE), "");
}

/* A plan uses a bound up to a part of its smallest slot. */
static void a_bound_that_is_used_is_not_spoken_of(void **state)
{
    (void)state;
    for (uint64_t bound = 2 * MIB; bound < GIB; bound += bound / 7 + 3) {
        assert_string_equal(line_of(0, bound, HUGE), "");
    }
}

static void another_slot_is_logged_with_the_reason(void **state)
{
    (void)state;
    assert_string_equal(line_of(3 * MIB / 2, 0, HUGE),
                        "--slot-bytes: 1 MiB is used in place of 1.5 MiB: a "
                        "power of two");
    assert_string_equal(line_of(GIB, 0, 24 * GIB),
                        "--slot-bytes: 8 threads can have 1 GiB and 79 others "
                        "128 MiB: this rank has 17.88 GiB for them all");
    assert_string_equal(line_of(GIB, 0, 2 * GIB),
                        "--slot-bytes: 1 thread can have 512 MiB and 126 "
                        "others 8 MiB: this rank has 1.484 GiB for them all");
}

static void a_bound_beyond_what_there_is_is_logged(void **state)
{
    (void)state;
    assert_string_equal(line_of(0, 1000 * GIB, 128 * MIB),
                        "--ring-bytes: 95.67 MiB is used in place of 1000 "
                        "GiB: this rank's share of what is free in "
                        "/dev/shm/ck-7");
}

static void a_bound_beyond_all_slots_is_logged(void **state)
{
    (void)state;
    assert_string_equal(line_of(0, 1000 * GIB, HUGE),
                        "--ring-bytes: 1.008 GiB is used in place of 1000 "
                        "GiB: that is 256 threads of 4 MiB (--slot-bytes)");
}

static void little_memory_is_logged_and_so_is_a_disk(void **state)
{
    struct ringfile_wish wish = {.dir = NULL};
    struct ringfile ring = ring_of(&wish, GIB);
    char line[RINGSIZE_LINE];

    (void)state;
    assert_string_equal(line_of(0, 0, MIB),
                        "only 496 KiB of recording memory are free for this "
                        "rank in /dev/shm/ck-7: fast threads will lose "
                        "records; give it more (docker run --shm-size=1g)");
    strcpy(ring.path, "/tmp/ck-7/1.ring");
    ringsize_line(&ring, &wish, line);
    assert_string_equal(line, "recording memory is in /tmp/ck-7, which may "
                              "be slow: /dev/shm has no room for it (docker "
                              "run --shm-size=1g)");
}

static void both_are_logged_in_one_line(void **state)
{
    (void)state;
    assert_string_equal(line_of(3 * MIB / 2, GIB, HUGE),
                        "--slot-bytes: 1 MiB is used in place of 1.5 MiB: a "
                        "power of two; --ring-bytes: 264.3 MiB is used in "
                        "place of 1 GiB: that is 256 threads of 1 MiB "
                        "(--slot-bytes)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_as_wished_are_not_spoken_of),
        cmocka_unit_test(a_bound_that_is_used_is_not_spoken_of),
        cmocka_unit_test(another_slot_is_logged_with_the_reason),
        cmocka_unit_test(a_bound_beyond_what_there_is_is_logged),
        cmocka_unit_test(a_bound_beyond_all_slots_is_logged),
        cmocka_unit_test(little_memory_is_logged_and_so_is_a_disk),
        cmocka_unit_test(both_are_logged_in_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
