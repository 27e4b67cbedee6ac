/* test_owndir.c - what another user may have made is not opened
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/owndir.h"
#include "tests/workdir.h"

#define STRANGER 64321

static char path[2 * WORKDIR_BYTES];

static const char *at(const char *name)
{
    (void)snprintf(path, sizeof(path), "%s/%s", work, name);
    return path;
}

/* The directory `work`, open; its files are asked for by name. */
static int dir_open(void)
{
    int dir = ck_owndir_open(work, NULL);

    assert_true(dir >= 0);
    return dir;
}

static void file_make(const char *name, mode_t mode)
{
    int fd = open(at(name), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

static void is_refused(const char *name)
{
    int dir = dir_open();

    assert_int_equal(ck_owndir_file(dir, name, O_RDWR), -1);
    (void)close(dir);
}

static void a_file_of_this_user_alone_is_opened(void **state)
{
    int dir = dir_open();
    int fd;

    (void)state;
    file_make("own", 0600);
    fd = ck_owndir_file(dir, "own", O_RDWR);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)close(dir);
}

static void one_that_others_may_write_or_read_is_not(void **state)
{
    (void)state;
    file_make("written", 0620);
    file_make("read", 0604);
    is_refused("written");
    assert_int_equal(errno, EPERM);
    is_refused("read");
    assert_int_equal(errno, EPERM);
}

static void nor_one_with_two_names(void **state)
{
    char other[2 * WORKDIR_BYTES];

    (void)state;
    file_make("first", 0600);
    (void)snprintf(other, sizeof(other), "%s/second", work);
    assert_int_equal(link(at("first"), other), 0);
    is_refused("first");
    is_refused("second");
}

static void nor_what_is_no_plain_file(void **state)
{
    (void)state;
    file_make("plain", 0600);
    assert_int_equal(symlink("plain", at("link")), 0);
    assert_int_equal(mkfifo(at("fifo"), 0600), 0);
    assert_int_equal(mkdir(at("dir"), 0700), 0);
    is_refused("link");
    is_refused("fifo");
    is_refused("dir");
}

static void nor_what_another_user_made(void **state)
{
    struct ck_err err;

    (void)state;
    if (geteuid() != 0) {
        print_message("SKIPPED: only root can make files of two users\n");
        skip();
    }
    file_make("theirs", 0600);
    assert_int_equal(chown(at("theirs"), STRANGER, STRANGER), 0);
    is_refused("theirs");
    assert_int_equal(errno, EPERM);
    assert_int_equal(mkdir(at("place"), 0700), 0);
    assert_int_equal(chown(path, STRANGER, STRANGER), 0);
    assert_int_equal(ck_owndir_open(path, &err), -1);
    assert_int_equal(errno, EPERM);
    assert_non_null(strstr(err.text, "belongs to another user"));
    assert_int_equal(ck_owndir_make(path, &err), -1);
    assert_false(ck_owndir_is_mine(path));
}

static void nor_a_directory_that_others_may_enter(void **state)
{
    struct ck_err err;

    (void)state;
    assert_int_equal(mkdir(at("open"), 0700), 0);
    assert_int_equal(chmod(path, 0710), 0);
    assert_int_equal(ck_owndir_open(path, &err), -1);
    assert_int_equal(errno, EPERM);
    assert_non_null(strstr(err.text, "is open to others (mode 0710)"));
}

int main(void)
{
#define CASE(name) WORKDIR_CASE(name, workdir_setup)
    const struct CMUnitTest tests[] = {
        CASE(a_file_of_this_user_alone_is_opened),
        CASE(one_that_others_may_write_or_read_is_not),
        CASE(nor_one_with_two_names),
        CASE(nor_what_is_no_plain_file),
        CASE(nor_what_another_user_made),
        CASE(nor_a_directory_that_others_may_enter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
