/* test_callsite.c - a stack is whole when more addresses are known than kept
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/callsite.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "agent/ehframe/ehframe.h"

static uint64_t frames[CALL_FRAMES_MAX];
static volatile size_t depth;

static __attribute__((noinline)) void leaf(void)
{
    depth = call_stack_take((uint64_t)(uintptr_t)__builtin_return_address(0),
                            frames, CALL_FRAMES_MAX);
}

/* Four times as many places of calls as are kept. */
#define TIMES_8(call) call call call call call call call call
#define TIMES_64(call) TIMES_8(TIMES_8(call))
#define TIMES_512(call) TIMES_8(TIMES_64(call))
#define TIMES_4096(call) TIMES_8(TIMES_512(call))
_Static_assert(CALL_SITES_MAX <= 4096, "more places than that");

static __attribute__((noinline)) void many(void)
{
    TIMES_4096(leaf();)
    TIMES_4096(leaf();)
    TIMES_4096(leaf();)
    TIMES_4096(leaf();)
    depth += 0;
}

static __attribute__((noinline)) void one(void)
{
    leaf();
    depth += 0; /* a call that is the last thing done leaves no frame */
}

static void a_full_table_cuts_no_stack(void **state)
{
    size_t before;

    (void)state;
    if (!EHFRAME_IS_READ) {
        skip();
    }
    call_site_load();
    one();
    before = depth;
    assert_true(before >= 3);
    many();
    assert_int_equal(depth, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_table_cuts_no_stack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
