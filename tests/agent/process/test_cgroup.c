/* test_cgroup.c - the CPU quota of a process's control groups
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Hierarchies are folders of files as the kernel shows them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "agent/process/cgroup.h"
#include "tests/workdir.h"

static const char mounts_v1[] =
    "30 29 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "31 29 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup "
    "cgroup rw,cpu,cpuacct\n";
static const char mounts_v2[] =
    "29 1 0:25 / /proc rw - proc proc rw\n"
    "30 29 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

static void the_group_is_found_below_its_mount(void **state)
{
    static const struct {
        const char *groups;
        const char *mounts;
        bool is_v2;
        const char *folder; /* NULL = none */
    } cases[] = {
        {"0::/user.slice/job\n", mounts_v2, true,
         "/sys/fs/cgroup/user.slice/job"},
        {"0::/\n", mounts_v2, true, "/sys/fs/cgroup"},
        /* The mount of a container shows a part. */
        {"3:cpuset:/x\n4:cpuacct,cpu:/docker/abc/rank0\n", mounts_v1, false,
         "/sys/fs/cgroup/cpu,cpuacct/rank0"},
        {"4:cpu,cpuacct:/docker/abc\n", mounts_v1, false,
         "/sys/fs/cgroup/cpu,cpuacct"},
        /* Beside what the mount shows, and not below it. */
        {"4:cpu,cpuacct:/docker/abcd\n", mounts_v1, false,
         "/sys/fs/cgroup/cpu,cpuacct/docker/abcd"},
        {"3:cpuset:/x\n", mounts_v1, false, NULL},
        {"4:cpu:/x\n", mounts_v2, false, NULL},
        {"0::/x\n", mounts_v1, true, NULL},
        {"", "", true, NULL},
    };
    char folder[PATH_MAX], mount[PATH_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool is_found = cgroup_folder(cases[i].groups, cases[i].mounts,
                                      cases[i].is_v2, folder, mount);

        assert_int_equal(is_found, cases[i].folder != NULL);
        if (is_found) {
            assert_string_equal(folder, cases[i].folder);
        }
    }
}

static void file_write(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s%s", work, folder);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s%s/%s", work, folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void the_narrowest_level_counts(void **state)
{
    struct cgroup_quota quota;
    char folder[PATH_MAX];

    (void)state;
    file_write("", "cpu.max", "max 100000\n");
    file_write("/job", "cpu.max", "50000 100000\n");
    file_write("/job", "cpu.stat",
               "usage_usec 77\nnr_periods 40\nnr_throttled 31\n"
               "throttled_usec 1500\n");
    file_write("/job/rank0", "cpu.max", "200000 100000\n");
    (void)snprintf(folder, sizeof(folder), "%s/job/rank0", work);
    cgroup_narrowest(folder, work, &quota);
    assert_int_equal(quota.cpus_milli, 500);
    assert_int_equal(quota.periods, 40);
    assert_int_equal(quota.throttled, 31);
    assert_int_equal(quota.throttled_ns, 1500000);
    assert_string_equal(quota.folder + strlen(work), "/job");
}

static void version_1_has_the_same_in_other_words(void **state)
{
    struct cgroup_quota quota;
    char folder[PATH_MAX];

    (void)state;
    file_write("", "cpu.cfs_quota_us", "-1\n");
    file_write("", "cpu.cfs_period_us", "100000\n");
    file_write("/job", "cpu.cfs_quota_us", "25000\n");
    file_write("/job", "cpu.cfs_period_us", "100000\n");
    file_write("/job", "cpu.stat",
               "nr_periods 8\nnr_throttled 7\nthrottled_time 123456\n");
    (void)snprintf(folder, sizeof(folder), "%s/job", work);
    cgroup_narrowest(folder, work, &quota);
    assert_int_equal(quota.cpus_milli, 250);
    assert_int_equal(quota.throttled, 7);
    assert_int_equal(quota.throttled_ns, 123456);
    cgroup_narrowest(work, work, &quota);
    assert_int_equal(quota.cpus_milli, 0);
    assert_string_equal(quota.folder, "");
}

static void the_least_memory_of_a_level_counts(void **state)
{
    char folder[PATH_MAX];

    (void)state;
    file_write("", "memory.max", "max\n");
    file_write("/job", "memory.max", "50331648\n");
    file_write("/job/rank0", "memory.max", "1073741824\n");
    (void)snprintf(folder, sizeof(folder), "%s/job/rank0", work);
    assert_int_equal(cgroup_memory_narrowest(folder, work), 48 << 20);
    assert_int_equal(cgroup_memory_narrowest(work, work), 0);
}

static void version_1_has_a_huge_number_for_no_limit_of_memory(void **state)
{
    char folder[PATH_MAX];

    (void)state;
    file_write("", "memory.limit_in_bytes", "9223372036854771712\n");
    file_write("/job", "memory.limit_in_bytes", "268435456\n");
    (void)snprintf(folder, sizeof(folder), "%s/job", work);
    assert_int_equal(cgroup_memory_narrowest(folder, work), 256 << 20);
    assert_int_equal(cgroup_memory_narrowest(work, work), 0);
}

static void there_is_memory_here(void **state)
{
    (void)state;
    assert_true(cgroup_memory() > 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_least_memory_of_a_level_counts,
                                        workdir_setup, workdir_teardown),
        cmocka_unit_test_setup_teardown(
            version_1_has_a_huge_number_for_no_limit_of_memory, workdir_setup,
            workdir_teardown),
        cmocka_unit_test(there_is_memory_here),
        cmocka_unit_test(the_group_is_found_below_its_mount),
        cmocka_unit_test_setup_teardown(the_narrowest_level_counts,
                                        workdir_setup, workdir_teardown),
        cmocka_unit_test_setup_teardown(version_1_has_the_same_in_other_words,
                                        workdir_setup, workdir_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
