/* test_words.c - numbers for people, and texts that no terminal obeys
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "merge/output/sink.h"
#include "merge/output/words.h"
#include "tests/merge/synth.h"

static void times_have_three_figures_and_their_unit(void **state)
{
    static const struct {
        ck_time_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {41, "41 ns"},
        {999, "999 ns"},
        {1000, "1.00 us"},
        {850000, "850 us"},
        {999600, "1.00 ms"},
        {12800000000, "12.8 s"},
        {390700000, "391 ms"},
        {-1500, "-1.50 us"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(word_time(cases[i].ns).text, cases[i].text);
    }
}

static void counts_bytes_and_shares_read_well(void **state)
{
    (void)state;
    assert_string_equal(word_count(0).text, "0");
    assert_string_equal(word_count(999).text, "999");
    assert_string_equal(word_count(3412881).text, "3,412,881");
    assert_string_equal(word_bytes(31200000).text, "31.2 MB");
    assert_string_equal(word_bytes(512).text, "512 B");
    assert_string_equal(word_percent(1, 3).text, "33.3");
    assert_string_equal(word_percent(1, 0).text, "-");
    assert_string_equal(word_number(1.9).text, "1.9");
    assert_string_equal(word_number(24100000).text, "24.1 M");
    assert_string_equal(word_seconds(9810000000).text, "9.81");
    assert_string_equal(word_seconds(500000000).text, "0.500");
}

static void nothing_in_a_text_moves_a_cursor(void **state)
{
    static const struct {
        const char *text;
        size_t columns;
        int is_plain;
        const char *shown;
    } cases[] = {
        {"a\033[31mb\nc", 0, 0, "a?[31mb?c"},
        {"gr\303\274n", 0, 0, "gr\303\274n"},
        {"gr\303\274n", 0, 1, "gr?n"},
        {"\302\233x", 0, 0, "?x"},     /* C1: CSI */
        {"\355\240\200", 0, 0, "???"}, /* a surrogate */
        {"\300\257", 0, 0, "??"},      /* too long a form */
        {"abcdefgh", 6, 0, "abc..."},
        {"abcdef", 6, 0, "abcdef"},
        {"", 6, 0, ""},
    };
    char to[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)word_escape(to, sizeof(to), cases[i].text, cases[i].columns,
                          cases[i].is_plain);
        assert_string_equal(to, cases[i].shown);
    }
    /* No room is no overflow. */
    (void)word_escape(to, 12, "0123456789abcdefghij", 0, 0);
    assert_true(strlen(to) < 12);
}

static void a_sink_writes_json_that_is_json(void **state)
{
    char *dir = synth_dir();
    char path[4096], command[8192];
    struct ck_err err = {""};
    struct sink *sink;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/x.json", dir);
    sink = sink_create(path, &err);
    assert_non_null(sink);
    sink_text(sink, "[");
    sink_int(sink, INT64_MIN);
    sink_text(sink, ",");
    sink_us(sink, -1234567);
    sink_text(sink, ",");
    sink_us(sink, 5);
    sink_text(sink, ",");
    sink_string(sink, "a\"\\\n\001\377\303\274");
    for (int i = 0; i < 100000; i++) {
        sink_text(sink, ",");
        sink_int(sink, i);
    }
    sink_text(sink, "]");
    assert_int_equal(sink_finish(sink, &err), 0);
    sink_destroy(sink);
    (void)snprintf(command, sizeof(command),
                   "python3 -c 'import json\n"
                   "v = json.load(open(\"%s\"))\n"
                   "assert v[:3] == [-2**63, -1234.567, 0.005], v[:3]\n"
                   "assert v[3] == \"a\\\"\\\\\\n\\x01\\ufffd\\xfc\", v[3]\n"
                   "assert v[4:] == list(range(100000))'",
                   path);
    assert_int_equal(system(command), 0);
    synth_remove(dir);
}

static void a_full_disk_is_reported(void **state)
{
    struct ck_err err = {""};
    struct sink *sink = sink_create("/dev/full", &err);

    (void)state;
    assert_non_null(sink);
    sink_text(sink, "x");
    assert_int_equal(sink_finish(sink, &err), -1);
    assert_non_null(strstr(err.text, "/dev/full"));
    sink_destroy(sink);
    assert_null(sink_create("/nonexistent/x", &err));
}

static void a_failed_sink_leaves_the_old_file(void **state)
{
    char *dir = synth_dir();
    char path[4096], command[8192];
    struct ck_err err = {""};
    struct rlimit before, limit;
    struct sink *sink;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/x.json", dir);
    (void)snprintf(command, sizeof(command), "echo old >%s", path);
    assert_int_equal(system(command), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 65536;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    sink = sink_create(path, &err);
    assert_non_null(sink);
    for (int i = 0; i < 100000; i++) {
        sink_int(sink, i);
    }
    assert_int_equal(sink_finish(sink, &err), -1);
    assert_non_null(strstr(err.text, path));
    sink_destroy(sink);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)snprintf(command, sizeof(command),
                   "test \"$(cat %s/*)\" = old && test $(ls %s | wc -l) = 1",
                   dir, dir);
    assert_int_equal(system(command), 0);
    synth_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_have_three_figures_and_their_unit),
        cmocka_unit_test(counts_bytes_and_shares_read_well),
        cmocka_unit_test(nothing_in_a_text_moves_a_cursor),
        cmocka_unit_test(a_sink_writes_json_that_is_json),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(a_failed_sink_leaves_the_old_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
