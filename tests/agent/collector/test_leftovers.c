/* test_leftovers.c - what killed agents left, in one line
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/collector/leftovers.h"

static struct leftovers leftovers;
static char line[LEFTOVERS_LINE];

static int setup(void **state)
{
    (void)state;
    memset(&leftovers, 0, sizeof(leftovers));
    return 0;
}

static void add_moved(uint32_t rank, uint64_t records, const char *spool)
{
    struct salvage found = {.records = records, .rank = rank};

    (void)snprintf(found.spool, sizeof(found.spool), "%s", spool);
    leftovers_add("/dev/shm/x.ring", SALVAGE_DONE, &found, &leftovers);
}

static void add_failed(const char *path, const char *why)
{
    struct salvage found = {.records = 0};

    (void)snprintf(found.why, sizeof(found.why), "%s", why);
    leftovers_add(path, SALVAGE_FAILED, &found, &leftovers);
}

static void nothing_is_no_line(void **state)
{
    struct salvage found = {.records = 0};

    (void)state;
    leftovers_add("a", SALVAGE_DONE, &found, &leftovers); /* was empty */
    leftovers_add("b", SALVAGE_LIVES, &found, &leftovers);
    leftovers_line(&leftovers, line);
    assert_string_equal(line, "");
    assert_int_equal(leftovers.failed, 0);
}

static void one_agent_is_named(void **state)
{
    (void)state;
    add_moved(3, 70, "/run/spool-a.ck");
    leftovers_line(&leftovers, line);
    assert_string_equal(line, "70 records that a killed agent of rank 3 left "
                              "are now in /run/spool-a.ck; ckmerge reads "
                              "them, rm removes them");
}

static void many_agents_are_one_line(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        add_moved(~0u, 10, i ? "/run/other" : "/run/first");
    }
    leftovers_line(&leftovers, line);
    assert_string_equal(line, "300 records that 30 killed agents left are now "
                              "in /run/first and 29 more; ckmerge reads "
                              "them, rm removes them");
}

static void one_file_that_stays_is_named(void **state)
{
    (void)state;
    add_failed("/dev/shm/a.ring", "damaged");
    leftovers_line(&leftovers, line);
    assert_string_equal(line, "/dev/shm/a.ring, left by a killed agent, could "
                              "not be recovered: damaged (rm removes it)");
}

static void files_that_stay_share_the_line_of_others(void **state)
{
    (void)state;
    add_failed("/dev/shm/%s.ring", "it has %d");
    add_moved(0, 1, "/run/s");
    add_failed("/dev/shm/b.ring", "other");
    leftovers_line(&leftovers, line);
    assert_string_equal(
        line, "1 records that a killed agent of rank 0 left are now in /run/s; "
              "ckmerge reads them, rm removes them; /dev/shm/%s.ring and 1 "
              "more files, left by killed agents, could not be recovered: it "
              "has %d (rm removes them)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_no_line, setup),
        cmocka_unit_test_setup(one_agent_is_named, setup),
        cmocka_unit_test_setup(many_agents_are_one_line, setup),
        cmocka_unit_test_setup(one_file_that_stays_is_named, setup),
        cmocka_unit_test_setup(files_that_stay_share_the_line_of_others, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
