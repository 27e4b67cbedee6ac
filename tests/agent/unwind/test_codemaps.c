/* test_codemaps.c - which code is where
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/unwind/codemaps.h"

/* Of no process that runs. */
#define PID 0x3ffffff1
#define CHILD 0x3ffffff2

static struct codemaps *codemaps;

static int setup(void **state)
{
    (void)state;
    codemaps = codemaps_create();
    codemaps_begin(codemaps, PID);
    return codemaps == NULL;
}

static int teardown(void **state)
{
    (void)state;
    codemaps_destroy(codemaps);
    return 0;
}

static void put(uint64_t start, uint64_t end, const char *path)
{
    codemaps_mapped(
        codemaps, PID,
        &(struct mapping){
            .start = start, .end = end, .path = path, .is_code = true});
}

static uint32_t number_at(pid_t pid, uint64_t address)
{
    struct code code = {.number = 77};

    return codemaps_find(codemaps, pid, address, &code) ? code.number : 99;
}

static void what_is_mapped_later_is_in_front(void **state)
{
    (void)state;
    put(1000, 2000, "/bin/sh");
    put(3000, 4000, "/bin/ls");
    put(2000, 3000, "/bin/cat");
    assert_int_equal(number_at(PID, 999), 99);
    assert_int_equal(number_at(PID, 1000), 0);
    assert_int_equal(number_at(PID, 1999), 0);
    assert_int_equal(number_at(PID, 3999), 1);
    assert_int_equal(number_at(PID, 2000), 2);
    assert_int_equal(number_at(PID, 4000), 99);
    put(1500, 3500, "/bin/sh");
    assert_int_equal(number_at(PID, 1499), 0);
    assert_int_equal(number_at(PID, 2500), 0);
    assert_int_equal(number_at(PID, 3499), 0);
    assert_int_equal(number_at(PID, 3500), 1);
    put(2000, 2100, "/bin/cat"); /* within another */
    assert_int_equal(number_at(PID, 1999), 0);
    assert_int_equal(number_at(PID, 2099), 2);
    assert_int_equal(number_at(PID, 2100), 0);
    assert_int_equal(number_at(PID, 3499), 0);
    put(0, 10000, "/bin/cat");
    assert_int_equal(number_at(PID, 0), 2);
    assert_int_equal(number_at(PID, 3500), 2);
    assert_int_equal(number_at(PID, 9999), 2);
}

/* Paths without number, then as many as there is room for, each once. */
static void files_are_numbered_when_they_are_asked_for(void **state)
{
    char path[64];
    struct code code;

    (void)state;
    put(1000, 2000, "/bin/sh");
    put(2000, 3000, "/bin/ls");
    assert_int_equal(number_at(PID, 2500),
                     0); /* nothing is known of the other */
    for (int i = 0; i < 2 * CODEMAPS_FILES; i++) {
        (void)snprintf(path, sizeof(path), "/no/such/%d", i);
        put(5000, 6000, path);
    }
    assert_true(codemaps_find(codemaps, PID, 5500, &code));
    assert_null(code.file);
    put(7000, 8000, "/bin/cat"); /* a path beyond those that are remembered */
    assert_int_equal(number_at(PID, 7500), 1);
    assert_int_equal(number_at(PID, 1500), 2);
}

/* Each address has the file that was mapped there last. */
static void any_order_of_mappings_is_kept(void **state)
{
    static const char *const paths[] = {"/bin/sh", "/bin/ls", "/bin/cat"};
    const char *seed_text = getenv("CK_SEED");
    unsigned seed = seed_text != NULL ? (unsigned)atoi(seed_text) : 7;
    uint32_t last[256];

    (void)state;
    print_message("CK_SEED=%u\n", seed);
    for (unsigned i = 0; i < 3; i++) {
        put(i, i + 1, paths[i]);
        assert_int_equal(number_at(PID, i), i);
    }
    for (int world = 0; world < 300; world++) {
        codemaps_begin(codemaps, PID);
        for (int i = 0; i < 256; i++) {
            last[i] = 99;
        }
        for (int i = 0; i < 30; i++) {
            unsigned start = (unsigned)rand_r(&seed) % 200;
            unsigned end = start + 1 + (unsigned)rand_r(&seed) % 50;
            unsigned which = (unsigned)rand_r(&seed) % 3;

            put(start, end, paths[which]);
            for (unsigned k = start; k < end; k++) {
                last[k] = which;
            }
        }
        for (unsigned k = 0; k < 256; k++) {
            assert_int_equal(number_at(PID, k), last[k]);
        }
    }
}

static void a_child_has_what_its_parent_has(void **state)
{
    (void)state;
    put(1000, 2000, "/bin/sh");
    codemaps_forked(codemaps, CHILD, PID);
    assert_int_equal(number_at(CHILD, 1500), 0);
    codemaps_begin(codemaps, CHILD);
    assert_int_equal(number_at(CHILD, 1500), 99);
    assert_int_equal(number_at(PID, 1500), 0);
}

static void our_own_code_is_found(void **state)
{
    struct code code;

    (void)state;
    assert_true(codemaps_find(
        codemaps, getpid(), (uint64_t)(uintptr_t)our_own_code_is_found, &code));
    assert_non_null(code.file);
    assert_false(codemaps_find(codemaps, getpid(),
                               (uint64_t)(uintptr_t)&codemaps, &code));
}

static bool is_cat(const char *path)
{
    return strcmp(path, "/bin/cat") == 0;
}

/* Of a program that was seen to begin, /proc is not read: it has what was
 * reported. What is missing of that is read. */
static void what_is_reported_is_not_read_again(void **state)
{
    uint64_t here = (uint64_t)(uintptr_t)what_is_reported_is_not_read_again;
    struct mapping mapping = {
        .start = here, .end = here + 1, .path = "/bin/sh", .is_code = true};
    struct code code;

    (void)state;
    assert_true(codemaps_may_have(codemaps, getpid(), is_cat));
    codemaps_execed(codemaps, getpid());
    assert_false(codemaps_may_have(codemaps, getpid(), is_cat));
    codemaps_mapped(codemaps, getpid(), &mapping);
    assert_true(codemaps_find(codemaps, getpid(), here, &code));
    assert_true(codemaps_mapping(codemaps, getpid(), here, &mapping));
    assert_string_equal(mapping.path, "/bin/sh");
    assert_false(codemaps_may_have(codemaps, getpid(), is_cat));
    assert_true(
        codemaps_find(codemaps, getpid(), (uint64_t)(uintptr_t)is_cat, &code));
    assert_true(codemaps_mapping(codemaps, getpid(), here, &mapping));
    assert_string_not_equal(mapping.path, "/bin/sh");
    mapping.path = "/bin/cat";
    codemaps_mapped(codemaps, getpid(), &mapping);
    assert_true(codemaps_may_have(codemaps, getpid(), is_cat));
    codemaps_execed(codemaps, PID);
    codemaps_forked(codemaps, CHILD, PID);
    assert_true(codemaps_may_have(codemaps, CHILD, is_cat));
}

static void a_file_that_cannot_be_read_is_counted(void **state)
{
    struct code code;

    (void)state;
    put(1000, 2000, "/etc/passwd");
    put(3000, 4000, "/no/such/file");
    put(5000, 6000, "//anon");
    for (int i = 0; i < 2; i++) {
        assert_true(codemaps_find(codemaps, PID, 1500, &code));
        assert_null(code.file);
        assert_true(codemaps_find(codemaps, PID, 3500, &code));
        assert_null(code.file);
        assert_true(codemaps_find(codemaps, PID, 5500, &code));
        assert_null(code.file);
    }
    assert_int_equal(codemaps_unread(codemaps), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_mapped_later_is_in_front),
        CASE(files_are_numbered_when_they_are_asked_for),
        CASE(any_order_of_mappings_is_kept),
        CASE(a_child_has_what_its_parent_has),
        CASE(our_own_code_is_found),
        CASE(what_is_reported_is_not_read_again),
        CASE(a_file_that_cannot_be_read_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
