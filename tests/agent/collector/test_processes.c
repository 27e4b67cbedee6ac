/* test_processes.c - which process an entry of the ring's table is of
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/collector/processes.h"
#include "agent/ring/ringfile.h"
#include "tests/agent/said.h"
#include "tests/workdir.h"

extern char **environ;

struct scene {
    struct ringfile file;
    struct said said;
    struct processes *processes;
    struct ck_ring ring; /* as the program maps it */
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct ringfile_wish wish = {
        .dir = work, .sharers = 1, .clock = CK_CLOCK_RAW, .agent = {7}};
    struct ck_err err;

    assert_non_null(scene);
    assert_int_equal(workdir_setup(state), 0);
    assert_int_equal(ringfile_create(&scene->file, &wish, &err), 0);
    said_init(&scene->said);
    (void)setenv("CKAGENT_RING", scene->file.path, 1);
    assert_int_equal(ck_ring_attach(&scene->ring, CK_LIBRARY_ANNOTATE), 0);
    scene->processes = calloc(1, sizeof(*scene->processes));
    assert_non_null(scene->processes);
    scene->processes->ring = &scene->file;
    scene->processes->header = scene->file.header;
    scene->processes->slots = scene->file.plan.slots;
    scene->processes->selfstream = scene->said.selfstream;
    scene->processes->env = environ;
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    said_fini(&scene->said);
    ringfile_unlink(&scene->file);
    ringfile_fini(&scene->file);
    free(scene->processes);
    free(scene);
    return rmdir(work);
}

/* This program's own entry. */
static unsigned entry_find(const struct scene *scene)
{
    const struct ck_ring_process *table = ck_ring_processes(scene->file.header);
    unsigned at = 0;

    while (table[at].pid != (uint32_t)getpid()) {
        at++;
        assert_true(at < CK_RING_PROCESSES);
    }
    return at;
}

static void command_is(struct scene *scene, const char *end)
{
    const struct ck_text *text;
    size_t length = strlen(end);

    processes_step(scene->processes);
    said_read(&scene->said);
    text = said_next(&scene->said, CK_KIND_PROCESS, NULL);
    assert_non_null(text);
    assert_true(text->length >= length);
    assert_memory_equal(ck_text_bytes(text) + text->length - length, end,
                        length);
}

static void a_program_that_has_the_ring_mapped_is_read(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(processes_pid(scene->processes, entry_find(scene)),
                     getpid());
    command_is(scene, "test_agent_processes");
}

/* The program may write any number there, and root's collector could read any
 * process: what that is called, its variables, its stacks. */
static void the_number_of_another_process_is_not_believed(void **state)
{
    struct scene *scene = *state;
    unsigned at = entry_find(scene);
    pid_t pid = fork();

    if (pid == 0) {
        (void)execl("/bin/sleep", "sleep", "1000", (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    ck_ring_processes(scene->file.header)[at].pid = (uint32_t)pid;
    while (processes_pid(scene->processes, at) != 0) {
        (void)usleep(1000); /* until it is another program */
    }
    command_is(scene, "?");
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(a_program_that_has_the_ring_mapped_is_read),
        CASE(the_number_of_another_process_is_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
