/* test_numbers.c - numbers of a column, on this processor and on any
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/batch/numbers.h"
#include "schema/batch/reader.h"
#include "schema/batch/wide.h"
#include "tests/schema/records.h"

#define COUNT_MAX 256
#define ROUNDS 20000

typedef uint8_t *
put_f(uint8_t *out, uint64_t *run, const int64_t *differences, unsigned count);

static struct records_random rng;

/* As docs/protocol.md defines it, number by number. */
static uint8_t *put_by_the_book(uint8_t *out,
                                uint64_t *run,
                                const int64_t *differences,
                                unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int64_t d = differences[i];

        if (d == 0) {
            ++*run;
            continue;
        }
        if (*run != 0) {
            out = numbers_run(out, *run);
            *run = 0;
        }
        out = numbers_one(out,
                          d > 0 ? 2 * (uint64_t)d : 2 * (0 - (uint64_t)d) - 1);
    }
    return out;
}

/* Of any length up to `bits`, and `zeros` of 8 are zero. */
static int64_t number(unsigned bits, unsigned zeros)
{
    uint64_t any = records_next(&rng);
    unsigned kept = 1 + (unsigned)(records_next(&rng) % bits);

    if (records_next(&rng) % 8 < zeros) {
        return 0;
    }
    any >>= 64 - kept;
    return (int64_t)(records_next(&rng) % 2 == 0 ? any : 0 - any);
}

static void assert_puts_the_same(put_f *put, const int64_t *d, unsigned count)
{
    static uint8_t expected[NUMBERS_BYTES(COUNT_MAX)];
    static uint8_t found[NUMBERS_BYTES(COUNT_MAX)];
    uint64_t before = records_next(&rng) % 3 * 100;
    uint64_t run = before;
    uint64_t found_run = before;
    uint8_t *end = put_by_the_book(expected, &run, d, count);
    uint8_t *found_end = put(found, &found_run, d, count);

    assert_int_equal(found_end - found, end - expected);
    assert_memory_equal(found, expected, end - expected);
    assert_int_equal(found_run, run);
}

static void assert_puts_by_the_book(put_f *put)
{
    static const unsigned widths[] = {7, 14, 21, 28, 56, 57, 64};
    int64_t d[COUNT_MAX];

    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned bits = widths[round % 7];
        unsigned zeros = (unsigned)(records_next(&rng) % 9);
        unsigned count = (unsigned)(records_next(&rng) % (COUNT_MAX + 1));

        for (unsigned i = 0; i < count; i++) {
            d[i] = number(bits, zeros);
        }
        assert_puts_the_same(put, d, count);
    }
}

static void any_processor_writes_by_the_protocol(void **state)
{
    (void)state;
    assert_puts_by_the_book(numbers_put_plain);
}

static void this_processor_writes_by_the_protocol(void **state)
{
    (void)state;
    assert_puts_by_the_book(numbers_put);
}

static void assert_level_puts_by_the_book(enum wide level, put_f *put)
{
    if (wide_level() < level) {
        print_message("SKIPPED: this processor has no level %d\n", level);
        skip();
    }
    assert_puts_by_the_book(put);
}

static void with_bmi2_they_are_the_same_bytes(void **state)
{
    (void)state;
    assert_level_puts_by_the_book(WIDE_BMI2, wide_numbers_bmi2);
}

static void with_avx512_they_are_the_same_bytes(void **state)
{
    (void)state;
    assert_level_puts_by_the_book(WIDE_AVX512, wide_numbers_avx512);
}

static void each_bit_alone_is_written_whole(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        int64_t d[16];

        for (unsigned i = 0; i < 16; i++) {
            uint64_t power = (uint64_t)1 << bit;

            d[i] = (int64_t)(i % 2 == 0 ? power : power - 1);
        }
        assert_puts_the_same(numbers_put, d, 16);
        assert_puts_the_same(numbers_put_plain, d, 16);
    }
}

/* reader_differences() by its contract, number by number. */
static int read_by_the_book(struct reader *reader,
                            uint64_t left,
                            unsigned bytes,
                            int64_t *d,
                            unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (reader_difference(reader, left - i, bytes, &d[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* A column is read in parts of any length, up to its end or its damage. */
static void assert_reads_the_same(const uint8_t *column,
                                  size_t length,
                                  unsigned bytes,
                                  unsigned records)
{
    struct reader reader = {column, column + length, 0};
    struct reader wide = reader;
    int64_t expected[COUNT_MAX], found[COUNT_MAX];
    int rc = 0;

    for (unsigned left = records; rc == 0 && left > 0;) {
        unsigned count = 1 + (unsigned)(records_next(&rng) % left);

        rc = read_by_the_book(&reader, left, bytes, expected, count);
        assert_int_equal(wide_differences(&wide, left, bytes, found, count),
                         rc);
        if (rc == 0) {
            assert_memory_equal(found, expected, count * sizeof(*found));
            assert_ptr_equal(wide.at, reader.at);
            assert_int_equal(wide.run, reader.run);
        }
        left -= count;
    }
}

static void many_are_read_at_once_as_one_by_one(void **state)
{
    static const unsigned widths[] = {6, 7, 13, 14, 20, 21, 28, 57, 64};
    static uint8_t column[NUMBERS_BYTES(COUNT_MAX)];

    (void)state;
    if (wide_level() < WIDE_BMI2) {
        print_message("SKIPPED: this processor has no BMI2\n");
        skip();
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned zeros = (unsigned)(records_next(&rng) % 9);
        unsigned count = 1 + (unsigned)(records_next(&rng) % COUNT_MAX);
        int64_t d[COUNT_MAX];
        uint64_t run = 0;
        uint8_t *end;

        for (unsigned i = 0; i < count; i++) {
            d[i] = number(widths[round % 9], zeros);
        }
        end = put_by_the_book(column, &run, d, count);
        end = run > 0 ? numbers_run(end, run) : end;
        if (round % 3 == 0) {
            column[records_next(&rng) % (uint64_t)(end - column)] =
                (uint8_t)records_next(&rng);
        }
        assert_reads_the_same(column, (size_t)(end - column),
                              1U << records_next(&rng) % 4, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_processor_writes_by_the_protocol),
        cmocka_unit_test(this_processor_writes_by_the_protocol),
        cmocka_unit_test(with_bmi2_they_are_the_same_bytes),
        cmocka_unit_test(with_avx512_they_are_the_same_bytes),
        cmocka_unit_test(each_bit_alone_is_written_whole),
        cmocka_unit_test(many_are_read_at_once_as_one_by_one),
    };

    rng = records_random_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
