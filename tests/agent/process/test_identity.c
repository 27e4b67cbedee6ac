/* test_identity.c - rank, size, job and lines of an agent
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/identity.h"
#include "schema/store/run.h"

#define ENV_MAX 12

struct place_case {
    const char *env[ENV_MAX];
    const char *launcher;
    int rank;
    int size;
    int local_rank;
    int local_size;
};

static const struct place_case places[] = {
    {{"HOME=/"}, "none", 0, 1, 0, 1},
    {{"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8",
      "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
      "PMIX_RANK=3"},
     "openmpi",
     3,
     8,
     1,
     2},
    {{"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"},
     "mpich",
     1,
     2,
     1,
     2},
    {{"SLURM_PROCID=5", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=6",
      "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=2(x2),1,3",
      "SLURM_NODEID=3"},
     "slurm",
     5,
     6,
     1,
     3},
    {{"PMIX_RANK=5", "SLURM_PROCID=5", "SLURM_STEP_ID=0",
      "SLURM_STEP_NUM_TASKS=6", "SLURM_LOCALID=1",
      "SLURM_STEP_TASKS_PER_NODE=2(x2),1,3", "SLURM_NODEID=1"},
     "pmix",
     5,
     6,
     1,
     2},
    /* sbatch's own shell is not a rank. */
    {{"SLURM_PROCID=0", "SLURM_NTASKS=6"}, "none", 0, 1, 0, 1},
    {{"RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2"},
     "torchrun",
     2,
     4,
     0,
     2},
    /* Who meets at a loopback address is on this host as a whole. */
    {{"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "MASTER_ADDR=127.0.0.1"},
     "torchrun",
     1,
     2,
     1,
     2},
    {{"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "MASTER_ADDR=node7"},
     "torchrun",
     1,
     2,
     1,
     0},
    {{"MV2_COMM_WORLD_RANK=3", "MV2_COMM_WORLD_SIZE=4",
      "MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_LOCAL_SIZE=2"},
     "mvapich",
     3,
     4,
     1,
     2},
    {{"JSM_NAMESPACE_RANK=3", "JSM_NAMESPACE_SIZE=4",
      "JSM_NAMESPACE_LOCAL_RANK=1", "JSM_NAMESPACE_LOCAL_SIZE=2"},
     "jsrun",
     3,
     4,
     1,
     2},
    {{"PALS_RANKID=3", "PALS_LOCAL_RANKID=1"}, "pals", 3, 0, 1, 0},
    {{"ALPS_APP_PE=3"}, "alps", 3, 0, -1, 0},
    {{"FLUX_TASK_RANK=3", "FLUX_JOB_SIZE=4", "FLUX_TASK_LOCAL_ID=1",
      "FLUX_JOB_NNODES=2"},
     "flux",
     3,
     4,
     1,
     0},
    {{"FLUX_TASK_RANK=3", "FLUX_JOB_SIZE=4", "FLUX_TASK_LOCAL_ID=3",
      "FLUX_JOB_NNODES=1"},
     "flux",
     3,
     4,
     3,
     4},
    {{"JOB_COMPLETION_INDEX=3"}, "kubernetes", 3, 0, -1, 0},
    {{"PMIX_RANK=3"}, "pmix", 3, 0, -1, 0},
    /* mpiexec inside a task of Flux, where all ranks are of one task. */
    {{"FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=2", "PMI_RANK=5", "PMI_SIZE=8",
      "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=4"},
     "mpich",
     5,
     8,
     1,
     4},
    /* A variable of that name which is no rank. */
    {{"RANK=captain", "WORLD_SIZE=4"}, "none", 0, 1, 0, 1},
    {{"RANK=2"}, "none", 0, 1, 0, 1},
};

static void each_launcher_is_read_by_its_own_variables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct identity_place place;

        identity_place_read((char *const *)(uintptr_t)places[i].env, &place);
        assert_string_equal(place.launcher, places[i].launcher);
        assert_int_equal(place.rank, places[i].rank);
        assert_int_equal(place.size, places[i].size);
        assert_int_equal(place.local_rank, places[i].local_rank);
        assert_int_equal(place.local_size, places[i].local_size);
    }
}

static void a_worker_below_one_agent_has_a_rank_of_its_own(void **state)
{
    char *const agent[] = {(char[]){"OMPI_COMM_WORLD_RANK=1"}, NULL};
    char *const same[] = {(char[]){"OMPI_COMM_WORLD_RANK=1"}, NULL};
    char *const worker[] = {(char[]){"OMPI_COMM_WORLD_RANK=1"},
                            (char[]){"RANK=3"}, (char[]){"WORLD_SIZE=4"}, NULL};
    struct identity_place place;

    (void)state;
    assert_false(identity_place_differs(agent, same, &place));
    assert_true(identity_place_differs(agent, worker, &place));
    assert_int_equal(place.rank, 3);
    assert_int_equal(place.size, 4);
    assert_string_equal(place.launcher, "torchrun");
}

static void agents_of_one_start_share_key_hash_and_run_name(void **state)
{
    char *env[] = {(char[]){"OMPI_COMM_WORLD_RANK=0"},
                   (char[]){"OMPI_COMM_WORLD_SIZE=2"},
                   (char[]){"OMPI_COMM_WORLD_LOCAL_SIZE=2"},
                   (char[]){"PMIX_NAMESPACE=77"}, NULL};
    struct identity first;
    struct identity second;
    char names[2][128];

    (void)state;
    assert_int_equal(identity_find(&first, env, NULL), 0);
    env[0] = (char[]){"OMPI_COMM_WORLD_RANK=1"};
    assert_int_equal(identity_find(&second, env, NULL), 0);
    assert_string_equal(first.job_key, second.job_key);
    assert_true(identity_hash(&first) == identity_hash(&second));
    assert_memory_not_equal(first.agent, second.agent, 16);
    assert_int_equal(identity_run_name(&first, names[0], 128), 0);
    assert_int_equal(identity_run_name(&second, names[1], 128), 0);
    assert_string_equal(names[0], names[1]);
    assert_int_equal(strncmp(names[0], "ck-", 3), 0);
    assert_true(identity_is_one_host(&first));
}

static void over_hosts_the_key_is_the_launchers_name_alone(void **state)
{
    char *const env[] = {(char[]){"OMPI_COMM_WORLD_RANK=0"},
                         (char[]){"OMPI_COMM_WORLD_SIZE=4"},
                         (char[]){"OMPI_COMM_WORLD_LOCAL_SIZE=2"},
                         (char[]){"PMIX_NAMESPACE=77"}, NULL};
    struct identity identity;

    (void)state;
    assert_int_equal(identity_find(&identity, env, NULL), 0);
    assert_false(identity_is_one_host(&identity));
    assert_string_equal(identity.job_key, "pmix-77");
}

static void an_unknown_size_is_not_one_host(void **state)
{
    char *const env[] = {(char[]){"PMIX_RANK=1"}, (char[]){"PMIX_NAMESPACE=77"},
                         NULL};
    struct identity identity;

    (void)state;
    assert_int_equal(identity_find(&identity, env, NULL), 0);
    assert_false(identity_is_one_host(&identity));
    assert_string_equal(identity.job_key, "pmix-77");
}

struct label_case {
    const char *env[ENV_MAX];
    const char *label;
    bool has_pid; /* the launcher's follows behind a dot */
};

static const struct label_case labels[] = {
    {{"SLURM_JOB_ID=4711", "SLURM_STEP_ID=2", "SLURM_PROCID=1"},
     "4711.2",
     false},
    {{"SLURM_JOB_ID=4711", "OMPI_COMM_WORLD_RANK=1"}, "4711", true},
    {{"FLUX_JOB_ID=f2Qh", "FLUX_TASK_RANK=1"}, "f2Qh", false},
    {{"LSB_JOBID=88", "JSM_NAMESPACE_RANK=1"}, "88", true},
    {{"PBS_JOBID=12.head", "PMI_RANK=1"}, "12.head", true},
};

static void a_job_is_named_as_its_scheduler_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        struct identity identity;
        char expected[64];

        assert_int_equal(identity_find(&identity,
                                       (char *const *)(uintptr_t)labels[i].env,
                                       NULL),
                         0);
        (void)snprintf(expected, sizeof(expected),
                       labels[i].has_pid ? "%s.%d" : "%s", labels[i].label,
                       (int)identity.launcher_pid);
        assert_string_equal(identity.job, expected);
    }
}

static void the_time_in_a_run_name_is_utc(void **state)
{
    struct identity identity = {.job = "7", .launcher_start = 86399};
    char name[64];

    (void)state;
    assert_int_equal(setenv("TZ", "XYZ-5", 1), 0);
    tzset();
    assert_int_equal(identity_run_name(&identity, name, sizeof(name)), 0);
    assert_int_equal(unsetenv("TZ"), 0);
    assert_string_equal(name, "ck-7-19700101T235959");
}

struct key_case {
    const char *env[ENV_MAX];
    const char *key; /* all of it, where it may repeat; else how it begins */
    bool is_reused;
};

static const struct key_case keys[] = {
    {{"RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=node7", "MASTER_PORT=29500"},
     "torch-node7.29500",
     true},
    {{"RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=node7", "MASTER_PORT=29500",
      "TORCHELASTIC_RUN_ID=none"},
     "torch-node7.29500",
     true},
    {{"RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=node7", "MASTER_PORT=4242",
      "TORCHELASTIC_RUN_ID=night"},
     "torch-night-node7.4242",
     true},
    {{"RANK=1", "WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=night"},
     "torch-night",
     true},
    /* On one host the launcher is not taken for an earlier one. */
    {{"RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=localhost", "MASTER_PORT=29500"},
     "torch-localhost.29500-",
     false},
    /* Variables that are left over below another launcher. */
    {{"PMIX_RANK=1", "PMIX_NAMESPACE=77", "MASTER_ADDR=node7",
      "MASTER_PORT=29500"},
     "pmix-77",
     false},
};

static void ranks_by_variables_name_the_job_by_where_they_meet(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct identity identity;
        size_t length = strlen(keys[i].key);

        assert_int_equal(identity_find(&identity,
                                       (char *const *)(uintptr_t)keys[i].env,
                                       NULL),
                         0);
        assert_int_equal(identity.is_name_reused, keys[i].is_reused);
        assert_memory_equal(identity.job_key, keys[i].key,
                            length + keys[i].is_reused);
    }
}

/* What the parent of a process started with rank 1's variables takes for the
 * launcher; `wrapper` is in between. */
static void key_below(const char *self, const char *wrapper, char key[160])
{
    char command[PATH_MAX + 128];
    FILE *pipe;

    (void)snprintf(command, sizeof(command),
                   "RANK=1 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=1 "
                   "%s %s --key; :",
                   wrapper, self);
    pipe = popen(command, "re");
    assert_non_null(pipe);
    assert_non_null(fgets(key, 160, pipe));
    (void)pclose(pipe);
}

static void a_wrapper_that_carries_our_rank_is_no_launcher(void **state)
{
    static const char wrapped[] = "sh -c '\"$@\"; :' sh";
    char self[PATH_MAX] = "";
    char key[160];
    char pid[32];

    (void)state;
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    /* sh, which popen() started, has no rank: it is what both take. */
    key_below(self, wrapped, key);
    (void)snprintf(pid, sizeof(pid), "parent %d\n", (int)getpid());
    assert_string_equal(key, pid);
    key_below(self, "", key);
    assert_string_equal(key, pid);
    /* A launcher that has a node's rank, as containers set it. */
    key_below(self, "sh -c 'WORLD_SIZE=4 \"$@\"; :' sh", key);
    assert_string_not_equal(key, pid);
}

/* Whose child is what identity_find() takes for the launcher? */
static int key_print(void)
{
    struct identity identity;
    char path[64];
    char line[1024] = "";
    int parent = 0;
    FILE *file;

    if (identity_find(&identity, environ, NULL) != 0) {
        return 1;
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/stat",
                   (int)identity.launcher_pid);
    file = fopen(path, "re");
    if (file == NULL || fgets(line, sizeof(line), file) == NULL ||
        sscanf(strrchr(line, ')') + 1, " %*c %d", &parent) != 1) {
        return 1;
    }
    (void)fclose(file);
    (void)printf("parent %d\n", parent);
    return 0;
}

static void a_job_name_of_the_user_wins_and_is_made_safe_for_paths(void **state)
{
    char *const env[] = {NULL};
    struct identity identity;

    (void)state;
    assert_int_equal(identity_find(&identity, env, "a/b c"), 0);
    assert_string_equal(identity.job_key, "job-a/b c");
    assert_string_equal(identity.job, "a_b_c");
}

/* Else ckagg, which gets it as an argument, would refuse its own agents. */
static void a_job_key_is_as_it_travels_in_lines(void **state)
{
    char *const env[] = {NULL};
    char *const torch[] = {"TORCHELASTIC_RUN_ID=a\nrank=7\33[2J",
                           "RANK=0",
                           "WORLD_SIZE=4",
                           "LOCAL_RANK=0",
                           "LOCAL_WORLD_SIZE=2",
                           NULL};
    struct identity identity;
    char lines[4096];
    char value[256];
    struct ck_lines put;

    (void)state;
    assert_int_equal(identity_find(&identity, torch, NULL), 0);
    assert_string_equal(identity.job_key, "torch-a?rank=7?[2J");
    assert_int_equal(identity_find(&identity, env, "a\nb\177"), 0);
    assert_string_equal(identity.job_key, "job-a?b?");
    put = ck_lines_in(lines, sizeof(lines));
    identity_lines(&identity, 42, NULL, &put);
    assert_true(ck_lines_get(lines, put.used, "job_key", value, sizeof(value)));
    assert_string_equal(value, identity.job_key);
}

static void
the_lines_have_our_identity_and_the_token_only_when_given(void **state)
{
    char *const env[] = {NULL};
    char *const argv[] = {(char[]){"./train"}, (char[]){"--steps"},
                          (char[]){"3"}, NULL};
    struct identity identity;
    char lines[4096];
    char value[256];
    struct ck_lines put;

    (void)state;
    assert_int_equal(identity_find(&identity, env, NULL), 0);
    identity_command(&identity, argv);
    put = ck_lines_in(lines, sizeof(lines));
    identity_lines(&identity, 42, NULL, &put);
    assert_true(ck_lines_get(lines, put.used, "command", value, sizeof(value)));
    assert_string_equal(value, "./train --steps 3");
    assert_true(ck_lines_get(lines, put.used, "pid", value, sizeof(value)));
    assert_string_equal(value, "42");
    assert_true(ck_lines_get(lines, put.used, "timens", value, sizeof(value)));
    assert_false(ck_lines_get(lines, put.used, "token", value, sizeof(value)));
    put = ck_lines_in(lines, sizeof(lines));
    identity_lines(&identity, 42, "beef", &put);
    assert_true(ck_lines_get(lines, put.used, "token", value, sizeof(value)));
    assert_string_equal(value, "beef");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_launcher_is_read_by_its_own_variables),
        cmocka_unit_test(a_worker_below_one_agent_has_a_rank_of_its_own),
        cmocka_unit_test(agents_of_one_start_share_key_hash_and_run_name),
        cmocka_unit_test(over_hosts_the_key_is_the_launchers_name_alone),
        cmocka_unit_test(an_unknown_size_is_not_one_host),
        cmocka_unit_test(a_job_is_named_as_its_scheduler_does),
        cmocka_unit_test(the_time_in_a_run_name_is_utc),
        cmocka_unit_test(ranks_by_variables_name_the_job_by_where_they_meet),
        cmocka_unit_test(a_wrapper_that_carries_our_rank_is_no_launcher),
        cmocka_unit_test(
            a_job_name_of_the_user_wins_and_is_made_safe_for_paths),
        cmocka_unit_test(a_job_key_is_as_it_travels_in_lines),
        cmocka_unit_test(
            the_lines_have_our_identity_and_the_token_only_when_given),
    };

    if (argc == 2 && strcmp(argv[1], "--key") == 0) {
        return key_print();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
