/* test_stacknumber.c - numbers of stacks, where there is no room for more
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/stacknumber.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/agent/inject/injectring.h"

static int setup(void **state)
{
    (void)state;
    return injectring_make(CK_LIBRARY_MEMORY, CK_CLOCK_RAW);
}

static int teardown(void **state)
{
    (void)state;
    return injectring_remove();
}

/* A stack of its own: no frame has such an address. */
static uint32_t number_of(uint64_t site)
{
    return stack_number_find((const void *)(uintptr_t)site, site);
}

static void a_stack_is_recorded_once(void **state)
{
    uint32_t number;

    (void)state;
    injectring_empty();
    number = number_of(0x11);
    assert_int_equal(number, CK_RING_STACKS_BEFORE + 1);
    assert_int_equal(number_of(0x11), number);
    assert_int_equal(number_of(0x12), number + 1);
    assert_int_equal(injectring_count(CK_KIND_STACK), 2);
}

static void a_full_slot_takes_no_number(void **state)
{
    uint32_t before = atomic_load(&inject_ring.header->stacks);
    uint64_t dropped = atomic_load(&inject_thread.slot->dropped);

    (void)state;
    injectring_fill();
    for (int i = 0; i < 100; i++) {
        assert_int_equal(number_of(0x21), 0);
    }
    assert_int_equal(atomic_load(&inject_ring.header->stacks), before);
    assert_int_equal(atomic_load(&inject_thread.slot->dropped), dropped + 100);
    injectring_empty();
    assert_int_equal(number_of(0x21), CK_RING_STACKS_BEFORE + before + 1);
}

static void where_no_number_is_left_it_is_noted_once(void **state)
{
    (void)state;
    injectring_empty();
    atomic_store(&inject_ring.header->stacks, CK_RING_STACKS_MAX - 1);
    assert_int_equal(number_of(0x31),
                     CK_RING_STACKS_BEFORE + CK_RING_STACKS_MAX);
    assert_int_equal(injectring_count(CK_KIND_NOTE), 0);
    assert_int_equal(number_of(0x32), 0);
    assert_int_equal(number_of(0x33), 0);
    assert_int_equal(atomic_load(&inject_ring.header->stacks),
                     CK_RING_STACKS_MAX);
    assert_int_equal(injectring_count(CK_KIND_NOTE), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_is_recorded_once),
        cmocka_unit_test(a_full_slot_takes_no_number),
        cmocka_unit_test(where_no_number_is_left_it_is_noted_once),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
