/* onecpu.h - this thread on one CPU, for a while
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_MERGE_ONECPU_H
#define CK_TESTS_MERGE_ONECPU_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>

/* On the first of its CPUs. Which it may use without that, for
 * onecpu_end(). */
static inline cpu_set_t onecpu_begin(void)
{
    cpu_set_t before, one;
    int cpu = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    while (!CPU_ISSET(cpu, &before)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    return before;
}

static inline void onecpu_end(cpu_set_t before)
{
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

#endif
