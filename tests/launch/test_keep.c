/* test_keep.c - how much of a run is kept
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "launch/keep.h"
#include "schema/time.h"

static void sizes_and_times_are_distinguished_by_their_unit(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
        int64_t time;
    } rows[] = {
        {"8M", 8u << 20, 0},
        {"1.5GiB", 3ull << 29, 0},
        {"2048kb", 2u << 20, 0},
        {"60s", 0, 60 * CK_TIME_S},
        {"5min", 0, 300 * CK_TIME_S},
        {"2h", 0, 7200 * CK_TIME_S},
        {"1500ms", 0, 1500 * CK_TIME_MS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ck_keep keep = {1, 1};

        assert_int_equal(ck_keep_parse(rows[i].text, &keep, NULL), 0);
        assert_int_equal(keep.bytes, rows[i].bytes);
        assert_int_equal(keep.time, rows[i].time);
    }
}

static void what_means_nothing_or_two_things_is_refused(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {
        {"", "no unit"},        {"8", "no unit"},   {"5m", "5min or 5M"},
        {"5x", "neither"},      {"M", "neither"},   {"100K", "less than"},
        {"100ms", "less than"}, {"-8M", "neither"}, {"m", "neither"},
        {"0s", "less than"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ck_keep keep = {7, 7};
        struct ck_err err;

        assert_int_equal(ck_keep_parse(rows[i].text, &keep, &err), -1);
        assert_non_null(strstr(err.text, rows[i].why));
        assert_int_equal(keep.bytes, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_times_are_distinguished_by_their_unit),
        cmocka_unit_test(what_means_nothing_or_two_things_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
