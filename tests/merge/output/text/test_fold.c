/* test_fold.c - the text report on a narrow terminal
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

#include "merge/output/text/fold.h"

static void folds_to(const char *text, size_t columns, const char *expected)
{
    size_t length;
    char *folded = fold_text(text, columns, &length);

    assert_non_null(folded);
    assert_string_equal(folded, expected);
    assert_int_equal(length, strlen(expected));
    free(folded);
}

static void what_fits_stays_as_it_is(void **state)
{
    const char *text =
        " NAME      calls   total s\n forward       3      12.0\n"
        "\nlast line\n";

    (void)state;
    folds_to(text, 40, text);
    folds_to("", 40, "");
    folds_to("\n\n", 40, "\n\n");
}

static void a_table_loses_the_blanks_that_all_rows_have(void **state)
{
    (void)state;
    folds_to(" KERNELS          calls    busy s    longest\n"
             " forward             65     0.121    4.46 ms\n"
             " gradient_hidden     60    0.0708     1.5 ms\n"
             " and more\n",
             40,
             " KERNELS          calls   busy s longest\n"
             " forward             65    0.121 4.46 ms\n"
             " gradient_hidden     60   0.0708  1.5 ms\n"
             " and more\n");
}

static void a_title_far_to_the_right_goes_with_its_table(void **state)
{
    (void)state;
    folds_to("                        IDLE BY CAUSE\n"
             " RANK     DEVICE        peer   launch   host\n"
             "    0     cpu            1.0      2.0    3.0\n",
             40,
             "                      IDLE BY CAUSE\n"
             " RANK     DEVICE      peer   launch host\n"
             "    0     cpu          1.0      2.0  3.0\n");
}

static void a_sentence_goes_on_in_the_next_line(void **state)
{
    (void)state;
    folds_to(" 1. 27.5 % of all device time (2.34 s of 8.49 s): waiting\n", 40,
             " 1. 27.5 % of all device time (2.34 s of\n"
             "     8.49 s): waiting\n");
    /* Behind its title, or behind its own blanks and some more. */
    folds_to(" TRUST       0 of 14,795 events lost, 2 of 2 ranks complete\n",
             40,
             " TRUST       0 of 14,795 events lost, 2\n"
             "             of 2 ranks complete\n");
    /* A word alone may be too long. */
    folds_to("/a/path/that/has/no/blank/at/all/and/is/too/long here\n", 40,
             "/a/path/that/has/no/blank/at/all/and/is/too/long\n"
             "    here\n");
}

static void signs_and_colours_count_as_they_are_seen(void **state)
{
    (void)state;
    /* 40 columns in 58 bytes. */
    folds_to("\033[1m\342\226\210\342\226\210\033[0m 4567890123456789 "
             "123456789012345678\033[0m\n",
             40,
             "\033[1m\342\226\210\342\226\210\033[0m 4567890123456789 "
             "123456789012345678\033[0m\n");
    /* An escape that never ends, bytes that are no UTF-8. */
    folds_to("\033[1\n\377\376\n", 40, "\033[1\n\377\376\n");
    folds_to("\033[0m\n", 40, "\033[0m\n");
}

static void a_last_line_without_end_gets_one(void **state)
{
    (void)state;
    folds_to("no end", 40, "no end\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stays_as_it_is),
        cmocka_unit_test(a_table_loses_the_blanks_that_all_rows_have),
        cmocka_unit_test(a_title_far_to_the_right_goes_with_its_table),
        cmocka_unit_test(a_sentence_goes_on_in_the_next_line),
        cmocka_unit_test(signs_and_colours_count_as_they_are_seen),
        cmocka_unit_test(a_last_line_without_end_gets_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
