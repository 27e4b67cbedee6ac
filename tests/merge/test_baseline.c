/* test_baseline.c - which files are a report to compare with
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/baseline.h"

#define REPORT "{\"a\": [1, {\"format\": 2}], \"format\": \"ck.report\"}"

static char dir[64];
static char path[128];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/ck-baseline.XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/report.json", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(dir);
}

static void write_report(const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_run_and_its_report_are_the_same(void **state)
{
    const char *const names[] = {dir, path};
    struct baseline baseline;
    struct ck_err err;

    (void)state;
    write_report(REPORT "\n");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(baseline_read(&baseline, names[i], &err), 0);
        assert_int_equal(baseline.length, strlen(REPORT "\n"));
        assert_memory_equal(baseline.text, REPORT, strlen(REPORT));
        baseline_fini(&baseline);
        assert_null(baseline.text);
    }
}

#define HEAD "<script type=\"text/plain\" id=\"block-flames\">"

static void a_fifo_is_refused_and_not_waited_for(void **state)
{
    struct baseline baseline;
    struct ck_err err;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(baseline_read(&baseline, dir, &err), -1);
}

static void stacks_are_base64_from_end_to_end(void **state)
{
    static const char *const wrong[] = {
        "",
        HEAD,
        HEAD "</script>",
        HEAD "AAA</script>",
        HEAD "AAAA",
        HEAD "AAA<img src=x onerror=1></script>",
        HEAD "AAAA AAAA</script>",
        "<script type=\"text/plain\" id=\"block-flames2\">AAAA</script>",
    };
    struct baselinepage_block block = {NULL, 0};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(baselinepage_find(wrong[i], "flames", &block));
        assert_null(block.at);
    }
    assert_true(
        baselinepage_find("<p>" HEAD "AA+/AAA=</script>", "flames", &block));
    assert_int_equal(block.length, 8);
    assert_memory_equal(block.at, "AA+/AAA=", 8);
}

static void a_page_without_both_blocks_has_no_stacks(void **state)
{
    struct baselinepage page;
    char html[160];
    FILE *file;

    (void)state;
    baselinepage_read(&page, dir);
    assert_null(page.flames.at);
    (void)snprintf(html, sizeof(html), "%s/report.html", dir);
    file = fopen(html, "we");
    assert_non_null(file);
    assert_true(fputs(HEAD "AAAA</script>", file) >= 0);
    assert_int_equal(fclose(file), 0);
    baselinepage_read(&page, dir);
    assert_null(page.flames.at);
    assert_null(page.text);
    assert_int_equal(unlink(html), 0);
    assert_int_equal(symlink("/dev/zero", html), 0);
    baselinepage_read(&page, dir);
    assert_null(page.text);
    assert_int_equal(unlink(html), 0);
}

static void what_is_no_whole_report_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "[]",
        "\"ck.report\"",
        "{\"format\": \"ck.report2\"}",
        "{\"format\": 1}",
        "{\"a\": {\"format\": \"ck.report\"}}",
        REPORT "{}",
        REPORT "</script>",
    };
    struct baseline baseline = {.length = 7};
    struct ck_err err;
    char part[sizeof(REPORT)];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        write_report(wrong[i]);
        assert_int_equal(baseline_read(&baseline, dir, &err), -1);
        assert_non_null(strstr(err.text, "is no report.json of ck"));
    }
    for (size_t length = 1; length < strlen(REPORT); length++) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)length, REPORT);
        write_report(part);
        assert_int_equal(baseline_read(&baseline, path, &err), -1);
    }
    write_report("");
    assert_int_equal(baseline_read(&baseline, path, &err), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(baseline_read(&baseline, dir, &err), -1);
    assert_non_null(strstr(err.text, "merge that run first"));
    assert_int_equal(baseline.length, 7); /* untouched */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_and_its_report_are_the_same,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_fifo_is_refused_and_not_waited_for,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(stacks_are_base64_from_end_to_end,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_page_without_both_blocks_has_no_stacks, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_whole_report_is_refused,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
