/* test_longest.c - which of many pieces of time are the longest
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "merge/output/lanes/longest.h"
#include "schema/order.h"
#include "tests/merge/chance.h"

#define PIECES 5000
#define MOST 100

CK_ORDER(down, ck_time_t, CK_LESS(*b, *a))

static void the_longest_of_many_are_kept(void **state)
{
    unsigned seed = chance_rand_seed();

    (void)state;
    for (size_t count = 0; count < PIECES; count = count * 2 + 1) {
        struct longest longest = {.most = MOST};
        ck_time_t all[PIECES], kept[MOST];

        for (size_t i = 0; i < count; i++) {
            size_t place;

            all[i] = rand_r(&seed) % 3000;
            place = longest_put(&longest, all[i]);
            if (place != LONGEST_NONE) {
                assert_in_range(place, 0, MOST - 1);
                kept[place] = all[i];
            }
        }
        qsort(all, count, sizeof(*all), down);
        qsort(kept, longest.count, sizeof(*kept), down);
        assert_int_equal(longest.count, count < MOST ? count : MOST);
        for (size_t i = 0; i < longest.count; i++) {
            assert_int_equal(kept[i], all[i]);
        }
        assert_int_equal(longest.left_out, count > MOST ? all[MOST] : 0);
        longest_fini(&longest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_of_many_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
