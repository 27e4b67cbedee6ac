/* test_kway.c - the tree of losers against a sort
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "merge/timeline/kway.h"
#include "tests/merge/chance.h"

#define INPUTS 37
#define EACH 50

struct item {
    int64_t key;
    size_t input;
};

static int by_key(const void *a, const void *b)
{
    const struct item *left = a;
    const struct item *right = b;

    if (left->key != right->key) {
        return left->key < right->key ? -1 : 1;
    }
    return (left->input > right->input) - (left->input < right->input);
}

static void any_inputs_come_out_as_a_sort_would_put_them(void **state)
{
    unsigned seed = chance_rand_seed();

    (void)state;
    for (int round = 0; round < 200; round++) {
        size_t inputs = (size_t)rand_r(&seed) % INPUTS + 1;
        struct item all[INPUTS * EACH];
        int64_t keys[INPUTS][EACH + 1], first[INPUTS];
        size_t next[INPUTS] = {0}, total = 0;
        struct kway *kway;
        int64_t key;

        for (size_t i = 0; i < inputs; i++) {
            size_t count = (size_t)rand_r(&seed) % EACH;
            int64_t at = rand_r(&seed) % 20 - 10;

            for (size_t k = 0; k < count; k++) {
                keys[i][k] = at;
                all[total++] = (struct item){at, i};
                at += rand_r(&seed) % 3;
            }
            keys[i][count] = KWAY_END;
            first[i] = keys[i][0];
        }
        qsort(all, total, sizeof(*all), by_key);
        kway = kway_create(first, inputs);
        assert_non_null(kway);
        for (size_t n = 0; n < total; n++) {
            size_t top = kway_top(kway, &key);

            assert_int_equal(key, all[n].key);
            assert_int_equal(top, all[n].input);
            kway_replace(kway, keys[top][++next[top]]);
        }
        (void)kway_top(kway, &key);
        assert_int_equal(key, KWAY_END);
        kway_destroy(kway);
    }
}

static void no_input_at_all_is_at_its_end(void **state)
{
    struct kway *kway = kway_create(NULL, 0);
    int64_t key;

    (void)state;
    assert_non_null(kway);
    (void)kway_top(kway, &key);
    assert_int_equal(key, KWAY_END);
    kway_destroy(kway);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_inputs_come_out_as_a_sort_would_put_them),
        cmocka_unit_test(no_input_at_all_is_at_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
