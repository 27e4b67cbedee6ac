/* test_liveblocks.c - sampled blocks, by address
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/liveblocks.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const void *address_of(uint64_t value)
{
    return (const void *)(uintptr_t)value;
}

/* The first address above 0x1000 of NULL's set. */
static uint64_t neighbour_of_null(void)
{
    uint64_t address = 0x1000;

    while (liveblocks_set(address_of(address)) != liveblocks_set(NULL)) {
        address += 16;
    }
    return address;
}

static void a_block_is_found_once(void **state)
{
    struct live_block block = {.address = 0x1230, .bytes = 77, .stack = 5};
    struct live_block held;

    (void)state;
    assert_true(liveblocks_add(&block));
    assert_true(liveblocks_may_have(address_of(0x1230)));
    assert_true(liveblocks_remove(address_of(0x1230), &held));
    assert_int_equal(held.bytes, 77);
    assert_int_equal(held.stack, 5);
    assert_false(liveblocks_may_have(address_of(0x1230)));
    assert_false(liveblocks_remove(address_of(0x1230), &held));
}

/* free(NULL), and realloc(NULL, n), with blocks in the set that 0 is of. */
static void null_is_no_block(void **state)
{
    struct live_block block = {.address = neighbour_of_null(), .bytes = 1};
    struct live_block held;

    (void)state;
    assert_true(liveblocks_add(&block));
    assert_false(liveblocks_may_have(NULL));
    for (int i = 0; i < 2 * LIVEBLOCKS_WAYS; i++) {
        assert_false(liveblocks_remove(NULL, &held));
        assert_false(liveblocks_remove(address_of(1), &held));
    }
    assert_int_equal(liveblocks_taken[liveblocks_set(NULL)], 1);
    assert_true(liveblocks_remove(address_of(block.address), &held));
    assert_int_equal(liveblocks_taken[liveblocks_set(NULL)], 0);
}

static void a_full_set_takes_no_more(void **state)
{
    struct live_block blocks[LIVEBLOCKS_WAYS + 1] = {{0}};
    struct live_block held;
    size_t set = liveblocks_set(address_of(0x5000));
    uint64_t address = 0x5000;

    (void)state;
    for (size_t i = 0; i <= LIVEBLOCKS_WAYS; address += 16) {
        if (liveblocks_set(address_of(address)) == set) {
            blocks[i++].address = address;
        }
    }
    for (size_t i = 0; i <= LIVEBLOCKS_WAYS; i++) {
        assert_int_equal(liveblocks_add(&blocks[i]), i < LIVEBLOCKS_WAYS);
    }
    for (size_t i = 0; i <= LIVEBLOCKS_WAYS; i++) {
        assert_int_equal(
            liveblocks_remove(address_of(blocks[i].address), &held),
            i < LIVEBLOCKS_WAYS);
    }
}

static void a_childs_blocks_are_its_own(void **state)
{
    struct live_block block = {.address = 0x7770};
    struct live_block held;

    (void)state;
    assert_true(liveblocks_add(&block));
    liveblocks_forget();
    assert_false(liveblocks_remove(address_of(0x7770), &held));
    assert_true(liveblocks_add(&block));
    assert_true(liveblocks_remove(address_of(0x7770), &held));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_found_once),
        cmocka_unit_test(null_is_no_block),
        cmocka_unit_test(a_full_set_takes_no_more),
        cmocka_unit_test(a_childs_blocks_are_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
