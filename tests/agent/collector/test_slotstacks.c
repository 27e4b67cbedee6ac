/* test_slotstacks.c - stacks that their program writes over
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The records are the last of what is mapped: a read beyond them ends the test.
 * The test is who notes frames.
 */
#include "agent/collector/slotstacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/symbols/symbols.h"
#include "schema/event.h"

#define INCARNATION 7
#define ROOM ((size_t)16384)

static uint8_t *mapped;
static uint64_t noted[8];
static size_t count;

void symbols_frame(struct symbols *symbols,
                   uint32_t incarnation,
                   uint64_t address)
{
    assert_null(symbols);
    assert_int_equal(incarnation, INCARNATION);
    if (count < sizeof(noted) / sizeof(noted[0])) {
        noted[count] = address;
    }
    count++;
}

static int setup(void **state)
{
    (void)state;
    count = 0;
    mapped = mmap(NULL, ROOM + (size_t)getpagesize(), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(mapped != MAP_FAILED);
    return mprotect(mapped + ROOM, (size_t)getpagesize(), PROT_NONE);
}

static int teardown(void **state)
{
    (void)state;
    return munmap(mapped, ROOM + (size_t)getpagesize());
}

/* A stack with two frames, and one that is no address, in so many units before
 * the end, with that length in its head. */
static void stack_put(unsigned units_left, unsigned units, uint32_t length)
{
    const uint64_t frames[] = {units_left, CK_SITE_TOLD, units_left + 1};
    struct ck_text *text =
        (struct ck_text *)(mapped + ROOM - (size_t)units_left * CK_UNIT_BYTES);

    *text = (struct ck_text){
        .e = {.kind = CK_KIND_STACK, .units = (uint8_t)units},
        .length = length,
    };
    memcpy(text + 1, frames, sizeof(frames));
}

static void note(unsigned units)
{
    slotstacks_note(NULL, INCARNATION,
                    mapped + ROOM - (size_t)units * CK_UNIT_BYTES, units);
}

static void frames_of_all_stacks_are_noted(void **state)
{
    (void)state;
    stack_put(5, 2, 24);
    *(struct ck_mark *)(mapped + ROOM - (size_t)3 * CK_UNIT_BYTES) =
        (struct ck_mark){.e = {.kind = CK_KIND_MARK, .units = 1}};
    stack_put(2, 2, 24);
    note(5);
    assert_int_equal(count, 4);
    assert_int_equal(noted[0], 5);
    assert_int_equal(noted[1], 6);
    assert_int_equal(noted[2], 2);
    assert_int_equal(noted[3], 3);
}

/* Units of a record are those of a text of any length beyond the longest. */
static void a_length_beyond_the_longest_text_is_none(void **state)
{
    const uint32_t lengths[] = {UINT32_MAX, CK_TEXT_BYTES_MAX + 1, 1 << 20};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        stack_put(CK_RECORD_UNITS_MAX, CK_RECORD_UNITS_MAX, lengths[i]);
        note(CK_RECORD_UNITS_MAX);
        assert_int_equal(count, 0);
    }
    stack_put(CK_RECORD_UNITS_MAX, CK_RECORD_UNITS_MAX, CK_TEXT_BYTES_MAX);
    note(CK_RECORD_UNITS_MAX);
    assert_int_equal(count, CK_TEXT_BYTES_MAX / sizeof(uint64_t) - 1);
}

static void a_record_that_grew_beyond_the_frame_ends_it(void **state)
{
    (void)state;
    stack_put(4, 2, 24);
    stack_put(2, 3, 64);
    note(4);
    assert_int_equal(count, 2);
    stack_put(4, 0, 24);
    note(4);
    assert_int_equal(count, 2);
    /* Its units are well, its length is another one's. */
    stack_put(2, 2, 64);
    note(2);
    assert_int_equal(count, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(frames_of_all_stacks_are_noted),
        CASE(a_length_beyond_the_longest_text_is_none),
        CASE(a_record_that_grew_beyond_the_frame_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
