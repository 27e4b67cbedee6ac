/* test_worker.c - from which worker of torchrun a process comes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A shell plays torchrun, another one its worker, sleeps the worker's children.
 */
#include "agent/process/worker.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 60000
#define VARIABLES "RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 "

extern char **environ;

struct family {
    FILE *said;
    pid_t torchrun;
    int pids[2]; /* as the worker printed them */
};

/* A shell with our ring runs the script, which prints two pids. */
static void family_start(struct family *family, const char *script)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    family->torchrun = fork();
    assert_true(family->torchrun >= 0);
    if (family->torchrun == 0) {
        (void)setpgid(0, 0);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)setenv("CKAGENT_RING", "/a/ring", 1);
        (void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    family->said = fdopen(ends[0], "r");
    assert_non_null(family->said);
    assert_int_equal(
        fscanf(family->said, "%d %d", &family->pids[0], &family->pids[1]), 2);
}

/* A child that is about to be another program has no variables for a moment. */
static void sleep_await(pid_t pid)
{
    char path[32], name[16] = "";

    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    for (int i = 0; i < WAIT_MS && strcmp(name, "sleep\n") != 0; i++) {
        FILE *file = fopen(path, "r");

        assert_non_null(file);
        assert_non_null(fgets(name, sizeof(name), file));
        (void)fclose(file);
        (void)usleep(1000);
    }
    assert_string_equal(name, "sleep\n");
}

static void family_end(struct family *family)
{
    (void)kill(-family->torchrun, SIGKILL);
    (void)fclose(family->said);
    while (wait(NULL) > 0) {
    }
}

static void a_process_comes_from_the_last_one_with_its_rank(void **state)
{
    struct family family;
    struct worker own, child;

    (void)state;
    family_start(&family, VARIABLES "TORCHELASTIC_RESTART_COUNT=0 sh -c '"
                                    "sleep 1000 & echo $$ $!; wait'; :");
    sleep_await(family.pids[1]);
    worker_find(environ, family.pids[0], &own);
    worker_find(environ, family.pids[1], &child);
    assert_int_equal(own.pid, family.pids[0]);
    assert_int_equal(own.parent, family.torchrun);
    assert_true(own.ticks > 0);
    assert_int_equal(child.pid, own.pid);
    assert_int_equal(child.parent, own.parent);
    assert_int_equal(child.ticks, own.ticks);
    family_end(&family);
}

/* It has another parent by now, which torchrun is not. */
static void a_process_that_lost_its_parent_has_no_worker(void **state)
{
    struct family family;
    struct worker worker;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    family_start(&family, VARIABLES "TORCHELASTIC_RESTART_COUNT=0 sh -c '"
                                    "(sleep 1000 & echo $$ $!)'; sleep 1000");
    for (int i = 0; i < WAIT_MS && kill(family.pids[0], 0) == 0; i++) {
        (void)usleep(1000);
    }
    sleep_await(family.pids[1]);
    worker_find(environ, family.pids[1], &worker);
    assert_int_equal(worker.pid, 0);
    family_end(&family);
}

/* A loop of a script over ranks starts none of them again. */
static void without_torchrun_no_process_has_a_worker(void **state)
{
    struct family family;
    struct worker worker;

    (void)state;
    family_start(&family, VARIABLES "sh -c 'sleep 1000 & echo $$ $!; wait'; :");
    worker_find(environ, family.pids[1], &worker);
    assert_int_equal(worker.pid, 0);
    family_end(&family);
}

static void a_process_that_is_gone_has_no_worker(void **state)
{
    struct worker worker = {.pid = 1};
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    worker_find(environ, pid, &worker);
    assert_int_equal(worker.pid, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_comes_from_the_last_one_with_its_rank),
        cmocka_unit_test(a_process_that_lost_its_parent_has_no_worker),
        cmocka_unit_test(without_torchrun_no_process_has_a_worker),
        cmocka_unit_test(a_process_that_is_gone_has_no_worker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
