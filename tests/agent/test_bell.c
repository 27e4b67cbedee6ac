/* test_bell.c - a slot that fills up wakes a collector that sleeps
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/bell.h"

#define MS CK_TIME_MS
#define SLOT_BYTES ((uint64_t)64 << 10)
#define SLOT_UNITS (SLOT_BYTES / CK_UNIT_BYTES)

struct fixture {
    char dir[64];
    struct ringfile file;
    struct bell bell;
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

    strcpy(f->dir, "/tmp/ck-bell-XXXXXX");
    if (mkdtemp(f->dir) == NULL ||
        ringfile_create(&f->file, &wish, &err) != 0) {
        return -1;
    }
    bell_open(&f->bell, &f->file);
    bell_set(&f->bell, true);
    *state = f;
    return setenv(CK_RING_ENV, f->file.path, 1);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ck_ring_writer_fini(&f->writer, &f->ring);
    bell_close(&f->bell);
    ringfile_unlink(&f->file);
    ringfile_fini(&f->file);
    (void)rmdir(f->dir);
    free(f);
    return unsetenv(CK_RING_ENV);
}

static bool rang(struct fixture *f)
{
    struct pollfd item = {.fd = f->bell.fd, .events = POLLIN};

    if (poll(&item, 1, 0) != 1) {
        return false;
    }
    bell_hear(&f->bell, ck_time_raw());
    return true;
}

/* A thread with a slot that has all of its memory. */
static void attach(struct fixture *f)
{
    assert_int_equal(ck_ring_attach(&f->ring, CK_LIBRARY_MPI), 0);
    assert_int_equal(ck_ring_writer_init(&f->writer, &f->ring), 0);
    assert_int_equal(atomic_load(&f->writer.slot->backed), CK_RING_BACKED_ALL);
    (void)rang(f);
}

static int put(struct fixture *f, uint64_t units)
{
    for (uint64_t i = 0; i < units; i++) {
        struct ck_mark *mark = ck_ring_begin(&f->writer, CK_CLOCK_RAW, 1);

        if (mark == NULL) {
            return -1;
        }
        *mark = (struct ck_mark){.e = {CK_KIND_MARK, 1, 0, 0, 1}};
        ck_ring_commit(&f->writer, 1);
    }
    return 0;
}

static void it_rings_at_half_and_at_three_quarters(void **state)
{
    struct fixture *f = *state;

    attach(f);
    assert_int_equal(put(f, SLOT_UNITS / 2), 0);
    assert_false(rang(f));
    assert_int_equal(put(f, 1), 0);
    assert_true(rang(f));
    assert_int_equal(put(f, SLOT_UNITS / 4 - 1), 0);
    assert_false(rang(f));
    assert_int_equal(put(f, 1), 0);
    assert_true(rang(f));
    assert_int_equal(put(f, SLOT_UNITS / 4 - 1), 0);
    assert_false(rang(f));
    assert_int_equal(put(f, 1), -1);
    assert_int_equal(put(f, 1), -1);
    assert_false(rang(f));
}

static void a_slot_that_is_read_in_time_is_silent(void **state)
{
    struct fixture *f = *state;

    attach(f);
    for (uint64_t i = 0; i < 50; i++) {
        assert_int_equal(put(f, SLOT_UNITS / 3), 0);
        atomic_store(&f->writer.slot->tail, atomic_load(&f->writer.slot->head));
    }
    assert_false(rang(f));
    assert_int_equal(put(f, SLOT_UNITS / 2 + 1), 0);
    assert_true(rang(f));
}

static void who_comes_is_seen(void **state)
{
    struct fixture *f = *state;
    struct ck_ring more = {0};

    assert_false(rang(f));
    assert_int_equal(ck_ring_attach(&f->ring, CK_LIBRARY_MPI), 0);
    assert_true(rang(f));
    assert_int_equal(ck_ring_attach(&more, CK_LIBRARY_MPI), 0);
    assert_false(rang(f));
}

static void a_slot_without_all_its_memory_asks_for_it(void **state)
{
    struct fixture *f = *state;
    struct ck_ring_slot *heads = ck_ring_heads(f->file.header);

    for (uint32_t i = 0; i < f->file.header->slots; i++) {
        uint32_t units = SLOT_UNITS / 2;

        if (atomic_load(&heads[i].state) == CK_SLOT_FREE) {
            atomic_store(&heads[i].backed, units);
        }
    }
    assert_int_equal(ck_ring_attach(&f->ring, CK_LIBRARY_MPI), 0);
    assert_true(rang(f));
    assert_int_equal(ck_ring_writer_init(&f->writer, &f->ring), 0);
    assert_true(rang(f));
    assert_int_equal(put(f, SLOT_UNITS / 4), 0);
    assert_false(rang(f));
    assert_int_equal(put(f, 1), 0);
    assert_true(rang(f));
    assert_int_equal(put(f, SLOT_UNITS / 4 - 1), 0);
    assert_int_equal(put(f, 1), -1);
}

static void errno_is_kept_and_a_file_that_is_gone_does_no_harm(void **state)
{
    struct fixture *f = *state;

    attach(f);
    ringfile_unlink(&f->file);
    (void)rang(f); /* of its removal */
    errno = ENOTTY;
    assert_int_equal(put(f, SLOT_UNITS), 0);
    assert_int_equal(errno, ENOTTY);
    assert_false(rang(f));
    assert_int_equal(atomic_load(&f->file.header->bell), CK_BELL_BROKEN);
    bell_set(&f->bell, true);
    assert_int_equal(f->bell.fd, -1);
}

static void without_a_bell_nobody_rings(void **state)
{
    struct fixture *f = *state;
    struct rlimit before;
    struct rlimit none;
    struct bell silent;

    bell_close(&f->bell);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bell_open(&silent, &f->file);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(silent.fd, -1);
    assert_int_equal(bell_fd(&silent, 1000 * MS), -1);
    bell_set(&silent, true);
    assert_int_equal(atomic_load(&f->file.header->bell), CK_BELL_OFF);
}

static void it_is_silent_for_who_looks_soon(void **state)
{
    struct fixture *f = *state;

    attach(f);
    bell_set(&f->bell, false);
    assert_int_equal(put(f, SLOT_UNITS), 0);
    assert_false(rang(f));
}

static void it_is_heard_once_in_a_while(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(bell_fd(&f->bell, 1000 * MS), f->bell.fd);
    bell_hear(&f->bell, 1000 * MS);
    assert_int_equal(bell_fd(&f->bell, 1000 * MS + BELL_PAUSE - 1), -1);
    assert_int_equal(bell_fd(&f->bell, 1000 * MS + BELL_PAUSE), f->bell.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_rings_at_half_and_at_three_quarters,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_slot_that_is_read_in_time_is_silent,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(who_comes_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_slot_without_all_its_memory_asks_for_it, setup, teardown),
        cmocka_unit_test_setup_teardown(
            errno_is_kept_and_a_file_that_is_gone_does_no_harm, setup,
            teardown),
        cmocka_unit_test_setup_teardown(without_a_bell_nobody_rings, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(it_is_silent_for_who_looks_soon, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(it_is_heard_once_in_a_while, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
