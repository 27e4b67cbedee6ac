/* test_job.c - when a job ends; names of run directories
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
#include <unistd.h>

#include "aggregator/jobs/job.h"

#define T (1000 * CK_TIME_S)

static const struct job_limits limits = {.silence = 60 * CK_TIME_S};

struct job_case {
    const char *what;
    struct job_census census;
    ck_time_t now;
    enum job_end end;
};

static void a_job_ends_when_all_have_left_or_the_time_is_up(void **state)
{
    static const struct job_case cases[] = {
        {"nobody yet", {.opened = T}, T + CK_TIME_S, JOB_END_NOT},
        {"nobody ever", {.opened = T}, T + JOB_NOBODY_LIMIT, JOB_END_NOBODY},
        {"some at work",
         {.peers = 4, .active = 1, .size = 4, .last_heard = T},
         T + CK_TIME_S,
         JOB_END_NOT},
        {"all left",
         {.peers = 4, .ranks = 4, .size = 4, .last_left = T},
         T,
         JOB_END_COMPLETE},
        {"all came, one died",
         {.peers = 4, .ranks = 4, .dead = 1, .size = 4, .last_left = T},
         T,
         JOB_END_DEAD},
        {"no size announced",
         {.peers = 1, .ranks = 0, .size = 0, .last_left = T},
         T,
         JOB_END_COMPLETE},
        {"one rank never came, just now",
         {.peers = 3,
          .ranks = 3,
          .size = 4,
          .first_hello = T - 20 * CK_TIME_S,
          .last_left = T},
         T + CK_TIME_S,
         JOB_END_NOT},
        {"one rank never came, grace over",
         {.peers = 3,
          .ranks = 3,
          .size = 4,
          .first_hello = T - 20 * CK_TIME_S,
          .last_left = T},
         T + JOB_LAST_LEFT_GRACE,
         JOB_END_MISSING},
        {"a short job gives slow ranks their time",
         {.peers = 3, .ranks = 3, .size = 4, .first_hello = T, .last_left = T},
         T + 3 * CK_TIME_S,
         JOB_END_NOT},
        {"but not more",
         {.peers = 3, .ranks = 3, .size = 4, .first_hello = T, .last_left = T},
         T + JOB_FIRST_HELLO_GRACE,
         JOB_END_MISSING},
        {"a signal waits for nobody new",
         {.peers = 3,
          .ranks = 3,
          .size = 4,
          .first_hello = T,
          .last_left = T,
          .is_hurried = true},
         T,
         JOB_END_MISSING},
        {"a signal waits for those at work",
         {.peers = 3,
          .active = 1,
          .size = 4,
          .last_heard = T,
          .is_hurried = true},
         T,
         JOB_END_NOT},
        {"silence",
         {.peers = 4, .active = 4, .size = 4, .last_heard = T},
         T + 60 * CK_TIME_S,
         JOB_END_TIMEOUT},
        {"stopped",
         {.peers = 4,
          .active = 4,
          .size = 4,
          .last_heard = T,
          .is_stopped = true},
         T,
         JOB_END_STOPPED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum job_end end = job_decide(&cases[i].census, &limits, cases[i].now);

        if (end != cases[i].end) {
            fail_msg("%s: '%s'", cases[i].what, job_end_name(end));
        }
    }
}

static void a_name_from_outside_is_no_path(void **state)
{
    static const char *const cases[][2] = {
        {"train", "train"},
        {"../../etc/passwd", "_._.._etc_passwd"},
        {"a b/c\n", "a_b_c_"},
        {"", "_"},
        {".", "_"},
        {"..", "_."},
        {"\xc3\xa4", "__"},
    };
    char name[JOB_NAME_BYTES];
    char longest[300];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        job_name_clean(cases[i][0], name);
        assert_string_equal(name, cases[i][1]);
    }
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    job_name_clean(longest, name);
    assert_int_equal(strlen(name), JOB_NAME_BYTES - 1);
}

static void probes_count_while_the_job_runs(void **state)
{
    const struct job_probes first = {100, 1, 2, 3, 4};
    const struct job_probes then = {150, 1, 4, 6, 8};
    const struct job_probes late = {900, 9, 9, 9, 9};
    char dir[] = "/tmp/ck-test-job-XXXXXX";
    struct job_options options = {.key = "k", .name = "n", .dir = dir};
    const struct job_probes *said;
    struct ck_err err;
    struct job *job;
    char path[64];

    (void)state;
    assert_non_null(mkdtemp(dir));
    job = job_create(&options, &err);
    assert_non_null(job);
    job_note_probes(job, &first, &then);
    job_set_state(job, JOB_MERGE);
    job_note_probes(job, &then, &late);
    said = &job_facts(job)->probes;
    assert_int_equal(said->answered, 50);
    assert_int_equal(said->malformed, 0);
    assert_int_equal(said->foreign, 2);
    assert_int_equal(said->untagged, 3);
    assert_int_equal(said->replayed, 4);
    job_destroy(job);
    (void)snprintf(path, sizeof(path), "%s/manifest.json", dir);
    (void)unlink(path);
    (void)rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_ends_when_all_have_left_or_the_time_is_up),
        cmocka_unit_test(a_name_from_outside_is_no_path),
        cmocka_unit_test(probes_count_while_the_job_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
