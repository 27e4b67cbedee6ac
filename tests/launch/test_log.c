/* test_log.c - log lines on a pipe
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/log.h"

static int ends[2];
static int own_stderr;
static char text[65536];

static int open_pipe(void **state)
{
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    own_stderr = dup(STDERR_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    ck_log_init("cktest", 3, CK_LOG_INFO);
    return 0;
}

static int close_pipe(void **state)
{
    (void)state;
    ck_log_init("cktest", 3, CK_LOG_INFO);
    (void)dup2(own_stderr, STDERR_FILENO);
    (void)close(own_stderr);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return 0;
}

static const char *logged(void)
{
    ssize_t length = read(ends[0], text, sizeof(text) - 1);

    text[length > 0 ? length : 0] = '\0';
    return text;
}

static void a_line_has_program_rank_and_level(void **state)
{
    (void)state;
    ck_warn("spool full, dropped %d events", 1204);
    assert_string_equal(logged(),
                        "cktest[3]: warn: spool full, dropped 1204 events\n");
    ck_log_init("cktest", -1, CK_LOG_INFO);
    ck_info("ready");
    ck_error("no room");
    assert_string_equal(logged(), "cktest: ready\ncktest: error: no room\n");
}

static void a_lower_level_is_silent(void **state)
{
    (void)state;
    ck_debug("not said");
    ck_log_init("cktest", 3, CK_LOG_DEBUG);
    ck_debug("said");
    assert_string_equal(logged(), "cktest[3]: debug: said\n");
}

static void errno_is_kept_and_shown(void **state)
{
    (void)state;
    errno = ENOSPC;
    ck_error("write: %m");
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(logged(),
                        "cktest[3]: error: write: No space left on device\n");
}

static void foreign_control_characters_do_not_make_lines(void **state)
{
    (void)state;
    ck_info("peer says %s", "a\nb\033[2Jc\x7f\302\233m\303\251");
    assert_string_equal(logged(),
                        "cktest[3]: peer says a b?[2Jc???m\303\251\n");
}

static void a_long_line_is_cut(void **state)
{
    static char longer[5000];

    (void)state;
    memset(longer, 'x', sizeof(longer) - 1);
    ck_info("%s", longer);
    logged();
    assert_true(strlen(text) > 500 && strlen(text) <= 1100);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void repeats_of_one_site_are_limited_and_counted(void **state)
{
    const char *at;
    int lines = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        ck_info("again");
    }
    ck_info("another site");
    logged();
    for (at = text; (at = strstr(at, "again\n")) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, 5);
    assert_non_null(strstr(text, "another site\n"));
}

static void a_fact_is_never_left_out(void **state)
{
    int lines = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        ck_log_fact("job %d", i);
    }
    logged();
    for (const char *at = text; (at = strstr(at, "job ")) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, 20);
    ck_log_init("cktest", 3, CK_LOG_WARN);
    ck_log_fact("quiet");
    ck_warn("loud");
    assert_string_equal(logged(), "cktest[3]: warn: loud\n");
}

static void pipe_fill(void)
{
    char piece[4096] = "";

    while (write(ends[1], piece, sizeof(piece)) > 0) {
    }
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
}

static void pipe_empty(void)
{
    while (read(ends[0], text, sizeof(text)) > 0) {
    }
}

static void who_has_patience_does_not_wait_for_a_reader(void **state)
{
    (void)state;
    pipe_fill();
    (void)alarm(60);
    ck_log_patience(10);
    ck_warn("not read");
    ck_log_plain("nor this");
    pipe_empty();
    ck_log_plain("read: %d", 7);
    ck_log_plain("and %d", 8);
    ck_log_patience(-1);
    (void)alarm(0);
    assert_string_equal(
        logged(), "cktest[3]: warn: 2 lines dropped here: stderr was full\n"
                  "read: 7\nand 8\n");
}

static void what_was_dropped_is_counted_at_exit(void **state)
{
    int between[2], status;
    char byte = '.';
    pid_t pid;

    (void)state;
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, between), 0);
    pipe_fill();
    pid = fork();
    if (pid == 0) {
        (void)alarm(60);
        ck_log_patience(10);
        ck_warn("not read");
        exit(write(between[1], &byte, 1) == 1 && read(between[1], &byte, 1) == 1
                 ? 0
                 : 1);
    }
    assert_int_equal(read(between[0], &byte, 1), 1);
    pipe_empty();
    assert_int_equal(write(between[0], &byte, 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(between[0]);
    (void)close(between[1]);
    assert_string_equal(logged(),
                        "cktest[3]: warn: 1 line dropped here: stderr "
                        "was full\n");
}

/* A path may be that long. In a pipe that has room for one page a write of more
 * would wait, or have others' lines within. */
static void a_line_that_no_pipe_takes_at_once_is_two(void **state)
{
    static const char dropped[] =
        "cktest[3]: warn: 1 line dropped here: stderr was full\n";
    static char longer[PIPE_BUF + 1000];
    const char *at = text + strlen(dropped);

    (void)state;
    memset(longer, 'x', sizeof(longer) - 1);
    pipe_fill();
    assert_int_equal(read(ends[0], text, PIPE_BUF), PIPE_BUF);
    (void)alarm(60);
    ck_log_patience(10);
    ck_log_plain("%s", longer);
    pipe_empty();
    ck_log_plain("%s", longer);
    ck_log_patience(-1);
    (void)alarm(0);
    logged();
    assert_memory_equal(text, dropped, strlen(dropped));
    assert_memory_equal(at, longer, PIPE_BUF - 1);
    at += PIPE_BUF - 1;
    assert_memory_equal(at, "\n... ", 5);
    assert_int_equal(strspn(at + 5, "x"), 1000);
    assert_string_equal(at + 5 + 1000, "\n");
}

static void what_was_left_out_is_logged_at_exit(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0) {
        for (int i = 0; i < 12; i++) {
            ck_info("flood %d", i);
        }
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_non_null(strstr(logged(), "7 lines left out that were like: "
                                     "flood 4\n"));
}

/* A format is nothing that a person reads. */
static void what_was_left_out_is_shown_as_it_was_logged(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0) {
        for (int i = 0; i < 8; i++) {
            ck_warn("%s, left by %s: %d %%", "/dev/shm/a", "an agent", i);
        }
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_non_null(strstr(logged(), "3 lines left out that were like: "
                                     "/dev/shm/a, left by an agent: 4 %\n"));
    assert_null(strstr(text, "%s"));
}

static void a_pipe_has_neither_colour_nor_columns(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_false(ck_terminal_has_colour(ends[1]));
    assert_int_equal(ck_terminal_columns(ends[1]), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_has_program_rank_and_level,
                                        open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(a_lower_level_is_silent, open_pipe,
                                        close_pipe),
        cmocka_unit_test_setup_teardown(errno_is_kept_and_shown, open_pipe,
                                        close_pipe),
        cmocka_unit_test_setup_teardown(
            foreign_control_characters_do_not_make_lines, open_pipe,
            close_pipe),
        cmocka_unit_test_setup_teardown(a_long_line_is_cut, open_pipe,
                                        close_pipe),
        cmocka_unit_test_setup_teardown(
            repeats_of_one_site_are_limited_and_counted, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(a_fact_is_never_left_out, open_pipe,
                                        close_pipe),
        cmocka_unit_test_setup_teardown(
            who_has_patience_does_not_wait_for_a_reader, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(what_was_dropped_is_counted_at_exit,
                                        open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(
            a_line_that_no_pipe_takes_at_once_is_two, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(what_was_left_out_is_logged_at_exit,
                                        open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(
            what_was_left_out_is_shown_as_it_was_logged, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(a_pipe_has_neither_colour_nor_columns,
                                        open_pipe, close_pipe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
