/* test_child.c - start programs, find our own files
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/child.h"
#include "tests/emulator.h"

#define LARGE_BYTES ((size_t)16 << 20)
#define PAGE_BYTES 4096

static pid_t start_shell(char *script, const int fds[3], int is_detached)
{
    char sh[] = "sh";
    char c[] = "-c";
    char *argv[] = {sh, c, script, NULL};
    struct ck_child child = {
        .path = "sh",
        .argv = argv,
        .fds = {fds[0], fds[1], fds[2]},
        .is_detached = is_detached,
    };
    struct ck_err err;
    pid_t pid = -1;

    assert_int_equal(ck_child_start(&child, &pid, &err), 0);
    return pid;
}

static const int keep_all[3] = {-2, -2, -2};

static void the_status_of_the_child_comes_back(void **state)
{
    char script[] = "exit 7";
    int status = 0;
    pid_t pid = start_shell(script, keep_all, 0);

    (void)state;
    assert_int_equal(ck_child_wait(pid, -1, &status), 1);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

static void the_error_of_exec_comes_back(void **state)
{
    static const struct {
        const char *path;
        int failure;
    } cases[] = {
        {"/nowhere/program", ENOENT},
        {"no-such-program-in-path", ENOENT},
        {"/etc/passwd", EACCES},
        {"/tmp", EACCES},
    };
    char name[] = "x";
    char *argv[] = {name, NULL};
    struct ck_err err;
    pid_t pid = 123;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ck_child child = {
            .path = cases[i].path, .argv = argv, .fds = {-2, -2, -2}};

        assert_int_equal(ck_child_start(&child, &pid, &err), -1);
        assert_int_equal(errno, cases[i].failure);
        assert_non_null(strstr(err.text, cases[i].path));
        assert_non_null(strstr(err.text, strerror(cases[i].failure)));
        assert_int_equal(pid, 123);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

static void an_exec_error_without_a_waiter_is_a_status(void **state)
{
    static const struct {
        const char *path;
        int status;
    } cases[] = {
        {"/nowhere/program", 127},
        {"/etc/passwd", 126},
        {"true", 0},
    };
    char name[] = "x";
    char *argv[] = {name, NULL};
    struct ck_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ck_child child = {.path = cases[i].path,
                                 .argv = argv,
                                 .fds = {-2, -2, -2},
                                 .is_unawaited = 1};
        int status = -1;
        pid_t pid = -1;

        assert_int_equal(ck_child_start(&child, &pid, &err), 0);
        assert_int_equal(ck_child_wait(pid, -1, &status), 1);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), cases[i].status);
    }
}

static void the_three_descriptors_may_be_swapped(void **state)
{
    char script[] = "echo out; echo err >&2; cat";
    int ends[2];
    int wait_status = 0;
    char text[64] = "";
    char errors[64] = "";
    int saved[2] = {dup(1), dup(2)};
    FILE *file = tmpfile();
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(dup2(ends[1], 1) == 1 && dup2(fileno(file), 2) == 2);
    pid = start_shell(script, (int[]){-1, 2, 1}, 0);
    assert_true(dup2(saved[0], 1) == 1 && dup2(saved[1], 2) == 2);
    close(saved[0]);
    close(saved[1]);
    close(ends[1]);
    assert_int_equal(ck_child_wait(pid, -1, &wait_status), 1);
    assert_int_equal(wait_status, 0);
    assert_true(read(ends[0], errors, sizeof(errors) - 1) > 0);
    rewind(file);
    assert_non_null(fgets(text, sizeof(text), file));
    assert_string_equal(text, "out\n");
    assert_string_equal(errors, "err\n");
    close(ends[0]);
    fclose(file);
}

static void a_time_limit_leaves_the_child_running(void **state)
{
    char script[] = "read line";
    int ends[2];
    int status = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = start_shell(script, (int[]){ends[0], -1, -1}, 0);
    close(ends[0]);
    assert_int_equal(ck_child_wait(pid, 20000000, &status), 0);
    close(ends[1]);
    assert_int_equal(ck_child_wait(pid, 20000000000, &status), 1);
    assert_true(WIFEXITED(status));
    assert_int_equal(ck_child_wait(pid, 0, &status), -1);
    assert_int_equal(errno, ECHILD);
}

/* The end of a pipe that it alone has open shows that it is gone. */
static void a_tied_child_ends_with_the_process_that_started_it(void **state)
{
    char script[] = "while :; do sleep 1; done";
    char sh[] = "sh", c[] = "-c";
    char *argv[] = {sh, c, script, NULL};
    char byte;
    int ends[2];
    pid_t parent;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    parent = fork();
    if (parent == 0) {
        struct ck_child child = {
            .path = "sh", .argv = argv, .fds = {-1, ends[1], -1}, .is_tied = 1};
        pid_t pid;

        _exit(ck_child_start(&child, &pid, NULL) == 0 ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
}

static void a_detached_child_leads_its_own_group(void **state)
{
    char script[] = "read line";
    int ends[2];
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = start_shell(script, (int[]){ends[0], -1, -1}, 1);
    assert_int_equal(getpgid(pid), pid);
    assert_int_equal(getsid(pid), getsid(0));
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(ck_child_wait(pid, -1, &status), 1);
}

static void signals_are_as_this_process_got_them(void **state)
{
    char script[] = "grep -q 'SigBlk:.0*$' /proc/self/status && "
                    "grep -q 'SigIgn:.*[02468ace]...$' /proc/self/status";
    sigset_t all;
    sigset_t before;
    int status = 0;
    pid_t pid;

    (void)state;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    signal(SIGPIPE, SIG_IGN);
    pid = start_shell(script, keep_all, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    assert_int_equal(ck_child_wait(pid, -1, &status), 1);
    assert_int_equal(status, 0);
}

static long faults(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

static void a_child_takes_no_page_of_a_large_process(void **state)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"read none", NULL};
    uint8_t *memory = malloc(LARGE_BYTES);
    int ends[2];
    struct ck_child child = {
        .path = "/bin/sh", .argv = argv, .fds = {-1, -2, -2}};
    struct ck_err err;
    int status;
    long before;
    pid_t pid;

    (void)state;
    EMULATOR_SKIP("its fork() is no vfork()");
    assert_non_null(memory);
    memset(memory, 1, LARGE_BYTES);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child.fds[0] = ends[0];
    before = faults();
    assert_int_equal(ck_child_start(&child, &pid, &err), 0);
    for (size_t i = 0; i < LARGE_BYTES; i += PAGE_BYTES) {
        ((volatile uint8_t *)memory)[i] = 2;
    }
    assert_true(faults() - before < (long)(LARGE_BYTES / PAGE_BYTES / 8));
    (void)close(ends[1]);
    assert_int_equal(ck_child_wait(pid, -1, &status), 1);
    (void)close(ends[0]);
    free(memory);
}

/* This program runs from <build>/tests; a copy of a tree beside it takes the
 * place of an installation. */
static void our_files_are_found_beside_us(void **state)
{
    char path[PATH_MAX] = "untouched";
    struct ck_err err;

    (void)state;
    assert_int_equal(ck_child_find("test_launch_child", path, &err), 0);
    assert_non_null(strstr(path, "/test_launch_child"));
    strcpy(path, "untouched");
    assert_int_equal(ck_child_find("cknobody", path, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(path, "untouched");
    assert_non_null(strstr(err.text, "cknobody is not in /"));
    assert_int_equal(ck_child_find("libcknobody.so", path, &err), -1);
    assert_non_null(strstr(err.text, "/lib/ck"));
}

/* Run as `PROGRAM --find NAME`: prints the result of ck_child_find(). */
static int print_found(const char *name)
{
    char path[PATH_MAX];
    struct ck_err err;

    if (ck_child_find(name, path, &err) != 0) {
        puts(err.text);
        return 1;
    }
    puts(path);
    return 0;
}

static void an_installed_program_finds_its_libraries(void **state)
{
    char dir[] = "/tmp/ck-test-child-XXXXXX";
    char script[2 * PATH_MAX];
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    FILE *out;
    char line[PATH_MAX] = "";

    (void)state;
    assert_true(length > 0);
    self[length] = '\0';
    assert_non_null(mkdtemp(dir));
    snprintf(script, sizeof(script),
             "cd %s && mkdir -p bin %s/ck && cp %s bin/ckx && "
             "touch %s/ck/libckmpi.so && bin/ckx --find libckmpi.so",
             dir, "bin/" CK_TEST_LIBDIR_FROM_BIN, self,
             "bin/" CK_TEST_LIBDIR_FROM_BIN);
    out = popen(script, "r");
    assert_non_null(out);
    assert_non_null(fgets(line, sizeof(line), out));
    assert_int_equal(pclose(out), 0);
    assert_memory_equal(line, dir, strlen(dir));
    assert_non_null(strstr(line, "/ck/libckmpi.so\n"));
    assert_null(strstr(line, ".."));
    snprintf(script, sizeof(script), "rm -r %s", dir);
    assert_int_equal(system(script), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_of_the_child_comes_back),
        cmocka_unit_test(the_error_of_exec_comes_back),
        cmocka_unit_test(an_exec_error_without_a_waiter_is_a_status),
        cmocka_unit_test(the_three_descriptors_may_be_swapped),
        cmocka_unit_test(a_time_limit_leaves_the_child_running),
        cmocka_unit_test(a_tied_child_ends_with_the_process_that_started_it),
        cmocka_unit_test(a_detached_child_leads_its_own_group),
        cmocka_unit_test(signals_are_as_this_process_got_them),
        cmocka_unit_test(a_child_takes_no_page_of_a_large_process),
        cmocka_unit_test(our_files_are_found_beside_us),
        cmocka_unit_test(an_installed_program_finds_its_libraries),
    };

    if (argc == 3 && strcmp(argv[1], "--find") == 0) {
        return print_found(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
