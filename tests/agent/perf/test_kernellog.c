/* test_kernellog.c - faults in lines of the kernel's log
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/perf/kernellog.h"

static const char line[] =
    "6,373,2551597910,-;a : b[25661]: segfault at 1234 ip 0000559790b24139 sp "
    "00007ffe1363f5b0 error 4 in segv[1139,559790b24000+1000] likely on CPU 1";

static void a_fault_has_address_instruction_and_stack(void **state)
{
    struct kernellog_fault fault;

    (void)state;
    assert_true(kernellog_parse(line, &fault));
    assert_int_equal(fault.address, 0x1234);
    assert_int_equal(fault.pc, 0x559790b24139);
    assert_int_equal(fault.sp, 0x7ffe1363f5b0);
}

static void other_lines_are_none(void **state)
{
    struct kernellog_fault fault;

    (void)state;
    assert_false(kernellog_parse("", &fault));
    assert_false(kernellog_parse("6,1,2,-;x[1]: segfault at", &fault));
    assert_false(kernellog_parse(
        "6,1,2,-;traps: die[1] trap divide error ip:1 sp:2 error:0", &fault));
}

static void a_line_cut_at_any_byte_is_no_fault_of_ours(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof(line); cut++) {
        struct kernellog_fault fault;
        char part[sizeof(line)];

        memcpy(part, line, cut);
        part[cut] = '\0';
        assert_true(!kernellog_parse(part, &fault) ||
                    (fault.address == 0x1234 && fault.pc == 0x559790b24139));
    }
}

static void a_log_that_may_not_be_read_has_none(void **state)
{
    struct kernellog_fault fault = {.pc = 1, .sp = 2};

    (void)state;
    assert_false(kernellog_find(-1, &fault));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_has_address_instruction_and_stack),
        cmocka_unit_test(other_lines_are_none),
        cmocka_unit_test(a_line_cut_at_any_byte_is_no_fault_of_ours),
        cmocka_unit_test(a_log_that_may_not_be_read_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
