/* test_executed.c - which program a run is of, behind what only started it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/model/executed.h"

static struct defs *defs;

/* What an agent with that command and these processes ran; those
 * with a star used MPI. */
static const char *executed(const char *command, const char *const *processes)
{
    uint8_t id[16] = {1};
    uint32_t agent;

    defs_destroy(defs);
    defs = defs_create();
    agent = defs_agent_find(defs, id);
    defs->agents[agent].command = command;
    assert_int_equal(defs_process_find(defs, agent, 0), 0);
    for (uint32_t i = 0; processes[i] != NULL; i++) {
        uint32_t process = defs_process_find(defs, agent, i + 1);

        defs->processes[process].command =
            processes[i] + (processes[i][0] == '*');
        if (processes[i][0] == '*') {
            stamps_add(&defs->processes[process].init, false, 1, 2);
        }
    }
    return executed_find(defs, agent);
}

#define EXECUTED(command, ...)                                                 \
    executed(command, (const char *const[]){__VA_ARGS__, NULL})

static int teardown(void **state)
{
    (void)state;
    defs_destroy(defs);
    defs = NULL;
    return 0;
}

static void what_env_and_others_start_is_the_program(void **state)
{
    static const char *const commands[] = {
        "env A=1 B=2 ./train --big",        "/usr/bin/nice -n 5 ./train --big",
        "numactl -N 0 -m 0 ./train --big",  "timeout -k 1 10 ./train --big",
        "env A=1 nice ./train --big",       "sh -c ./train --big",
        "/bin/bash -lc exec ./train --big",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        assert_string_equal(EXECUTED(commands[i], "./train --big"),
                            "./train --big");
    }
}

static void what_starts_it_may_have_recorded_too(void **state)
{
    (void)state;
    assert_string_equal(EXECUTED("timeout 10 ./train", "timeout 10 ./train",
                                 "./train 1", "/a/train 2"),
                        "/a/train 2");
}

static void a_command_that_is_the_program_keeps_its_name(void **state)
{
    (void)state;
    assert_string_equal(EXECUTED("./train", "./worker"), "./train");
    assert_string_equal(EXECUTED("./pipe.sh", "/bin/sh ./pipe.sh", "./a"),
                        "./pipe.sh");
    assert_string_equal(EXECUTED("sh pipe.sh", "./a"), "sh pipe.sh");
    assert_string_equal(EXECUTED("bash --rcfile ./train", "./a"),
                        "bash --rcfile ./train");
    assert_string_equal(EXECUTED("mpirun -n 2 ./a", "./a"), "mpirun -n 2 ./a");
}

static void of_several_programs_the_one_with_mpi_counts(void **state)
{
    (void)state;
    assert_string_equal(EXECUTED("sh -c ./a | ./b", "./a", "./b"),
                        "sh -c ./a | ./b");
    assert_string_equal(EXECUTED("sh -c ./a; ./b", "./a", "*./b"), "./b");
}

/* As the collector names a child that was gone, or not yet another program. */
static void a_process_without_a_command_is_no_other_program(void **state)
{
    (void)state;
    assert_string_equal(EXECUTED("sh -c ./a | ./a", "./a 1", "?", "./a 2"),
                        "./a 2");
}

static void where_none_recorded_the_command_is_all_there_is(void **state)
{
    (void)state;
    assert_string_equal(EXECUTED("env ./a", NULL), "env ./a");
}

static void python_is_named_with_what_it_runs(void **state)
{
    static const char *const names[][2] = {
        {"/opt/ocean --big", "ocean"},
        {"python3 /opt/train.py 7", "python3 train.py"},
        {"/usr/bin/python3.11 -u -X dev -W ignore ./a.py -c",
         "python3.11 a.py"},
        {"python -m torch.distributed.run a.py",
         "python torch.distributed.run"},
        {"python3 -c import_a ./b.py", "python3"},
        {"python3 - a.py", "python3"},
        {"python3", "python3"},
        {"perl ./a.pl", "perl"},
    };
    char name[64];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)executed_name(names[i][0], name, sizeof(name));
        assert_string_equal(name, names[i][1]);
    }
    assert_int_equal(executed_name("/opt/ocean", name, 4), 3);
    assert_string_equal(name, "oce");
}

#define CASE(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_env_and_others_start_is_the_program),
        CASE(what_starts_it_may_have_recorded_too),
        CASE(a_command_that_is_the_program_keeps_its_name),
        CASE(of_several_programs_the_one_with_mpi_counts),
        CASE(a_process_without_a_command_is_no_other_program),
        CASE(where_none_recorded_the_command_is_all_there_is),
        CASE(python_is_named_with_what_it_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
