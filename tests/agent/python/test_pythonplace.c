/* test_pythonplace.c - function, file and line of code objects
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/python/pythonplace.h"
#include "tests/agent/python/image.h"
#include "tests/emulator.h"

static struct image image;
static struct pythonprogram program;
static struct pythonplace place;

static int read_at(uint64_t n)
{
    return pythonplace_read(getpid(), &program, image.codes[0], n, &place);
}

static const char *file_read(void)
{
    return place.text + strlen(place.text) + 1;
}

static void a_place_has_function_file_and_line(void **unused)
{
    (void)unused;
    for (uint32_t version = 0x30b; version <= 0x30e; version++) {
        assert_int_equal(image_fill(&image, version, &program), 0);
        assert_int_equal(read_at(0), 0);
        assert_string_equal(place.text, "f0");
        assert_memory_equal(file_read(), "file0.py", 8);
        assert_int_equal(place.length, 2 + 1 + 8);
        assert_int_equal(place.line, 10);
        assert_int_equal(read_at(2), 0);
        assert_int_equal(place.line, 12);
        assert_int_equal(read_at(4), 0); /* behind the table */
        assert_int_equal(place.line, 0);
    }
}

static void entries_of_each_form_lead_to_their_lines(void **unused)
{
    static const uint8_t table[] = {
        0x80 | 0 << 3 | 0,  0x11,              /* 0: short, the same line */
        0x80 | 13 << 3 | 1, 3 | 0x40, 2,       /* 1, 2: 3 + 2 * 64: -65 */
        0x80 | 14 << 3 | 0, 8,        0, 0, 0, /* 3: 4 further */
        0x80 | 15 << 3 | 7,                    /* 4 to 11: no line */
        0x80 | 11 << 3 | 0, 1,        2,       /* 12: one further */
    };
    static const uint32_t lines[] = {100, 35, 35, 39, 0, 0, 0,
                                     0,   0,  0,  0,  0, 40};

    (void)unused;
    for (size_t n = 0; n < sizeof(lines) / sizeof(lines[0]); n++) {
        assert_int_equal(pythonplace_line(table, sizeof(table), 100, n),
                         lines[n]);
    }
    for (size_t cut = 0; cut <= sizeof(table); cut++) {
        assert_true(pythonplace_line(table, cut, 100, 12) <= 100);
    }
}

static void state_put(uint32_t bits)
{
    memcpy(image.functions[0] + program.layout.text_state, &bits, sizeof(bits));
}

static void texts_of_wide_characters_become_utf_8(void **unused)
{
    static const uint16_t two[] = {'g', 0xe9, 0x20ac, 0xd800, 7};
    static const uint32_t four[] = {0x1f40d, 0x110000};

    (void)unused;
    for (uint32_t version = 0x30b; version <= 0x30c; version++) {
        uint32_t head = version == 0x30b ? 72 : 56;

        assert_int_equal(image_fill(&image, version, &program), 0);
        memcpy(image.functions[0] + head, two, sizeof(two));
        image_put(image.functions[0], program.layout.text_length, 5);
        state_put(2u << 2 | 1u << 5);
        assert_int_equal(read_at(0), 0);
        assert_string_equal(place.text, "g\u00e9\u20ac\ufffd?");
        memcpy(image.functions[0] + head, four, sizeof(four));
        image_put(image.functions[0], program.layout.text_length, 2);
        state_put(4u << 8 | 1u << 11); /* of a build without a global lock */
        assert_int_equal(read_at(0), 0);
        assert_string_equal(place.text, "\U0001f40d\ufffd");
    }
}

static void what_is_no_text_is_no_name(void **unused)
{
    (void)unused;
    assert_int_equal(image_fill(&image, 0x30b, &program), 0);
    state_put(0);
    assert_int_equal(read_at(0), 0);
    assert_string_equal(place.text, "");
    assert_memory_equal(file_read(), "file0.py", 8);
    image_put(image.files[0], program.layout.type, program.code);
    assert_int_equal(read_at(0), -1);
    image_put(image.codes[0], program.layout.file, 0x10);
    assert_int_equal(read_at(0), -1);
}

static void wrong_lengths_are_bounded(void **unused)
{
    (void)unused;
    assert_int_equal(image_fill(&image, 0x30b, &program), 0);
    image_put(image.functions[0], program.layout.text_length, UINT64_MAX);
    assert_int_equal(read_at(0), 0);
    assert_in_range(place.length, 1, PYTHONPLACE_TEXT_MAX);
    image_put(image.lines, program.layout.bytes_length, UINT64_MAX / 2);
    assert_int_equal(read_at(UINT64_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_has_function_file_and_line),
        cmocka_unit_test(entries_of_each_form_lead_to_their_lines),
        cmocka_unit_test(texts_of_wide_characters_become_utf_8),
        cmocka_unit_test(what_is_no_text_is_no_name),
        cmocka_unit_test(wrong_lengths_are_bounded),
    };

    if (is_emulated()) {
        print_message("skipped in an emulator: no process_vm_readv\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
