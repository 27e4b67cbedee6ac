/* test_textstanding.c - the stacks of all threads, as the text has them
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

#include "merge/output/text/page.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Ranks 0, 1 ... with those frames, innermost first. */
static char *
print(struct place *const frames[], const size_t counts[], int ranks)
{
    static const struct text_style style = {.columns = 400};
    struct page_given given = {.count = 0};
    struct report_standing rows[2];
    bool is_users[4] = {false, false, false, false};
    struct report report = {.present = (uint32_t)ranks,
                            .size = (uint32_t)ranks,
                            .has_ranks = true,
                            .standings = rows,
                            .standings_count = (size_t)ranks};
    struct page page = {.report = &report, .style = &style, .given = &given};
    char *text = NULL;
    size_t length;

    for (int i = 0; i < ranks; i++) {
        rows[i] = (struct report_standing){.rank = i,
                                           .process = (uint32_t)i,
                                           .is_first = true,
                                           .state = 'R',
                                           .name = "",
                                           .call = "",
                                           .file = "",
                                           .how = "whole",
                                           .frames = frames[i],
                                           .is_users = is_users,
                                           .frames_count = counts[i]};
    }
    page.file = open_memstream(&text, &length);
    assert_non_null(page.file);
    page_standing_stacks(&page);
    assert_int_equal(fclose(page.file), 0);
    return text;
}

/* glibc 2.41 of Debian 13 has no name for what calls main(). */
static void what_calls_main_is_not_shown(void **state)
{
    static struct place named[] = {{"main", "a.c", 7},
                                   {"__libc_start_call_main", NULL, 0},
                                   {"_start", NULL, 0}};
    static struct place unnamed[] = {{"main", "a.c", 7},
                                     {"libc.so.6+0x29ca7", NULL, 0},
                                     {"_start", NULL, 0}};
    struct place *const frames[] = {named, unnamed};
    const size_t counts[] = {COUNT(named), COUNT(unnamed)};
    char *text = print(frames, counts, 2);

    (void)state;
    assert_non_null(strstr(text, "ranks 0 and 1: main (a.c:7)"));
    assert_null(strstr(text, "libc.so"));
    free(text);
}

static void a_thread_that_is_only_in_the_c_library_is_there(void **state)
{
    static struct place only[] = {{"libc.so.6+0x29ca7", NULL, 0}};
    struct place *const frames[] = {only};
    const size_t counts[] = {COUNT(only)};
    char *text = print(frames, counts, 1);

    (void)state;
    assert_non_null(strstr(text, "libc.so.6+0x29ca7"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_calls_main_is_not_shown),
        cmocka_unit_test(a_thread_that_is_only_in_the_c_library_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
