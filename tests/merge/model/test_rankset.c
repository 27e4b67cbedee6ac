/* test_rankset.c - a set of ranks as a person reads and writes it
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

#include "merge/model/defs.h"
#include "merge/model/rankset.h"
#include "merge/options.h"
#include "tests/merge/chance.h"

#define RANKS_MAX 40
#define WORLDS 2000

static void set_is(const int32_t *ranks, size_t count, const char *expected)
{
    char *text = rankset_text(ranks, count);

    assert_string_equal(text, expected);
    free(text);
}

static void a_set_is_written_exactly(void **state)
{
    (void)state;
    set_is(NULL, 0, "");
    set_is((const int32_t[]){5}, 1, "5");
    set_is((const int32_t[]){1, 3}, 2, "1,3");
    set_is((const int32_t[]){1, 2}, 2, "1,2");
    set_is((const int32_t[]){1, 2, 3}, 3, "1-3");
    set_is((const int32_t[]){0, 1, 2, 3, 7, 9, 10}, 7, "0-3,7,9,10");
    set_is((const int32_t[]){0, 2, 4, 5, 6}, 5, "0,2,4-6");
}

static void a_cut_text_has_whole_runs(void **state)
{
    static const struct {
        const char *text;
        size_t columns, fit;
    } cases[] = {
        {"0,2,4-6", 7, 7},   {"0,2,4-6", 6, 3},     {"0,2,4-6,8", 7, 3},
        {"1000-2000", 4, 9}, {"1000,2000,9", 5, 4}, {"0-3,5,7,9,11", 9, 5},
        {"", 4, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(rankset_fit(cases[i].text, cases[i].columns),
                         cases[i].fit);
    }
}

static bool is_another_set(void *state)
{
    struct defs_rank ranks[RANKS_MAX];
    struct defs defs = {.ranks = ranks, .ranks_count = RANKS_MAX};
    bool is_chosen[RANKS_MAX] = {false};
    int32_t chosen[RANKS_MAX];
    size_t count = 0;
    struct ck_err missing, err;
    bool is_wrong;
    char *text;

    (void)state;
    for (int32_t i = 0; i < RANKS_MAX; i++) {
        ranks[i] = (struct defs_rank){.number = i};
        is_chosen[i] = i == 0 || chance_below(3) > 0;
        if (is_chosen[i]) {
            chosen[count++] = i;
        }
    }
    text = rankset_text(chosen, count);
    is_wrong = options_ranks(text, &defs, &missing, &err) != 0 ||
               missing.text[0] != '\0';
    free(text);
    for (int32_t i = 0; i < RANKS_MAX; i++) {
        is_wrong = is_wrong || ranks[i].is_wanted != is_chosen[i];
    }
    return is_wrong;
}

/* What the report writes --ranks takes. */
static void a_text_chooses_just_its_ranks(void **state)
{
    (void)state;
    chance_worlds(WORLDS, is_another_set, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_written_exactly),
        cmocka_unit_test(a_cut_text_has_whole_runs),
        cmocka_unit_test(a_text_chooses_just_its_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
