/* test_reportout.c - a report comes before the prompt, or not at all
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/collector/reportout.h"
#include "agent/process/frontpipe.h"

static const char report[] = "state=done\n\nck  train\n";
static const char body[] = "ck  train\n";

/* A launcher that runs, a front that listens, and what came to stderr. */
struct scene {
    struct targetstate targetstate;
    struct reportout out;
    pid_t launcher;
    int front;
    int stderr_read;
    char seen[256];
};

static int scene_begin(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    int channel[2], words[2];

    assert_non_null(scene);
    scene->launcher = fork(); /* before there is anything to hold open */
    if (scene->launcher == 0) {
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(frontpipe_open(channel), 0);
    assert_int_equal(pipe2(words, O_CLOEXEC | O_NONBLOCK), 0);
    targetstate_init(&scene->targetstate, channel[1], getpid(), true);
    scene->front = channel[0];
    scene->stderr_read = words[0];
    scene->out = (struct reportout){
        .targetstate = &scene->targetstate,
        .stderr_fd = words[1],
        .launcher = scene->launcher,
    };
    *state = scene;
    return 0;
}

static int scene_end(void **state)
{
    struct scene *scene = *state;

    (void)kill(scene->launcher, SIGKILL);
    (void)waitpid(scene->launcher, NULL, 0);
    targetstate_fini(&scene->targetstate);
    (void)close(scene->targetstate.channel);
    (void)close(scene->out.stderr_fd);
    (void)close(scene->stderr_read);
    if (scene->front >= 0) {
        (void)close(scene->front);
    }
    free(scene);
    return 0;
}

static void front_end(struct scene *scene)
{
    (void)close(scene->front);
    scene->front = -1;
}

/* It stays a process until it is waited for. */
static void launcher_end(struct scene *scene)
{
    siginfo_t info;

    assert_int_equal(kill(scene->launcher, SIGKILL), 0);
    assert_int_equal(
        waitid(P_PID, (id_t)scene->launcher, &info, WEXITED | WNOWAIT), 0);
}

static const char *on_stderr(struct scene *scene)
{
    ssize_t n = read(scene->stderr_read, scene->seen, sizeof(scene->seen) - 1);

    scene->seen[n > 0 ? n : 0] = '\0';
    return scene->seen;
}

static void the_front_prints_it(void **state)
{
    struct scene *scene = *state;
    struct frontpipe_message message;

    launcher_end(scene); /* that is the front's affair */
    reportout_show(&scene->out, report, strlen(report));
    assert_int_equal(frontpipe_receive(scene->front, &message), 1);
    assert_int_equal(message.type, FRONTPIPE_REPORT);
    assert_memory_equal(message.u.text, body, strlen(body));
    assert_string_equal(on_stderr(scene), "");
}

static void without_a_front_a_launcher_that_runs_gets_it(void **state)
{
    struct scene *scene = *state;

    front_end(scene);
    targetstate_step(&scene->targetstate);
    reportout_show(&scene->out, report, strlen(report));
    assert_string_equal(on_stderr(scene), body);
}

/* A front that ends between two looks at it, too. */
static void a_launcher_that_has_ended_gets_nothing(void **state)
{
    struct scene *scene = *state;

    launcher_end(scene);
    front_end(scene);
    reportout_show(&scene->out, report, strlen(report));
    assert_true(scene->targetstate.is_front_gone);
    reportout_show(&scene->out, report, strlen(report));
    assert_string_equal(on_stderr(scene), "");
}

static void of_a_job_that_was_asked_to_end_nothing_comes(void **state)
{
    struct scene *scene = *state;
    int32_t number = SIGTERM;

    assert_int_equal(
        frontpipe_send(scene->front, FRONTPIPE_FLUSH, &number, sizeof(number)),
        0);
    front_end(scene); /* and the collector has not noticed yet */
    reportout_show(&scene->out, report, strlen(report));
    assert_string_equal(on_stderr(scene), "");
}

/* The launcher's next signal came before the front had read the first. */
static void a_front_that_was_killed_was_asked_as_its_program(void **state)
{
    struct scene *scene = *state;

    front_end(scene);
    targetstate_step(&scene->targetstate);
    scene->targetstate.is_status_known = true;
    scene->targetstate.end.status = SIGTERM;
    reportout_show(&scene->out, report, strlen(report));
    assert_string_equal(on_stderr(scene), "");
    scene->targetstate.end.status = SIGSEGV; /* of itself */
    reportout_show(&scene->out, report, strlen(report));
    assert_string_equal(on_stderr(scene), body);
}

static void where_it_will_be_is_logged_while_a_shell_waits(void **state)
{
    struct scene *scene = *state;

    front_end(scene);
    reportout_promise(&scene->out, "/runs/one");
    assert_non_null(strstr(on_stderr(scene), "/runs/one/report.txt\n"));
    launcher_end(scene);
    reportout_promise(&scene->out, "/runs/one");
    assert_string_equal(on_stderr(scene), "");
}

#define FACT(f) cmocka_unit_test_setup_teardown(f, scene_begin, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(the_front_prints_it),
        FACT(without_a_front_a_launcher_that_runs_gets_it),
        FACT(a_launcher_that_has_ended_gets_nothing),
        FACT(of_a_job_that_was_asked_to_end_nothing_comes),
        FACT(a_front_that_was_killed_was_asked_as_its_program),
        FACT(where_it_will_be_is_logged_while_a_shell_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
