/* test_paths.c - where the data of an agent goes
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/link/paths.h"
#include "schema/store/run.h"
#include "schema/time.h"
#include "tests/workdir.h"

static struct identity identity;

static int setup(void **state)
{
    memset(&identity, 0, sizeof(identity));
    strcpy(identity.job_key, "mine");
    strcpy(identity.job, "7");
    identity.launcher_start = 1000000;
    identity.launcher_realtime = identity.launcher_start * CK_TIME_S;
    return workdir_setup(state);
}

/* A run of the job `key` in work/NAME. */
static void
run_put(const char *name, const char *key, const char *state, int64_t started)
{
    char dir[128];
    char text[256];

    (void)snprintf(dir, sizeof(dir), "%s/%s", work, name);
    assert_int_equal(mkdir(dir, 0700), 0);
    (void)snprintf(text, sizeof(text),
                   "{\n  \"job_key\": \"%s\",\n  \"state\": \"%s\",\n"
                   "  \"started_realtime\": %lld\n}\n",
                   key, state, (long long)started);
    assert_int_equal(
        ck_run_replace(dir, CK_RUN_MANIFEST, text, strlen(text), NULL), 0);
}

/* The run of this job in work/NAME, which is being merged: begun so long after
 * its boot, and so long after our launcher by the time of day. */
static void
begin_put(const char *name, const char *boot, int64_t boottime, int64_t later)
{
    char dir[128];
    char text[256];

    (void)snprintf(dir, sizeof(dir), "%s/%s", work, name);
    assert_int_equal(mkdir(dir, 0700), 0);
    (void)snprintf(text, sizeof(text),
                   "{\n  \"job_key\": \"mine\",\n  \"state\": \"merge\",\n"
                   "  \"started_realtime\": %lld,\n"
                   "  \"started_boottime\": %lld,\n"
                   "  \"boot_id\": \"%s\"\n}\n",
                   (long long)(identity.launcher_realtime + later),
                   (long long)boottime, boot);
    assert_int_equal(
        ck_run_replace(dir, CK_RUN_MANIFEST, text, strlen(text), NULL), 0);
}

static void found_is(const char *given, const char *wanted, bool is_moved)
{
    struct paths places;
    struct ck_err err = {.text = ""};
    char dir[128];

    (void)snprintf(dir, sizeof(dir), "%s/%s", work, given);
    assert_int_equal(paths_find(&places, &identity, dir, &err), 0);
    (void)snprintf(dir, sizeof(dir), "%s/%s", work, wanted);
    assert_string_equal(places.dir, dir);
    assert_int_equal(places.is_moved, is_moved);
    if (is_moved) {
        assert_non_null(strstr(err.text, "another job"));
        assert_non_null(strstr(err.text, "--dir NEW"));
    }
}

static void a_directory_that_is_new_or_empty_is_taken(void **state)
{
    char dir[128];

    (void)state;
    found_is("new", "new", false);
    (void)snprintf(dir, sizeof(dir), "%s/empty", work);
    assert_int_equal(mkdir(dir, 0700), 0);
    found_is("empty", "empty", false);
    found_is("empty///", "empty", false);
}

/* No manifest names its job yet. */
static void two_jobs_that_begin_at_once_have_two_directories(void **state)
{
    struct identity others = identity;
    struct paths first, again, second, third;
    struct ck_err err = {.text = ""};
    char dir[128];

    (void)state;
    (void)snprintf(dir, sizeof(dir), "%s/both", work);
    strcpy(others.job_key, "theirs");
    assert_int_equal(setenv("XDG_RUNTIME_DIR", work, 1), 0);
    assert_int_equal(paths_find(&first, &identity, dir, &err), 0);
    assert_int_equal(paths_find(&second, &others, dir, &err), 0);
    assert_non_null(strstr(err.text, "another job"));
    assert_int_equal(paths_find(&again, &identity, dir, &err), 0);
    assert_false(first.is_moved);
    assert_false(again.is_moved);
    assert_true(second.is_moved);
    assert_string_not_equal(first.dir, second.dir);
    /* One agent of the job ends, the other one has it still. */
    (void)close(first.claim);
    assert_int_equal(paths_find(&third, &others, dir, &err), 0);
    assert_string_equal(third.dir, second.dir);
    (void)close(third.claim);
    (void)close(again.claim);
    assert_int_equal(paths_find(&third, &others, dir, &err), 0);
    assert_false(third.is_moved);
    (void)close(third.claim);
    (void)close(second.claim);
}

static void the_run_of_this_job_is_gone_on_with(void **state)
{
    (void)state;
    run_put("a", "mine", "run", 5);
    found_is("a", "a", false);
}

static void the_run_of_another_job_is_left_alone(void **state)
{
    (void)state;
    run_put("a", "other", "done", 5);
    found_is("a", "a.2", true);
    run_put("a.2", "third", "run", 5);
    found_is("a/", "a.3", true);
    /* What an agent of the same job has made already is found by all. */
    run_put("a.3", "mine", "run", 5);
    found_is("a", "a.3", true);
}

static void an_earlier_job_of_the_same_name_is_another_one(void **state)
{
    const int64_t now = identity.launcher_start * CK_TIME_S;

    (void)state;
    run_put("a", "mine", "done", now - 60 * CK_TIME_S);
    found_is("a", "a.2", true);
    /* Still at work, or begun after our launcher: it is this job. */
    run_put("b", "mine", "run", now - 60 * CK_TIME_S);
    found_is("b", "b", false);
    run_put("c", "mine", "done", now + CK_TIME_S);
    found_is("c", "c", false);
}

/* The clock may be set, or two runs begin in one second. */
static void within_a_boot_the_order_of_starts_counts(void **state)
{
    const int64_t hour = 3600 * CK_TIME_S;

    (void)state;
    strcpy(identity.domain.boot_id, "this-boot");
    identity.launcher_boottime = 500 * CK_TIME_S;
    begin_put("a", "this-boot", 500 * CK_TIME_S - 1, 0);
    found_is("a", "a.2", true);
    begin_put("b", "this-boot", 500 * CK_TIME_S, -hour);
    found_is("b", "b", false);
    begin_put("c", "that-boot", 500 * CK_TIME_S, -hour);
    found_is("c", "c.2", true);
    begin_put("d", "that-boot", 1, 0);
    found_is("d", "d", false);
}

static void an_earlier_run_of_the_same_second_keeps_its_directory(void **state)
{
    struct paths places;
    char name[128];

    (void)state;
    strcpy(identity.domain.boot_id, "this-boot");
    identity.launcher_boottime = 500 * CK_TIME_S;
    assert_int_equal(identity_run_name(&identity, name, sizeof(name)), 0);
    begin_put(name, "this-boot", 499 * CK_TIME_S, 0);
    assert_int_equal(chdir(work), 0);
    assert_int_equal(paths_find(&places, &identity, NULL, NULL), 0);
    assert_int_equal(chdir("/"), 0);
    assert_string_equal(strrchr(places.dir, '.'), ".2");
    assert_false(places.is_moved);
}

static void without_a_directory_the_job_gives_the_name(void **state)
{
    struct paths places;

    (void)state;
    assert_int_equal(chdir(work), 0);
    assert_int_equal(paths_find(&places, &identity, NULL, NULL), 0);
    assert_int_equal(chdir("/"), 0);
    assert_memory_equal(places.dir, work, strlen(work));
    assert_memory_equal(places.dir + strlen(work), "/ck-7-", 6);
    assert_false(places.is_moved);
}

static void without_a_current_directory_the_run_goes_below_tmpdir(void **state)
{
    struct ck_err err = {.text = ""};
    struct paths places;
    char gone[128];

    (void)state;
    (void)snprintf(gone, sizeof(gone), "%s/gone", work);
    assert_int_equal(mkdir(gone, 0700), 0);
    assert_int_equal(chdir(gone), 0);
    assert_int_equal(rmdir(gone), 0);
    assert_int_equal(paths_find(&places, &identity, NULL, &err), 0);
    assert_string_equal(places.dir, places.fallback);
    assert_true(places.is_moved);
    assert_non_null(strstr(err.text, "current directory"));
    assert_int_equal(paths_find(&places, &identity, "given", &err), -1);
    assert_non_null(strstr(err.text, "current directory"));
    assert_int_equal(chdir("/"), 0);
}

int main(void)
{
#define CASE(name) WORKDIR_CASE(name, setup)
    const struct CMUnitTest tests[] = {
        CASE(a_directory_that_is_new_or_empty_is_taken),
        CASE(two_jobs_that_begin_at_once_have_two_directories),
        CASE(the_run_of_this_job_is_gone_on_with),
        CASE(the_run_of_another_job_is_left_alone),
        CASE(an_earlier_job_of_the_same_name_is_another_one),
        CASE(within_a_boot_the_order_of_starts_counts),
        CASE(an_earlier_run_of_the_same_second_keeps_its_directory),
        CASE(without_a_directory_the_job_gives_the_name),
        CASE(without_a_current_directory_the_run_goes_below_tmpdir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
