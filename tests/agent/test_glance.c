/* test_glance.c - what makes a collector work before its time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/clock/clocksync.h"
#include "agent/collector/drain.h"
#include "tests/workdir.h"

#define SLOT_BYTES ((uint64_t)64 << 10)
#define SLOT_UNITS (SLOT_BYTES / CK_UNIT_BYTES)

struct fixture {
    char dir[WORKDIR_BYTES];
    struct ringfile file;
    struct clocksync sync;
    struct drain *drain;
    struct ck_ring ring;
    struct ck_ring_writer writer;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct ringfile_wish wish = {
        .dir = f->dir,
        .plan = {.slots = 8,
                 .slot_bytes = SLOT_BYTES,
                 .outbox_bytes = 64 << 10},
        .clock = CK_CLOCK_RAW,
    };
    struct ck_err err;

    if (workdir_make(f->dir) != 0 ||
        ringfile_create(&f->file, &wish, &err) != 0) {
        return -1;
    }
    f->drain = drain_create(&f->file, NULL, NULL, &f->sync, 0);
    *state = f;
    return f->drain != NULL ? setenv(CK_RING_ENV, f->file.path, 1) : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ck_ring_writer_fini(&f->writer, &f->ring);
    drain_destroy(f->drain);
    ringfile_unlink(&f->file);
    ringfile_fini(&f->file);
    (void)workdir_remove(f->dir);
    free(f);
    return unsetenv(CK_RING_ENV);
}

/* A turn that finds all slots empty. */
static void turn(struct fixture *f)
{
    if (f->writer.slot != NULL) {
        atomic_store(&f->writer.slot->tail, atomic_load(&f->writer.slot->head));
    }
    (void)drain_step(f->drain, ck_time_raw(), false);
    assert_false(drain_glance(f->drain));
}

static void put(struct fixture *f, uint64_t units)
{
    for (uint64_t i = 0; i < units; i++) {
        struct ck_mark *mark = ck_ring_begin(&f->writer, CK_CLOCK_RAW, 1);

        assert_non_null(mark);
        *mark = (struct ck_mark){.e = {CK_KIND_MARK, 1, 0, 0, 1}};
        ck_ring_commit(&f->writer, 1);
    }
}

static void who_comes_is_seen(void **state)
{
    struct fixture *f = *state;

    turn(f);
    assert_int_equal(ck_ring_attach(&f->ring, CK_LIBRARY_MPI), 0);
    assert_true(drain_glance(f->drain)); /* an image */
    turn(f);
    assert_int_equal(ck_ring_writer_init(&f->writer, &f->ring), 0);
    assert_true(drain_glance(f->drain)); /* a thread */
    turn(f);
}

static void an_eighth_of_a_slot_is_seen(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ck_ring_attach(&f->ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&f->writer, &f->ring), 0);
    assert_int_equal(atomic_load(&f->writer.slot->backed), CK_RING_BACKED_ALL);
    turn(f);
    for (int lap = 0; lap < 3; lap++) {
        put(f, SLOT_UNITS / 8 - 1);
        assert_false(drain_glance(f->drain));
        put(f, 1);
        assert_true(drain_glance(f->drain));
        turn(f);
    }
}

static void a_slot_is_seen_at_an_eighth_of_its_memory(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ck_ring_attach(&f->ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&f->writer, &f->ring), 0);
    turn(f);
    atomic_store(&f->writer.slot->backed, SLOT_UNITS / 4);
    put(f, SLOT_UNITS / 4 / 8 - 1);
    assert_false(drain_glance(f->drain));
    put(f, 1);
    assert_true(drain_glance(f->drain));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_comes_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(an_eighth_of_a_slot_is_seen, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_slot_is_seen_at_an_eighth_of_its_memory, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
