/* test_posiximports.c - what a program asks of other libraries
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs of this system, and changed copies of one.
 */
#include "agent/inject/posix/posiximports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define LITTLE "/bin/true"
#define PROGRAM_MOST (256 << 10)
#define CHANGES 50000

static struct {
    char bytes[PROGRAM_MOST];
    size_t length;
    int fd; /* a file in memory */
    char path[32];
} copy;

static int copy_make(void **state)
{
    FILE *file = fopen(LITTLE, "rb");

    (void)state;
    if (file == NULL) {
        return -1;
    }
    copy.length = fread(copy.bytes, 1, sizeof(copy.bytes), file);
    (void)fclose(file);
    copy.fd = memfd_create("program", MFD_CLOEXEC);
    (void)snprintf(copy.path, sizeof(copy.path), "/proc/self/fd/%d", copy.fd);
    return copy.fd < 0 || copy.length == sizeof(copy.bytes) ? -1 : 0;
}

static int copy_drop(void **state)
{
    (void)state;
    return close(copy.fd);
}

static bool imports_little(const char *bytes, size_t length)
{
    assert_int_equal(ftruncate(copy.fd, 0), 0);
    assert_int_equal(pwrite(copy.fd, bytes, length, 0), (ssize_t)length);
    return posix_imports_little(copy.path);
}

static void programs_of_the_system(void **state)
{
    static const char *const others[] = {
        "/bin/cat",     "/bin/sh",        "/bin/sleep",
        "/usr/bin/env", "/usr/bin/nice",  "/bin/bash",
        "/bin/ls",      "/usr/bin/xargs", "/proc/self/exe"};

    (void)state;
    assert_true(posix_imports_little(LITTLE));
    assert_true(posix_imports_little("/usr/bin/printenv"));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (posix_imports_little(others[i])) {
            fail_msg("%s", others[i]);
        }
    }
}

static void what_is_no_program(void **state)
{
    (void)state;
    assert_false(posix_imports_little("/nowhere"));
    assert_false(posix_imports_little("/tmp"));
    assert_false(posix_imports_little("/etc/passwd"));
    assert_false(posix_imports_little("/dev/null"));
}

/* Of a name that it asks for, another is made. */
static void each_name_counts(void **state)
{
    static const char *const names[] = {
        "fork",  "vfork", "execv", "read",   "write", "open64", "poll",
        "dlsym", "popen", "sleep", "system", "clone", "usleep", "thrd_x",
        "fopen", "fread", "ck_x",  "sem_x",  "close", "recv",   "execve"};
    char changed[PROGRAM_MOST];
    char *place;

    (void)state;
    place = memmem(copy.bytes, copy.length, "\0setlocale", 11);
    assert_non_null(place);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        memcpy(changed, copy.bytes, copy.length);
        strcpy(changed + (place - copy.bytes) + 1, names[i]);
        if (imports_little(changed, copy.length)) {
            fail_msg("%s", names[i]);
        }
    }
    memcpy(changed, copy.bytes, copy.length);
    strcpy(changed + (place - copy.bytes) + 1, "fputs");
    assert_true(imports_little(changed, copy.length));
}

static void another_library_counts(void **state)
{
    char changed[PROGRAM_MOST];
    char *place;

    (void)state;
    memcpy(changed, copy.bytes, copy.length);
    place = memmem(changed, copy.length, "libc.so.6", 9);
    assert_non_null(place);
    place[3] = 'm';
    assert_false(imports_little(changed, copy.length));
}

/* Without its end, that is: without its dynamic section, or a part of it. */
static void cut_at_each_byte(void **state)
{
    size_t least = copy.length;

    (void)state;
    for (size_t length = 0; length <= copy.length; length++) {
        if (imports_little(copy.bytes, length)) {
            least = length;
            break;
        }
    }
    assert_true(least > 4096);
}

/* Whatever it holds is read within the file's beginning: for a sanitizer. */
static void changed_at_random(void **state)
{
    char changed[PROGRAM_MOST];
    unsigned little = 0;

    (void)state;
    srandom(1);
    for (unsigned i = 0; i < CHANGES; i++) {
        memcpy(changed, copy.bytes, copy.length);
        for (unsigned k = 0; k < 1 + i % 8; k++) {
            size_t where = i % 2 == 0 ? 4096 : copy.length;

            changed[(size_t)random() % where] = (char)random();
        }
        little += imports_little(changed, copy.length);
    }
    assert_in_range(little, 1, CHANGES - 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_the_system),
        cmocka_unit_test(what_is_no_program),
        cmocka_unit_test(each_name_counts),
        cmocka_unit_test(another_library_counts),
        cmocka_unit_test(cut_at_each_byte),
        cmocka_unit_test(changed_at_random),
    };

    return cmocka_run_group_tests(tests, copy_make, copy_drop);
}
