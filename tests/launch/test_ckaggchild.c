/* test_ckaggchild.c - the ready line of ckagg
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "launch/ckaggchild.h"

static char sh[] = "/bin/sh";
static char c[] = "-c";

static int start(char *script, struct ckaggchild *service, struct ck_err *err)
{
    char *argv[] = {sh, c, script, NULL};

    return ckaggchild_start(service, argv, err);
}

static void the_ready_line_is_taken_apart(void **state)
{
    char line[] = "ckagg ready tcp://a:1,tcp://b:1 curve=xy token=0a run=/r d";
    char *endpoint;
    char *dir;

    (void)state;
    assert_int_equal(ckaggchild_read_line(line, &endpoint, &dir), 0);
    assert_string_equal(endpoint, "tcp://a:1,tcp://b:1 curve=xy token=0a");
    assert_string_equal(dir, "/r d");
}

static void another_line_is_refused(void **state)
{
    static const char *const lines[] = {"",
                                        "ready",
                                        "ckagg ready",
                                        "ckagg ready  run=/d",
                                        "ckagg ready tcp://a",
                                        "ckagg ready tcp://a run="};
    char line[64];
    char *endpoint;
    char *dir;

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        strcpy(line, lines[i]);
        assert_int_equal(ckaggchild_read_line(line, &endpoint, &dir), -1);
    }
}

static void a_service_is_ended_by_sigterm(void **state)
{
    char script[] = "trap 'exit 9' TERM; echo ckagg ready ipc://x run=/d; "
                    "while :; do sleep 0.01; done";
    struct ckaggchild service;
    struct ck_err err;
    int status;

    (void)state;
    assert_int_equal(start(script, &service, &err), 0);
    assert_string_equal(service.endpoint, "ipc://x");
    assert_string_equal(service.dir, "/d");
    status = ckaggchild_stop(&service, 0, 10000000000);
    assert_int_equal(WEXITSTATUS(status), 9);
}

static void a_service_that_ends_by_itself_is_not_disturbed(void **state)
{
    char script[] = "trap 'exit 9' TERM; echo ckagg ready ipc://x run=/d; "
                    "sleep 0.05; exit 4";
    struct ckaggchild service;
    struct ck_err err;
    int status;

    (void)state;
    assert_int_equal(start(script, &service, &err), 0);
    status = ckaggchild_stop(&service, 10000000000, 0);
    assert_int_equal(WEXITSTATUS(status), 4);
}

static void where_the_job_is_shown_comes_before(void **state)
{
    char shown[] = "echo ckagg pages http://127.0.0.1:1/ab/; "
                   "echo ckagg ready ipc://x run=/d";
    char refused[] = "echo ckagg nopages port in use; "
                     "echo ckagg ready ipc://x run=/d";
    struct ckaggchild service;
    struct ck_err err;

    (void)state;
    assert_int_equal(start(shown, &service, &err), 0);
    assert_string_equal(service.pages, "http://127.0.0.1:1/ab/");
    assert_null(service.nopages);
    assert_string_equal(service.endpoint, "ipc://x");
    (void)ckaggchild_stop(&service, 10000000000, 0);
    assert_int_equal(start(refused, &service, &err), 0);
    assert_null(service.pages);
    assert_string_equal(service.nopages, "port in use");
    (void)ckaggchild_stop(&service, 10000000000, 0);
}

static void an_early_end_is_an_error(void **state)
{
    char silent[] = "exit 1";
    char foreign[] = "echo hello; cat";
    struct ckaggchild service;
    struct ck_err err;

    (void)state;
    assert_int_equal(start(silent, &service, &err), -1);
    assert_non_null(strstr(err.text, "ended before it was ready"));
    assert_int_equal(start(foreign, &service, &err), -1);
    assert_string_equal(err.text, "not a ready line of ckagg: hello");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ready_line_is_taken_apart),
        cmocka_unit_test(another_line_is_refused),
        cmocka_unit_test(a_service_is_ended_by_sigterm),
        cmocka_unit_test(a_service_that_ends_by_itself_is_not_disturbed),
        cmocka_unit_test(where_the_job_is_shown_comes_before),
        cmocka_unit_test(an_early_end_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
