/* test_nearby.c - which run in the working directory is the job's
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <utime.h>

#include <cmocka.h>

#include "agent/link/nearby.h"
#include "tests/workdir.h"

static void file_write(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void run_write(const char *name, const char *key, const char *state)
{
    char dir[PATH_MAX];
    char text[256];

    (void)snprintf(dir, sizeof(dir), "%s/%s", work, name);
    assert_int_equal(mkdir(dir, 0700), 0);
    (void)snprintf(text, sizeof(text),
                   "{\"format\": 1, \"job_key\": \"%s\", "
                   "\"state\": \"%s\"}\n",
                   key, state);
    file_write(dir, "manifest.json", text);
    file_write(dir, NEARBY_ENDPOINT, "tcp://10.0.0.1:7\n");
}

static bool is_found(const char *key, char *name)
{
    char dir[PATH_MAX];
    char found[PATH_MAX];

    (void)snprintf(dir, sizeof(dir), "%s/ck-4711.0-19700101T000002", work);
    if (!nearby_find(dir, key, time(NULL), found)) {
        return false;
    }
    strcpy(name, strrchr(found, '/') + 1);
    return true;
}

static void the_run_of_the_same_job_is_found_under_another_second(void **state)
{
    char name[PATH_MAX] = "";

    (void)state;
    run_write("ck-4711.0-19700101T000001", "slurm-4711.0", "open");
    run_write("ck-4711.1-19700101T000001", "slurm-4711.1", "open");
    assert_true(is_found("slurm-4711.1", name));
    assert_string_equal(name, "ck-4711.1-19700101T000001");
    assert_false(is_found("slurm-4712.0", name));
}

static void a_run_that_is_over_is_not_the_jobs(void **state)
{
    char name[PATH_MAX] = "";
    char path[PATH_MAX];
    struct utimbuf old = {.actime = 1000, .modtime = 1000};

    (void)state;
    run_write("ck-a", "slurm-9.0", "done");
    assert_false(is_found("slurm-9.0", name));
    run_write("ck-b", "slurm-9.0", "open");
    assert_true(is_found("slurm-9.0", name));
    /* Killed, so never done; then its number was given out again. */
    (void)snprintf(path, sizeof(path), "%s/ck-b/" NEARBY_ENDPOINT, work);
    assert_int_equal(utime(path, &old), 0);
    assert_false(is_found("slurm-9.0", name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORKDIR_CASE(the_run_of_the_same_job_is_found_under_another_second,
                     workdir_setup),
        WORKDIR_CASE(a_run_that_is_over_is_not_the_jobs, workdir_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
