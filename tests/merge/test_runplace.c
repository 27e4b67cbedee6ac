/* test_runplace.c - only the directory that was read is written to
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

#include "merge/runplace.h"
#include "schema/store/run.h"

static char work[] = "/tmp/ck-runplace-XXXXXX";
static char run[64], other[64], report[80], segment[PATH_MAX];
static struct defs_agent agent = {.id = {1, 2, 3, 4}};
static const struct defs defs = {.agents = &agent, .agents_count = 1};

static int setup(void **state)
{
    FILE *file;

    (void)state;
    if (mkdtemp(work) == NULL) {
        return -1;
    }
    (void)snprintf(run, sizeof(run), "%s/run", work);
    (void)snprintf(other, sizeof(other), "%s/other", work);
    (void)snprintf(report, sizeof(report), "%s/report.txt", other);
    if (mkdir(run, 0700) != 0 || mkdir(other, 0700) != 0 ||
        ck_run_segment_path(segment, run, agent.id, false) != 0) {
        return -1;
    }
    file = fopen(segment, "we");
    return file == NULL ? -1 : fclose(file);
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(report);
    (void)unlink(segment);
    (void)rmdir(run);
    (void)rmdir(other);
    return rmdir(work);
}

static void
a_directory_without_a_file_of_the_run_is_not_written_to(void **state)
{
    struct runplace place;
    struct ck_err err;

    (void)state;
    assert_int_equal(runplace_open(&place, other, &defs, &err), -1);
    assert_non_null(strstr(err.text, "not the directory that was read"));
    assert_int_equal(runplace_open(&place, "/nonexistent", &defs, &err), -1);
    assert_int_equal(runplace_open(&place, run, &defs, &err), 0);
    runplace_close(&place);
}

/* As who owns the folder that both are in can do. */
static void what_takes_its_name_later_is_not_written_to(void **state)
{
    char name[128], kept[96];
    struct runplace place;
    struct ck_err err;

    (void)state;
    (void)snprintf(kept, sizeof(kept), "%s/kept", work);
    (void)snprintf(name, sizeof(name), "%s/report.txt", kept);
    assert_int_equal(runplace_open(&place, run, &defs, &err), 0);
    assert_int_equal(rename(run, kept), 0);
    assert_int_equal(symlink(other, run), 0);
    assert_int_equal(runplace_replace(&place, "report.txt", "x", 1, &err), 0);
    assert_int_equal(access(report, F_OK), -1);
    assert_int_equal(access(name, F_OK), 0);
    runplace_remove(&place, "report.txt");
    assert_int_equal(access(name, F_OK), -1);
    runplace_close(&place);
    assert_int_equal(runplace_open(&place, run, &defs, &err), -1);
    assert_int_equal(unlink(run), 0);
    assert_int_equal(rename(kept, run), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_directory_without_a_file_of_the_run_is_not_written_to),
        cmocka_unit_test(what_takes_its_name_later_is_not_written_to),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
