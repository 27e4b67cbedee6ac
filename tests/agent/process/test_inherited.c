/* test_inherited.c - what the program gets back of what ckagent changed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/inherited.h"
#include "tests/workdir.h"

static mode_t mode_of_new(const char *name)
{
    char path[128];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/%s", work, name);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

/* A directory without rights would refuse each later run of the user. */
static void a_mask_of_modes_takes_nothing_from_the_owner(void **state)
{
    mode_t before = umask(0737);

    (void)state;
    inherited_take();
    assert_int_equal(mode_of_new("ours"), 0700);
    inherited_restore();
    assert_int_equal(mode_of_new("theirs"), 0);
    assert_int_equal(umask(before), 0737);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORKDIR_CASE(a_mask_of_modes_takes_nothing_from_the_owner,
                     workdir_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
