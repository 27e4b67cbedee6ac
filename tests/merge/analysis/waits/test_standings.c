/* test_standings.c - looks at threads, as records, become rows of the report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/waits/standings.h"
#include "merge/input/facts.h"
#include "merge/output/text/page.h"
#include "schema/store/run.h"
#include "tests/merge/ended.h"

static struct hang *hang;

static int setup(void **state)
{
    (void)state;
    ended_init();
    hang = hang_create(world.defs);
    return hang == NULL;
}

static int teardown(void **state)
{
    (void)state;
    hang_destroy(hang);
    ended_fini();
    return 0;
}

/* Of a process of rank 0's. */
static void look_at(uint32_t incarnation,
                    uint32_t tid,
                    int64_t at,
                    const char *lines,
                    size_t length)
{
    union {
        struct ck_text text;
        char bytes[sizeof(struct ck_text) + 256];
    } record = {.text = {.e = {.kind = CK_KIND_STANDING, .name = incarnation},
                         .object = tid,
                         .length = (uint32_t)length}};
    const struct facts_source source = {.agent = 0, .process = 0};
    const struct clocktaker clocks = align_taker(world.align);

    record.text.e.start = at;
    memcpy(record.bytes + sizeof(struct ck_text), lines, length);
    facts_read(world.defs, &clocks, &source, &record.text.e);
}

static void look(uint32_t tid, int64_t at, const char *lines, size_t length)
{
    look_at(1, tid, at, lines, length);
}

static void report_make(void)
{
    standings_report(world.defs, align_axis(world.align), hang, true, &report);
}

/* The report's text on it, the caller's. */
static char *text_make(void)
{
    const struct text_style style = {.columns = 0};
    struct page_given given = {.count = 0};
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    struct page page = {&report, &style, file, &given};

    page_standings(&page, 1);
    page_standing_stacks(&page);
    assert_int_equal(fclose(file), 0);
    return text;
}

static const char whole[] = "state=S\ncall=futex\nlock=7f01\nowner=7\n"
                            "file=/a/b\nstack=whole\nage=12\nname=wor\tker\n";

static void a_look_becomes_a_row(void **state)
{
    const struct report_standing *row = NULL;

    (void)state;
    look(7, 100, whole, sizeof(whole) - 1);
    report_make();
    assert_int_equal(report.standings_count, 1);
    row = &report.standings[0];
    assert_int_equal(row->rank, 0);
    assert_int_equal(row->tid, 7);
    assert_int_equal(row->state, 'S');
    assert_string_equal(row->call, "futex");
    assert_string_equal(row->file, "/a/b");
    assert_string_equal(row->how, "whole");
    assert_int_equal(row->lock, 0x7f01);
    assert_int_equal(row->owner, 7);
    assert_int_equal(row->age, 12);
}

static void a_look_that_is_cut_anywhere_becomes_a_row(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof(whole); length++) {
        char *text;

        (void)teardown(NULL);
        (void)setup(NULL);
        look(7, 100, whole, length);
        report_make();
        assert_int_equal(report.standings_count, 1);
        text = text_make();
        assert_null(strchr(text, '\t'));
        free(text);
    }
}

/* A program may start threads without end: those that are looked at now are of
 * interest. */
static void the_newest_looks_at_many_threads_are_kept(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5000; i++) {
        look(100 + i, i < 4500 ? i : 20 * CK_TIME_S, whole, sizeof(whole) - 1);
    }
    look(100, 21 * CK_TIME_S, whole, sizeof(whole) - 1);
    report_make();
    assert_int_equal(report.standings_count, 501);
    assert_int_equal(report.standings[0].tid, 100);
    assert_int_equal(report.standings[500].tid, 5099);
}

/* A program may start others, which die of the same signal. */
static void a_child_s_death_is_not_the_rank_s(void **state)
{
    static const char child[] = "state=X\nsignal=11\ndied=1\naddress=dead\n";
    static const char rank[] = "state=X\nsignal=11\ndied=1\naddress=beef\n";
    const struct text_style style = {.columns = 0};
    struct page_given given = {.count = 0};
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    struct page page = {&report, &style, file, &given};
    uint32_t program = defs_process_find(world.defs, 0, 2);

    (void)state;
    world.defs->agents[0].pid = 41;
    world.defs->processes[program].pid = 41;
    world.defs->processes[program].rank = 0;
    look_at(1, 40, 100, child, sizeof(child) - 1);
    look_at(2, 41, 200, rank, sizeof(rank) - 1);
    report_make();
    dies(0, SIGSEGV);
    page_death(&page, &rows[0]);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(report.deaths_count, 2);
    assert_non_null(strstr(text, "0xbeef"));
    assert_null(strstr(text, "0xdead"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_look_becomes_a_row, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_look_that_is_cut_anywhere_becomes_a_row, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_s_death_is_not_the_rank_s,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_newest_looks_at_many_threads_are_kept, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
