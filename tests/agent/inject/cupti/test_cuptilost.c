/* test_cuptilost.c - losses are exact when a slot is full
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptilost.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/ring/ringfile.h"
#include "tests/workdir.h"

static struct ringfile ring;

static int setup(void **state)
{
    struct ringfile_wish wish = {
        .plan = {.slots = 8, .slot_bytes = 1 << 16},
        .sharers = 1,
        .clock = CK_CLOCK_RAW,
        .agent = {1},
    };

    (void)state;
    assert_int_equal(workdir_make(work), 0);
    wish.dir = work;
    assert_int_equal(ringfile_create(&ring, &wish, NULL), 0);
    (void)setenv("CKAGENT_RING", ring.path, 1);
    inject_load(CK_LIBRARY_CUPTI);
    return inject_writer() == NULL;
}

static int teardown(void **state)
{
    (void)state;
    ringfile_unlink(&ring);
    ringfile_fini(&ring);
    return workdir_remove(work);
}

/* As the collector does. */
static void slot_empty(void)
{
    atomic_store(&inject_thread.slot->tail,
                 atomic_load(&inject_thread.slot->head));
}

static void slot_fill(void)
{
    slot_empty();
    atomic_store(&inject_thread.slot->backed, CK_RING_BACKED_ALL);
    while (ck_ring_has_room(inject_thread.slot, inject_thread.mask, 2)) {
        struct ck_counter *record =
            ck_ring_begin(&inject_thread, inject_ring.clock, 2);

        if (record == NULL) {
            fail();
            return;
        }
        memset(record, 0, sizeof(*record));
        record->e.kind = CK_KIND_MARK;
        record->e.units = 2;
        ck_ring_commit(&inject_thread, 2);
    }
}

/* Records from `at` on, each of two units. */
static const struct ck_counter *record_at(uint64_t at)
{
    return (const void *)(inject_thread.body +
                          (at & inject_thread.mask) * CK_UNIT_BYTES);
}

static void a_loss_is_recorded_at_once_where_there_is_room(void **state)
{
    uint64_t at;

    (void)state;
    slot_empty();
    at = atomic_load(&inject_thread.slot->head);
    lost_tell(CK_LOST_DEVICE, 500, 1000, 3000);
    assert_int_equal(atomic_load(&inject_thread.slot->head), at + 2);
    assert_int_equal(record_at(at)->value, 500);
    assert_true(lost_tell_kept());
}

static void a_full_slot_loses_no_count_and_no_window(void **state)
{
    uint64_t dropped = atomic_load(&inject_thread.slot->dropped);
    uint64_t at;

    (void)state;
    slot_fill();
    lost_tell(CK_LOST_DEVICE, 500, 1000, 3000);
    lost_tell(CK_LOST_DEVICE, 7, 500, 2000);
    lost_tell(CK_LOST_UNDONE, 0, 10, 20);
    assert_false(lost_tell_kept());
    assert_int_equal(atomic_load(&inject_thread.slot->dropped), dropped);
    at = atomic_load(&inject_thread.slot->head);
    slot_empty();
    assert_true(lost_tell_kept());
    assert_int_equal(record_at(at)->reason, CK_LOST_DEVICE);
    assert_int_equal(record_at(at)->value, 507);
    assert_int_equal(record_at(at)->e.start, 500);
    assert_int_equal(record_at(at)->enabled, 2500);
    assert_int_equal(record_at(at + 2)->reason, CK_LOST_UNDONE);
    assert_int_equal(record_at(at + 2)->value, 0);
    assert_int_equal(atomic_load(&inject_thread.slot->head), at + 4);
}

static void at_the_end_the_ring_counts_each_record(void **state)
{
    uint64_t dropped = atomic_load(&inject_thread.slot->dropped);

    (void)state;
    slot_fill();
    lost_tell(CK_LOST_DEVICE, 500, 1000, 3000);
    lost_tell(CK_LOST_DEVICE, 0, 1000, 3000);
    lost_end();
    assert_int_equal(atomic_load(&inject_thread.slot->dropped), dropped + 500);
    slot_empty();
    assert_true(lost_tell_kept());
}

static void *lose(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        lost_tell(CK_LOST_DEVICE, 3, 1000, 2000);
    }
    return unused;
}

static void threads_without_a_slot_lose_none(void **state)
{
    enum { THREADS = 4 };
    uint64_t noslot = atomic_load(&ring.header->noslot);
    pthread_t threads[THREADS];
    int64_t sum = 0;
    uint64_t at;

    (void)state;
    slot_empty();
    at = atomic_load(&inject_thread.slot->head);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, lose, NULL), 0);
    }
    for (int i = 0; i < 100; i++) {
        (void)lost_tell_kept();
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_true(lost_tell_kept());
    for (; at < atomic_load(&inject_thread.slot->head); at += 2) {
        sum += record_at(at)->value;
    }
    assert_int_equal(sum, 1000 * 3 * THREADS);
    assert_int_equal(atomic_load(&ring.header->noslot), noslot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loss_is_recorded_at_once_where_there_is_room),
        cmocka_unit_test(a_full_slot_loses_no_count_and_no_window),
        cmocka_unit_test(at_the_end_the_ring_counts_each_record),
        cmocka_unit_test(threads_without_a_slot_lose_none),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
