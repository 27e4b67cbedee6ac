/* test_defs.c - whose number a process of an agent has
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/defs.h"
#include "merge/model/comm.h"
#include "tests/merge/program.h"
#include "tests/merge/synth.h"

#define MS ((int64_t)1000000)
#define SITE ((uint64_t)0x401000)
#define LAUNCHER 1 /* incarnations */
#define WORKER 2

struct own {
    int32_t rank;
    int32_t size;
};

/* The rank that a process without one of its own has, under an agent that is
 * `agent`, beside a process that has its own. */
static int32_t rank_beside(struct own agent, const struct own *own)
{
    static const uint8_t id[16] = {1};
    struct defs *defs = defs_create();
    uint32_t index = defs_agent_find(defs, id);
    uint32_t plain = defs_process_find(defs, index, LAUNCHER);
    int32_t rank;

    defs->agents[index].rank = agent.rank;
    defs->agents[index].size = agent.size;
    if (own != NULL) {
        uint32_t other = defs_process_find(defs, index, WORKER);

        defs->processes[other].has_identity = true;
        defs->processes[other].rank = own->rank;
        defs->processes[other].size = own->size;
    }
    defs_close(defs);
    comm_close(defs);
    rank = defs->processes[plain].rank;
    defs_destroy(defs);
    return rank;
}

static void a_process_has_the_number_of_its_agent(void **state)
{
    static const struct own same = {2, 4};

    (void)state;
    assert_int_equal(rank_beside((struct own){2, 4}, NULL), 2);
    /* A child got the number once more, in another variable. */
    assert_int_equal(rank_beside((struct own){2, 4}, &same), 2);
}

static void beside_other_numbers_it_has_none(void **state)
{
    static const struct own first = {0, 2}, last = {5, 8};

    (void)state;
    /* No launcher numbers the agent: that is rank 0, alone. */
    assert_int_equal(rank_beside((struct own){0, 1}, &first),
                     DEFS_RANK_UNKNOWN);
    /* An agent a host, and several ranks below it. */
    assert_int_equal(rank_beside((struct own){1, 2}, &last), DEFS_RANK_UNKNOWN);
}

static void calls_put(struct synth *synth, uint32_t incarnation, uint32_t name)
{
    synth_stream(synth, incarnation, incarnation, 100 + incarnation);
    synth_text(synth, CK_KIND_NAME, 1, 0, 0, "read", 4);
    synth_text(synth, CK_KIND_NAME, 2, 0, 0, "waitpid", 7);
    synth_call(synth, CK_KIND_POSIX, name, MS, MS, SITE, 1);
}

/* torchrun below one agent: its own process, and a worker of two. */
static void text_json_and_trace_agree_on_the_launcher(void **state)
{
    static const char lines[] = "rank=0\nsize=2\npid=2002\n";
    const struct synth_rank who = {.rank = 0,
                                   .size = 1,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 9, &who);
    char *text = NULL;

    (void)state;
    synth_text(synth, CK_KIND_PROCESS, LAUNCHER, 2001, 0, "torchrun", 8);
    synth_text(synth, CK_KIND_PROCESS, WORKER, 2002, 0, "python", 6);
    synth_text(synth, CK_KIND_IDENTITY, 0, WORKER, 0, lines, strlen(lines));
    calls_put(synth, LAUNCHER, 2);
    calls_put(synth, WORKER, 1);
    synth_exit(synth, 0, 10 * MS, 0);
    synth_destroy(synth);
    (void)program_merge(&text, "/", "-o json %s", dir);
    assert_non_null(strstr(text, "\"name\": \"waitpid\""));
    assert_non_null(
        strstr(strstr(text, "\"name\": \"waitpid\""), "\"ranks\": 0"));
    assert_non_null(strstr(strstr(text, "\"name\": \"read\""), "\"ranks\": 1"));
    (void)program_merge(&text, "/", "-o chrome=/dev/stdout %s", dir);
    assert_non_null(strstr(text, "\"process 2001 (node)\""));
    assert_non_null(strstr(text, "\"rank 0 (node)\""));
    free(text);
    synth_remove(dir);
}

/* A device, and two parts that the program made devices of, the second one of
 * the first one. */
static void parts_of_a_device_are_none_of_their_own(void **state)
{
    static const uint8_t id[16] = {1};
    static const uint32_t parents[] = {0, 10, 11};
    struct defs *defs = defs_create();
    uint32_t process = defs_process_find(defs, defs_agent_find(defs, id), 1);
    struct defs_process *its = &defs->processes[process];

    (void)state;
    its->devices = calloc(3, sizeof(*its->devices));
    assert_non_null(its->devices);
    its->devices_count = its->devices_room = 3;
    for (uint32_t i = 0; i < 3; i++) {
        its->devices[i] = (struct defs_device){
            .number = 10 + i, .parent = parents[i], .name = "cpu", .uuid = ""};
    }
    defs_close(defs);
    comm_close(defs);
    assert_int_equal(defs->physicals_count, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(defs->processes[process].devices[i].physical, 0);
    }
    defs_destroy(defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_has_the_number_of_its_agent),
        cmocka_unit_test(beside_other_numbers_it_has_none),
        cmocka_unit_test(parts_of_a_device_are_none_of_their_own),
        cmocka_unit_test(text_json_and_trace_agree_on_the_launcher),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
