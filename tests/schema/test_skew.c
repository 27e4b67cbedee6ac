/* test_skew.c - the text of CK_TEST_CLOCK and what it does
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/clock/domain.h"
#include "schema/skew.h"

#define S CK_TIME_S
#define STEPS_THREE "step=1:1,step=1:1,step=1:1"
/* One more than it takes. */
#define STEPS_NINE STEPS_THREE "," STEPS_THREE "," STEPS_THREE

static ck_time_t shown(const char *text, ck_time_t raw)
{
    struct ck_skew skew;

    assert_int_equal(ck_skew_parse(text, &skew), 0);
    return ck_skew_apply(&skew, raw);
}

static void the_truth_follows_from_the_text(void **state)
{
    static const struct {
        const char *text;
        ck_time_t raw;
        ck_time_t is;
    } cases[] = {
        {"off=0", 77, 77},
        {"off=-500", 1000, 500},
        {"ppm=20", 100 * S, 100 * S + 2000000},
        {"ppm=-0.5,at=1000000000", 3 * S, 3 * S - 1000},
        {"ppm=0.001", 10 * S, 10 * S + 10},
        {"step=2:700", 2 * S - 1, 2 * S - 1},
        {"step=2:700", 2 * S, 2 * S + 700},
        {"step=2.5:700,step=3:-100", 4 * S, 4 * S + 600},
        {"slew=1-3:10", 2 * S, 2 * S + 10000},
        {"slew=1-3:10", 9 * S, 9 * S + 20000},
        {"off=5,ppm=1,step=1:7,at=1000000000", 3 * S, 3 * S + 2012},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(shown(cases[i].text, cases[i].raw), cases[i].is);
    }
}

static void years_of_drift_do_not_overflow(void **state)
{
    ck_time_t years = 10ll * 365 * 86400 * S;

    (void)state;
    assert_int_equal(shown("ppm=100", years), years + years / 10000);
}

static void what_it_is_not_is_refused(void **state)
{
    static const char *const texts[] = {
        "",           "off",         "off=",
        "off=x",      "ppm=1.2345",  "ppm=-1000000",
        "off=1,",     "off=1;ppm=2", "step=1",
        "step=1:",    "step=1:2:3",  "slew=1:2",
        "slew=3-1:5", "foo=1",       "off=1,foo=",
        "off=1.5",    " off=1",      "off=99999999999999999999",
        STEPS_NINE,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct ck_skew skew = {.offset = 4711};

        errno = 0;
        assert_int_equal(ck_skew_parse(texts[i], &skew), -1);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(skew.offset, 4711);
    }
}

/* This program is started again with the variable, see main(). */
static int child_check(void)
{
    struct timespec ts;
    struct ck_domain domain;
    ck_time_t before;
    ck_time_t ahead;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    before = (ck_time_t)ts.tv_sec * S + ts.tv_nsec;
    ahead = ck_time_raw() - before - 3600 * S;
    return ck_domain_read(&domain, NULL) == 0 && ahead >= 0 && ahead < S &&
                   strstr(domain.timens, "/skew-") != NULL
               ? 0
               : 1;
}

static void a_process_with_it_reads_that_clock_and_is_a_domain(void **state)
{
    struct ck_domain own;
    char command[4200];
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    (void)state;
    assert_true(length > 0);
    path[length] = '\0';
    (void)snprintf(command, sizeof(command),
                   "CK_TEST_CLOCK=off=3600000000000 '%s' child", path);
    assert_int_equal(system(command), 0);
    (void)snprintf(command, sizeof(command), "'%s' child", path);
    assert_int_not_equal(system(command), 0);
    assert_int_equal(ck_domain_read(&own, NULL), 0);
    assert_null(strstr(own.timens, "/skew-"));
    assert_true(strlen(own.boot_id) == 36);
    assert_true(ck_domain_equal(&own, &own));
    own.boot_id[0] ^= 1;
    assert_true(ck_domain_hash(&own) != 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_follows_from_the_text),
        cmocka_unit_test(years_of_drift_do_not_overflow),
        cmocka_unit_test(what_it_is_not_is_refused),
        cmocka_unit_test(a_process_with_it_reads_that_clock_and_is_a_domain),
    };

    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        return child_check();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
