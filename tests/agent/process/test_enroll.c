/* test_enroll.c - an image is entered by its collector and found by its library
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/enroll.h"
#include "agent/ring/ringfile.h"
#include "tests/workdir.h"

static struct ringfile file;

static int setup(void **state)
{
    struct ringfile_wish wish = {
        .dir = work, .sharers = 1, .clock = CK_CLOCK_RAW, .agent = {7}};
    struct ck_err err;

    return workdir_setup(state) != 0 ||
           ringfile_create(&file, &wish, &err) != 0;
}

static int teardown(void **state)
{
    (void)state;
    ringfile_unlink(&file);
    ringfile_fini(&file);
    return rmdir(work);
}

/* The child records when it gets a byte; its status is its number. */
static pid_t child_start(int to_child[2])
{
    pid_t pid;

    assert_int_equal(pipe(to_child), 0);
    pid = fork();
    if (pid == 0) {
        struct ck_ring ring;
        char go;

        (void)setenv("CKAGENT_RING", file.path, 1);
        if (read(to_child[0], &go, 1) != 1 ||
            ck_ring_attach(&ring, CK_LIBRARY_ANNOTATE) != 0) {
            _exit(0);
        }
        _exit((int)atomic_load(&ring.incarnation));
    }
    assert_true(pid > 0);
    return pid;
}

static void a_library_that_comes_later_finds_the_entry(void **state)
{
    int to_child[2];
    pid_t pid = child_start(to_child);
    int status;
    int rc;

    (void)state;
    rc = enroll(file.header, pid);
    if (rc != 0 && (errno == EPERM || errno == ENOSYS)) {
        assert_int_equal(write(to_child[1], "g", 1), 1);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        print_message("memory of a child may not be read here\n");
        skip();
    }
    assert_int_equal(rc, 0);
    assert_int_equal(atomic_load(&file.header->incarnations), 1);
    assert_int_equal(enroll(file.header, pid), 0); /* once is enough */
    assert_int_equal(write(to_child[1], "g", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_int_equal(atomic_load(&file.header->incarnations), 1);
}

static void a_process_that_is_gone_gets_none(void **state)
{
    uint32_t before = atomic_load(&file.header->incarnations);
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(enroll(file.header, pid), -1);
    assert_int_equal(atomic_load(&file.header->incarnations), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_comes_later_finds_the_entry),
        cmocka_unit_test(a_process_that_is_gone_gets_none),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
