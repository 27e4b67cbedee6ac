/* test_ncclorder.c - launches of collectives have numbers, those of messages
 * have none
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/nccl/ncclorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A group of calls, as letters: C(ollective), M(essage), G(raph: captured),
 * L(aunch), (, which begins a group. The launches' numbers. */
static size_t play(struct order *order, const char *calls, uint64_t *numbers)
{
    size_t count = 0;

    for (; *calls != '\0'; calls++) {
        switch (*calls) {
        case '(':
            order_group();
            break;
        case 'C':
            (void)order_collective(order, false);
            break;
        case 'G':
            (void)order_collective(order, true);
            break;
        case 'M':
            order_message(order);
            break;
        default:
            numbers[count++] = order_launch(order);
        }
    }
    return count;
}

struct played {
    const char *calls;
    uint64_t numbers[4]; /* of launches: collective * 64 + launch from 1 */
};

static void messages_have_no_number_and_are_not_counted(void **state)
{
    static const struct played cases[] = {
        {"(CL(ML(CL", {65, 0, 129}},
        {"(CL(MML(ML(CL", {65, 0, 0, 129}},
        {"(MML(CL", {0, 65}},
        /* without reports of groups */
        {"CLMLCL", {65, 0, 129}},
        /* a collective of copy engines launches nothing */
        {"(C(ML(CL", {0, 129}},
        /* both in one group: the collective comes first */
        {"(CMLL(CL", {65, 0, 129}},
        {"(MCLL(CL", {65, 0, 129}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct order order = {0};
        uint64_t numbers[8];
        size_t count = play(&order, cases[i].calls, numbers);

        for (size_t k = 0; k < count; k++) {
            assert_int_equal(numbers[k], cases[i].numbers[k]);
        }
    }
}

static void what_is_captured_is_not_counted(void **state)
{
    struct order often = {0}, once = {0};
    uint64_t numbers[8];

    (void)state;
    assert_int_equal(play(&once, "(GL(CL", numbers), 2);
    assert_int_equal(numbers[0], 0);
    assert_int_equal(numbers[1], 65);
    assert_int_equal(play(&often, "(GL(GL(GL(CL", numbers), 4);
    assert_int_equal(numbers[3], 65);
}

static void a_group_that_needs_many_launches_numbers_the_first_64(void **state)
{
    struct order order = {0};
    uint64_t number = 0, before = 0;

    (void)state;
    order_group();
    (void)order_collective(&order, false);
    for (int i = 0; i < ORDER_LAUNCHES; i++) {
        number = order_launch(&order);
        assert_true(number > before);
        before = number;
    }
    assert_int_equal(order_launch(&order), 0);
    order_group();
    (void)order_collective(&order, false);
    assert_true(order_launch(&order) > before);
}

static void numbers_do_not_repeat_behind_2_to_the_26_collectives(void **state)
{
    struct order order = {.collectives = ((uint64_t)1 << 26) - 2};
    uint64_t before = 0;

    (void)state;
    for (int i = 0; i < 8; i++) {
        uint64_t number;

        order_group();
        assert_int_equal(order_collective(&order, false),
                         ((uint64_t)1 << 26) - 1 + (uint64_t)i);
        number = order_launch(&order);
        assert_true(number > before);
        before = number;
    }
    assert_true(before > UINT32_MAX);
}

static void two_communicators_of_one_group_are_apart(void **state)
{
    struct order one = {0}, other = {0};

    (void)state;
    order_group();
    (void)order_collective(&one, false);
    order_message(&other);
    (void)order_collective(&one, false);
    assert_int_equal(order_launch(&one), 2 * ORDER_LAUNCHES + 1);
    assert_int_equal(order_launch(&other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_have_no_number_and_are_not_counted),
        cmocka_unit_test(what_is_captured_is_not_counted),
        cmocka_unit_test(a_group_that_needs_many_launches_numbers_the_first_64),
        cmocka_unit_test(numbers_do_not_repeat_behind_2_to_the_26_collectives),
        cmocka_unit_test(two_communicators_of_one_group_are_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
