/* test_slotpool.c - slots that are kept ready for threads to come
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/ring/slotpool.h"
#include "tests/workdir.h"

static unsigned whole_of(const struct ringfile *ring)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);
    unsigned count = 0;

    for (uint32_t i = 0; i < ring->backed; i++) {
        count += atomic_load(&heads[i].backed) == CK_RING_BACKED_ALL;
    }
    return count;
}

/* The memory of a whole slot takes some ms; others wait to be read. */
static void whole_slots_are_made_one_by_one(void **state)
{
    struct ringfile_wish wish = {
        .dir = work,
        .plan = {.slots = 32, .slot_bytes = 1 << 20},
        .sharers = 1,
        .clock = CK_CLOCK_RAW,
    };
    struct ringfile ring;
    struct slotpool slotpool;
    unsigned before;

    (void)state;
    assert_int_equal(ringfile_create(&ring, &wish, NULL), 0);
    slotpool_init(&slotpool, &ring);
    before = whole_of(&ring);
    for (unsigned turn = 1; turn <= 3; turn++) {
        (void)slotpool_step(&slotpool, 100);
        assert_int_equal(whole_of(&ring), before + turn);
    }
    for (unsigned turn = 0; turn < 32; turn++) {
        (void)slotpool_step(&slotpool, 100);
    }
    assert_int_equal(whole_of(&ring), 8);
    ringfile_unlink(&ring);
    ringfile_fini(&ring);
}

/* What threads are filling is not kept waiting by that. */
static void slots_that_are_filled_are_made_whole_at_once(void **state)
{
    struct ringfile_wish wish = {
        .dir = work,
        .plan = {.slots = 32, .slot_bytes = 1 << 20},
        .sharers = 1,
        .clock = CK_CLOCK_RAW,
    };
    struct ck_ring_slot *heads;
    struct ringfile ring;
    struct slotpool slotpool;
    unsigned before;

    (void)state;
    assert_int_equal(ringfile_create(&ring, &wish, NULL), 0);
    slotpool_init(&slotpool, &ring);
    before = whole_of(&ring);
    heads = ck_ring_heads(ring.header);
    for (uint32_t i = before; i < before + 6; i++) {
        atomic_store(&heads[i].state, CK_SLOT_LIVE);
        atomic_store(&heads[i].head, atomic_load(&heads[i].backed) / 2);
    }
    (void)slotpool_step(&slotpool, 0);
    assert_in_range(whole_of(&ring), before + 6, before + 7);
    ringfile_unlink(&ring);
    ringfile_fini(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORKDIR_CASE(whole_slots_are_made_one_by_one, workdir_setup),
        WORKDIR_CASE(slots_that_are_filled_are_made_whole_at_once,
                     workdir_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
