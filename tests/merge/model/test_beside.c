/* test_beside.c - work is done in a thread where that may be, and done always
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "merge/model/beside.h"
#include "tests/merge/onecpu.h"

/* Which thread did it, and what it lets through. */
struct done {
    int times;
    pthread_t by;
    sigset_t blocked;
};

static void work(void *state)
{
    struct done *done = state;

    done->times++;
    done->by = pthread_self();
    (void)pthread_sigmask(SIG_BLOCK, NULL, &done->blocked);
}

static struct done work_do(bool is_allowed)
{
    struct done done = {0};
    struct beside beside;

    beside_begin(&beside, work, &done, is_allowed);
    beside_end(&beside);
    return done;
}

static void work_is_done_once_by_another_thread(void **state)
{
    struct done done;

    (void)state;
    if (!beside_has_cpu()) {
        skip();
    }
    done = work_do(true);
    assert_int_equal(done.times, 1);
    assert_false(pthread_equal(done.by, pthread_self()));
    assert_true(sigismember(&done.blocked, SIGTERM));
    assert_false(sigismember(&done.blocked, SIGBUS));
}

static void work_that_may_have_no_thread_is_done_at_its_end(void **state)
{
    struct done done = work_do(false);

    (void)state;
    assert_int_equal(done.times, 1);
    assert_true(pthread_equal(done.by, pthread_self()));
}

static void one_cpu_is_no_place_for_a_thread(void **state)
{
    struct done done;
    cpu_set_t before;

    (void)state;
    before = onecpu_begin();
    done = work_do(true);
    onecpu_end(before);
    assert_int_equal(done.times, 1);
    assert_true(pthread_equal(done.by, pthread_self()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_done_once_by_another_thread),
        cmocka_unit_test(work_that_may_have_no_thread_is_done_at_its_end),
        cmocka_unit_test(one_cpu_is_no_place_for_a_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
