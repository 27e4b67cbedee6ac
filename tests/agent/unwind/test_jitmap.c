/* test_jitmap.c - names of code that was compiled at run time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/jitmap.h"

static struct jitmap *map;
static struct jitplace place;

/* A dump that is made word by word. */
static uint8_t dump[4096];
static size_t used;

static int setup(void **state)
{
    (void)state;
    map = jitmap_create();
    used = 0;
    return map == NULL;
}

static int teardown(void **state)
{
    (void)state;
    jitmap_destroy(map);
    return 0;
}

static void take(const char *text)
{
    assert_int_equal(jitmap_text(map, text, strlen(text)), strlen(text));
}

static const char *name_at(uint64_t address)
{
    return jitmap_find(map, address, &place) ? place.function : NULL;
}

static void put(const void *bytes, size_t length)
{
    memcpy(dump + used, bytes, length);
    used += length;
}

static void put_half(uint32_t half)
{
    put(&half, sizeof(half));
}

static void put_word(uint64_t word)
{
    put(&word, sizeof(word));
}

static void put_head(void)
{
    put_half(0x4a695444);
    put_half(1);
    put_half(40);
    for (int i = 0; i < 7; i++) {
        put_half(0);
    }
}

static void put_record(uint32_t id, size_t bytes)
{
    put_half(id);
    put_half((uint32_t)(16 + bytes));
    put_word(0);
}

static void put_load(uint64_t address, uint64_t size, const char *name)
{
    put_record(0, 40 + strlen(name) + 1 + 4);
    put_half(7);
    put_half(7);
    put_word(address);
    put_word(address);
    put_word(size);
    put_word(1);
    put(name, strlen(name) + 1);
    put("CODE", 4);
}

static void put_move(uint64_t from, uint64_t to, uint64_t size)
{
    put_record(1, 48);
    put_half(7);
    put_half(7);
    put_word(to);
    put_word(from);
    put_word(to);
    put_word(size);
    put_word(1);
}

/* Two lines, the second in the same file. */
static void put_lines(uint64_t address, const char *file)
{
    put_record(2, 16 + 16 + strlen(file) + 1 + 16 + 2);
    put_word(address);
    put_word(2);
    put_word(address);
    put_half(11);
    put_half(0);
    put(file, strlen(file) + 1);
    put_word(address + 8);
    put_half(12);
    put_half(0);
    put("\xff", 2);
}

static void lines_of_a_text_name_their_code(void **state)
{
    (void)state;
    take("1000 20 LazyCompile:*fib /app/x.js:1:13\n0x2000 8 two words\n");
    assert_string_equal(name_at(0x1000), "LazyCompile:*fib /app/x.js:1:13");
    assert_string_equal(name_at(0x101f), "LazyCompile:*fib /app/x.js:1:13");
    assert_null(name_at(0x1020));
    assert_null(name_at(0xfff));
    assert_string_equal(name_at(0x2007), "two words");
    assert_int_equal(jitmap_wrong(map), 0);
}

static void the_code_that_came_last_is_there(void **state)
{
    (void)state;
    take("1000 100 old\n");
    assert_string_equal(name_at(0x1050), "old");
    take("1040 20 new\n");
    assert_string_equal(name_at(0x1050), "new");
    assert_string_equal(name_at(0x1010), "old");
    assert_string_equal(name_at(0x1070), "old");
}

static void a_line_that_is_not_whole_waits(void **state)
{
    static const char text[] = "1000 20 first\n2000 20 sec";

    (void)state;
    assert_int_equal(jitmap_text(map, text, strlen(text)), 14);
    assert_null(name_at(0x2000));
    take("2000 20 second\n");
    assert_string_equal(name_at(0x2000), "second");
}

static void lines_that_are_none_are_counted(void **state)
{
    (void)state;
    take("\nzz 20 a\n1000\n1000 20\n1000 20 \n1000 0 none\n"
         "11111111111111111 1 long\nffffffffffffffff 10 wraps\n"
         "0 7fffffffffffffff all of it\n3000 10 good\x01\n");
    assert_int_equal(jitmap_wrong(map), 9);
    assert_string_equal(name_at(0x3000), "good?");
    assert_null(name_at(0x1000));
}

static void records_of_a_dump_name_code_and_lines(void **state)
{
    (void)state;
    put_head();
    put_lines(0x5000, "/app/x.js");
    put_load(0x5000, 0x20, "fib");
    put_load(0x6000, 0x20, "other");
    put_move(0x5000, 0x7000, 0x20);
    put_record(3, 0);
    assert_int_equal(jitmap_dump(map, dump, used), used);
    assert_string_equal(name_at(0x5003), "fib");
    assert_string_equal(place.file, "/app/x.js");
    assert_int_equal(place.line, 11);
    assert_string_equal(name_at(0x501f), "fib");
    assert_int_equal(place.line, 12);
    assert_string_equal(place.file, "/app/x.js");
    assert_string_equal(name_at(0x6001), "other");
    assert_null(place.file);
    assert_string_equal(name_at(0x7001), "fib");
    assert_int_equal(place.line, 0);
    assert_int_equal(jitmap_wrong(map), 0);
}

/* As node 20 writes them: bytes of memory that it has freed. */
static void a_file_whose_name_is_no_text_has_no_lines(void **state)
{
    (void)state;
    put_head();
    put_lines(0x5000, "t\x1b\x02");
    put_load(0x5000, 0x20, "fib");
    assert_int_equal(jitmap_dump(map, dump, used), used);
    assert_string_equal(name_at(0x5003), "fib");
    assert_null(place.file);
    assert_int_equal(place.line, 0);
}

static void a_dump_cut_at_any_byte_is_read_on(void **state)
{
    size_t whole;

    (void)state;
    put_head();
    put_lines(0x5000, "/app/x.js");
    put_load(0x5000, 0x20, "fib");
    put_move(0x5000, 0x7000, 0x20);
    whole = used;
    for (size_t cut = 0; cut <= whole; cut++) {
        struct jitmap *part = jitmap_create();
        ssize_t first = jitmap_dump(part, dump, cut);
        ssize_t rest;

        assert_true(first >= 0 && (size_t)first <= cut);
        rest = jitmap_dump(part, dump + first, whole - (size_t)first);
        assert_int_equal((size_t)first + (size_t)rest, whole);
        assert_true(jitmap_find(part, 0x7001, &place));
        assert_string_equal(place.function, "fib");
        assert_int_equal(jitmap_wrong(part), 0);
        jitmap_destroy(part);
    }
}

static void records_of_a_wrong_length_end_a_dump(void **state)
{
    (void)state;
    put_head();
    put_half(0);
    put_half(3);
    put_word(0);
    assert_int_equal(jitmap_dump(map, dump, used), -1);
    assert_int_equal(jitmap_wrong(map), 1);
}

static void what_is_no_dump_is_refused(void **state)
{
    (void)state;
    put_head();
    dump[0] ^= 1;
    assert_int_equal(jitmap_dump(map, dump, used), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_of_a_text_name_their_code, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_code_that_came_last_is_there, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_line_that_is_not_whole_waits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(lines_that_are_none_are_counted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(records_of_a_dump_name_code_and_lines,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_file_whose_name_is_no_text_has_no_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dump_cut_at_any_byte_is_read_on,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(records_of_a_wrong_length_end_a_dump,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_dump_is_refused, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
