/* test_ringplan.c - sizes of rings, from much memory to too little
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/ring/ringplan.h"
#include "schema/ring/ring.h"

#define MIB ((uint64_t)1 << 20)

static uint64_t plan_bytes(const struct ringplan *plan)
{
    return CK_RING_HEADS_OFFSET + plan->slots * sizeof(struct ck_ring_slot) +
           plan->outbox_bytes + ringplan_bodies(plan);
}

static void a_large_file_system_gives_the_defaults(void **state)
{
    struct ringplan wish = {.slots = 0};
    struct ringplan plan;

    (void)state;
    assert_int_equal(ringplan_make(&plan, 65536 * MIB, 65536 * MIB, 4, &wish),
                     0);
    assert_int_equal(plan.slot_bytes, CK_RING_SLOT_BYTES);
    assert_int_equal(plan.outbox_bytes, CK_RING_OUTBOX_BYTES);
    assert_true(plan.slots >= 256);
}

static void any_number_of_sharers_fits_in_64_mib_together(void **state)
{
    struct ringplan wish = {.slots = 0};

    (void)state;
    for (unsigned sharers = 1; sharers <= 64; sharers++) {
        struct ringplan plan;

        assert_int_equal(
            ringplan_make(&plan, 64 * MIB, 64 * MIB, sharers, &wish), 0);
        assert_true(plan_bytes(&plan) * sharers <= 64 * MIB);
        assert_true(plan.slots >= 4);
        assert_true(sharers > 4 || plan.slots >= 68);
        assert_true(sharers > 16 || plan.slots >= 32);
        assert_true(plan.slot_bytes >= CK_TEXT_BYTES_MAX + CK_UNIT_BYTES);
        assert_int_equal(plan.slot_bytes & (plan.slot_bytes - 1), 0);
    }
}

/* A body that cannot be given whole would never begin its second lap. */
static void every_slot_of_a_plan_can_be_given_whole(void **state)
{
    static const uint64_t slot_bytes[] = {0, 64 << 10, 4 * MIB, 16 * MIB};

    (void)state;
    for (uint64_t free_bytes = 1 * MIB; free_bytes <= 4096 * MIB;
         free_bytes += free_bytes / 3) {
        for (size_t i = 0; i < sizeof(slot_bytes) / sizeof(slot_bytes[0]);
             i++) {
            struct ringplan wish = {.slot_bytes = slot_bytes[i]};
            struct ringplan plan;

            assert_int_equal(
                ringplan_make(&plan, free_bytes, free_bytes, 1, &wish), 0);
            assert_true(plan_bytes(&plan) <= free_bytes / 4 * 3);
            assert_true(plan.slots >= 4);
            assert_true(slot_bytes[i] == 0 || plan.slot_bytes <= slot_bytes[i]);
        }
    }
}

static void too_little_memory_is_refused(void **state)
{
    struct ringplan wish = {.slots = 0};
    struct ringplan plan = {.slots = 9};

    (void)state;
    assert_int_equal(ringplan_make(&plan, 64 * MIB, 100 << 10, 1, &wish), -1);
    assert_int_equal(plan.slots, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_file_system_gives_the_defaults),
        cmocka_unit_test(any_number_of_sharers_fits_in_64_mib_together),
        cmocka_unit_test(every_slot_of_a_plan_can_be_given_whole),
        cmocka_unit_test(too_little_memory_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
