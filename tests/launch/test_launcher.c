/* test_launcher.c - command lines for launchers that are found in PATH
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
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

#include "launch/launcher.h"

static char dir[] = "/tmp/ck-test-launcher-XXXXXX";
static char *old_path;

/* A program in our PATH that prints `text` when asked for its version. */
static void put_program(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\necho '%s'\n", text);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static int open_path(void **state)
{
    (void)state;
    old_path = strdup(getenv("PATH"));
    strcpy(dir + sizeof(dir) - 7, "XXXXXX");
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_MPI_TYPE");
    return mkdtemp(dir) == NULL || setenv("PATH", dir, 1) != 0;
}

static int close_path(void **state)
{
    char command[64];

    (void)state;
    setenv("PATH", old_path, 1);
    free(old_path);
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command);
}

/* The launcher is recognised by how it is asked. */
static void check_kind(const struct launcher_found *found, const char *name)
{
    static const struct {
        const char *name;
        const char *asked;
    } kinds[] = {
        {"mpirun", "-n 1 -x A"},
        {"hydra", "-n 1 -genvlist A"},
        {"srun", "srun -n 1"},
        {"torchrun", "--nproc_per_node"},
    };
    static const char *const variables[] = {"A", NULL};
    static const struct ck_cli_list none;
    struct launch_plan plan = {
        .count = 1, .variables = variables, .extra = &none};
    struct argv words = {0};
    struct ck_err err = {""};
    char *line;

    assert_int_equal(launcher_command(found, &plan, &words, &err), 0);
    line = argv_line(&words);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        assert_true((strstr(line, kinds[i].asked) != NULL) ==
                    (strcmp(kinds[i].name, name) == 0));
    }
    free(line);
    argv_fini(&words);
}

static void check_found(const char *wanted, const char *name, const char *file)
{
    struct launcher_found found;
    struct ck_err err = {""};

    assert_int_equal(launcher_find(wanted, &found, &err), 0);
    check_kind(&found, name);
    assert_string_equal(strrchr(found.path, '/') + 1, file);
}

static void the_first_in_path_is_taken(void **state)
{
    (void)state;
    put_program("torchrun", "");
    check_found(NULL, "torchrun", "torchrun");
    put_program("srun", "slurm 23.02");
    check_found(NULL, "srun", "srun");
    put_program("mpirun", "mpirun (Open MPI) 4.1.4");
    check_found(NULL, "mpirun", "mpirun");
    check_found("torchrun", "torchrun", "torchrun");
}

static void a_slurm_allocation_prefers_srun(void **state)
{
    (void)state;
    put_program("mpirun", "mpirun (Open MPI) 4.1.4");
    setenv("SLURM_JOB_ID", "7", 1);
    check_found(NULL, "mpirun", "mpirun");
    put_program("srun", "slurm 23.02");
    check_found(NULL, "srun", "srun");
}

static void the_mpirun_of_mpich_is_known_by_its_version(void **state)
{
    (void)state;
    put_program("mpirun", "HYDRA build details:");
    check_found(NULL, "hydra", "mpirun");
    put_program("mpiexec.hydra", "HYDRA build details:");
    check_found("hydra", "hydra", "mpiexec.hydra");
}

static void a_missing_launcher_is_reported_with_its_cure(void **state)
{
    struct launcher_found found;
    struct ck_err err;

    (void)state;
    assert_int_equal(launcher_find(NULL, &found, &err), -1);
    assert_non_null(strstr(err.text, "apt-get install openmpi-bin"));
    assert_int_equal(launcher_find("torchrun", &found, &err), -1);
    assert_non_null(strstr(err.text, "apt-get install python3-torch"));
    assert_int_equal(launcher_find("rocket", &found, &err), -1);
    assert_string_equal(
        err.text, "unknown launcher rocket: one of mpirun|hydra|srun|torchrun");
}

static void check_command(const char *name,
                          const struct launch_plan *plan,
                          const char *expected)
{
    struct launcher_found found;
    struct argv words = {0};
    struct ck_err err = {""};
    char *line;

    assert_int_equal(launcher_find(name, &found, &err), 0);
    assert_int_equal(launcher_command(&found, plan, &words, &err), 0);
    line = argv_line(&words);
    assert_non_null(line);
    assert_string_equal(strrchr(strtok(line, " "), '/') + 1,
                        words.items[0] + strlen(dir) + 1);
    assert_string_equal(line + strlen(line) + 1, expected);
    free(line);
    argv_fini(&words);
}

static void each_launcher_is_asked_in_its_own_words(void **state)
{
    static const char *const hosts[] = {"a", "b:3", NULL};
    static const char *const variables[] = {"V", "W", NULL};
    static const char *items[] = {"--tag-output", "x y", NULL};
    static const struct ck_cli_list none = {NULL, 0};
    static const struct ck_cli_list extra = {items, 2};
    const struct launch_plan here = {.count = 4, .extra = &none};
    const struct launch_plan there = {
        .count = 5,
        .hosts = hosts,
        .host_count = 2,
        .variables = variables,
        .extra = &extra,
    };

    (void)state;
    put_program("mpirun", "Open MPI");
    put_program("mpiexec.hydra", "HYDRA");
    put_program("srun", "");
    put_program("torchrun", "");
    check_command("mpirun", &here, "-n 4");
    check_command("hydra", &here, "-n 4");
    check_command("srun", &here, "-n 4");
    check_command("torchrun", &here, "--nproc_per_node 4 --no_python");
    check_command("mpirun", &there,
                  "-n 5 --host a:3,b:3 -x V -x W --tag-output 'x y'");
    check_command("hydra", &there,
                  "-n 5 -hosts a:3,b:3 -genvlist V,W --tag-output 'x y'");
    check_command("srun", &there, "-n 5 -w a,b --tag-output 'x y'");
}

/* A program in our PATH that is linked with a library of this name. */
static void put_linked(const char *name, const char *library)
{
    char command[1024];

    snprintf(command, sizeof(command),
             "cd %s && PATH='%s' && echo 'int f(void) { return 0; }' >f.c &&"
             " cc -shared -fPIC -Wl,-soname,%s f.c -o %s &&"
             " echo 'int f(void); int main(void) { return f(); }' >m.c &&"
             " cc m.c ./%s -o %s",
             dir, old_path, library, library, library, name);
    assert_int_equal(system(command), 0);
}

static void a_slurm_step_has_the_type_of_its_mpi(void **state)
{
    static const char *items[] = {"--mpi=none", NULL};
    static const struct ck_cli_list none = {NULL, 0};
    static const struct ck_cli_list own = {items, 1};
    struct launch_plan plan = {.count = 2, .extra = &none, .program = "open"};
    struct launcher_found found;
    struct argv words = {0};
    struct ck_err err;

    (void)state;
    put_linked("open", "libmpi.so.40");
    put_linked("mpich", "libmpi.so.12");
    put_linked("plain", "libfmpi.so.1");
    put_program("srun", "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n"
                        "specific pmix plugin versions available: pmix_v4");
    check_command("srun", &plan, "-n 2 --mpi=pmix");
    plan.program = "mpich";
    check_command("srun", &plan, "-n 2 --mpi=pmi2");
    plan.program = "plain";
    check_command("srun", &plan, "-n 2");
    plan.program = "srun"; /* a script */
    check_command("srun", &plan, "-n 2");
    plan.program = "open";
    plan.extra = &own;
    check_command("srun", &plan, "-n 2 --mpi=none");
    plan.extra = &none;
    put_program("srun", "MPI plugin types are...\n\tnone\n\tpmi2\n"
                        "specific pmix plugin versions available: pmix_v4");
    assert_int_equal(launcher_find("srun", &found, &err), 0);
    assert_int_equal(launcher_command(&found, &plan, &words, &err), -1);
    assert_non_null(strstr(err.text, "--launcher mpirun"));
    argv_fini(&words);
    setenv("SLURM_MPI_TYPE", "pmi2", 1);
    check_command("srun", &plan, "-n 2");
    unsetenv("SLURM_MPI_TYPE");
}

static void torchrun_refuses_hosts(void **state)
{
    static const char *const hosts[] = {"a", "b", NULL};
    static const struct ck_cli_list none = {NULL, 0};
    const struct launch_plan plan = {
        .count = 2, .hosts = hosts, .host_count = 2, .extra = &none};
    struct launcher_found found;
    struct argv words = {0};
    struct ck_err err;

    (void)state;
    put_program("torchrun", "");
    assert_int_equal(launcher_find("torchrun", &found, &err), 0);
    assert_int_equal(launcher_command(&found, &plan, &words, &err), -1);
    assert_non_null(strstr(err.text, "leave out --hosts"));
    argv_fini(&words);
}

static void only_open_mpi_needs_cures(void **state)
{
    static const struct ck_cli_list none = {NULL, 0};
    const struct launch_plan many = {.count = 1000000, .extra = &none};
    const struct launch_plan one = {.count = 1, .extra = &none};
    int is_root = geteuid() == 0;
    const struct launcher_cure *const *cures;
    struct launcher_found found;
    struct ck_err err;

    (void)state;
    put_program("mpirun", "Open MPI");
    put_program("srun", "");
    assert_int_equal(launcher_find("mpirun", &found, &err), 0);
    cures = launcher_cures(found.launcher, &many);
    assert_string_equal(cures[is_root]->setting[0].name,
                        "OMPI_MCA_rmaps_base_oversubscribe");
    assert_string_equal(cures[is_root]->setting[1].name,
                        "PRTE_MCA_rmaps_default_mapping_policy");
    assert_string_equal(cures[is_root]->setting[1].value, ":oversubscribe");
    assert_null(cures[is_root]->setting[2].name);
    assert_null(cures[is_root + 1]);
    cures = launcher_cures(found.launcher, &one);
    assert_null(cures[is_root]);
    assert_int_equal(launcher_find("srun", &found, &err), 0);
    assert_null(launcher_cures(found.launcher, &many)[0]);
}

static void words_are_quoted_for_a_shell(void **state)
{
    struct argv words = {0};
    char *line;

    (void)state;
    argv_add(&words, "./train");
    argv_add(&words, "");
    argv_add(&words, "it's $HOME");
    argv_printf(&words, "--n=%d", 4);
    line = argv_line(&words);
    assert_string_equal(line, "./train '' 'it'\\''s $HOME' --n=4");
    free(line);
    argv_fini(&words);
    assert_null(words.items);
}

int main(void)
{
#define WITH_PATH(f) cmocka_unit_test_setup_teardown(f, open_path, close_path)
    const struct CMUnitTest tests[] = {
        WITH_PATH(the_first_in_path_is_taken),
        WITH_PATH(a_slurm_allocation_prefers_srun),
        WITH_PATH(the_mpirun_of_mpich_is_known_by_its_version),
        WITH_PATH(a_missing_launcher_is_reported_with_its_cure),
        WITH_PATH(each_launcher_is_asked_in_its_own_words),
        WITH_PATH(a_slurm_step_has_the_type_of_its_mpi),
        WITH_PATH(torchrun_refuses_hosts),
        WITH_PATH(only_open_mpi_needs_cures),
        cmocka_unit_test(words_are_quoted_for_a_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
