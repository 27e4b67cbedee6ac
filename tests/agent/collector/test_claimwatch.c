/* test_claimwatch.c - who gets a slot wakes a collector that dozes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/collector/claimwatch.h"
#include "agent/ring/ringfile.h"
#include "tests/workdir.h"

#define SOON_MS 10000 /* on a busy machine */

struct fixture {
    char dir[WORKDIR_BYTES];
    struct ringfile file;
    struct claimwatch *watch;
    struct ck_ring ring;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct ringfile_wish wish = {
        .dir = f->dir,
        .plan = {.slots = 8, .slot_bytes = 64 << 10, .outbox_bytes = 64 << 10},
        .clock = CK_CLOCK_RAW,
    };
    struct ck_err err;

    if (workdir_make(f->dir) != 0 ||
        ringfile_create(&f->file, &wish, &err) != 0) {
        return -1;
    }
    atomic_store(&f->file.header->doze, 1); /* of a collector that was killed */
    f->watch = claimwatch_create(f->file.header);
    *state = f;
    return f->watch != NULL ? setenv(CK_RING_ENV, f->file.path, 1) : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    claimwatch_destroy(f->watch);
    ringfile_unlink(&f->file);
    ringfile_fini(&f->file);
    (void)workdir_remove(f->dir);
    free(f);
    return unsetenv(CK_RING_ENV);
}

static bool is_woken(const struct fixture *f, int wait_ms)
{
    struct pollfd item = {.fd = claimwatch_fd(f->watch), .events = POLLIN};

    return poll(&item, 1, wait_ms) == 1;
}

static void wait_for_wake(struct fixture *f)
{
    assert_true(is_woken(f, SOON_MS));
    claimwatch_rise(f->watch);
    assert_false(claimwatch_is_dozing(f->watch));
    assert_int_equal(atomic_load(&f->file.header->doze), 0);
    assert_false(is_woken(f, 0));
}

/* A thread of the program, with a slot for itself. */
static void *claim(void *given)
{
    struct fixture *f = given;
    struct ck_ring_writer writer = {.slot = NULL};

    if (ck_ring_writer_init(&writer, &f->ring) != 0) {
        return NULL;
    }
    ck_ring_writer_fini(&writer, &f->ring);
    return f;
}

static void who_enters_wakes(void **state)
{
    struct fixture *f = *state;

    assert_true(claimwatch_doze(f->watch));
    assert_int_equal(ck_ring_attach(&f->ring, CK_LIBRARY_POSIX), 0);
    wait_for_wake(f);
}

static void each_thread_wakes_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(ck_ring_attach(&f->ring, CK_LIBRARY_POSIX), 0);
    assert_false(is_woken(f, 0)); /* no doze yet */
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        void *done;

        assert_true(claimwatch_doze(f->watch));
        assert_false(claimwatch_doze(f->watch)); /* it does already */
        assert_true(claimwatch_is_dozing(f->watch));
        assert_int_equal(pthread_create(&thread, NULL, claim, f), 0);
        wait_for_wake(f);
        assert_int_equal(pthread_join(thread, &done), 0);
        assert_non_null(done);
    }
}

static void the_word_may_hold_anything(void **state)
{
    static const uint32_t words[] = {0, 2, UINT32_MAX};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_true(claimwatch_doze(f->watch));
        atomic_store(&f->file.header->doze, words[i]);
        atomic_store(&f->file.header->doze, 1);
        ck_ring_wake(f->file.header);
        wait_for_wake(f);
        assert_false(is_woken(f, 20));
    }
}

static void a_doze_may_be_the_last_thing(void **state)
{
    struct fixture *f = *state;

    assert_true(claimwatch_doze(f->watch)); /* destroyed by teardown */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_enters_wakes, setup, teardown),
        cmocka_unit_test_setup_teardown(each_thread_wakes_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_word_may_hold_anything, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_doze_may_be_the_last_thing, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
