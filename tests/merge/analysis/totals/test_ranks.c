/* test_ranks.c - ranks that share a ckagent, and how they and it ended
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ranks 0 to 2 are processes below one ckagent, whose own program is their
 * launcher; rank r has r + 1 kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/merge/program.h"
#include "tests/merge/synth.h"

#define US ((int64_t)1000)
#define MS ((int64_t)1000000)
#define SITE ((uint64_t)0x401000)
#define RANKS 3

struct fixture {
    char *dir;
    struct synth *synth;
    char *text;
};

static void rank_put(struct synth *synth, uint32_t rank)
{
    uint32_t incarnation = rank + 1;
    char lines[64];
    int length =
        snprintf(lines, sizeof(lines), "rank=%u\nsize=%d\n", rank, RANKS);

    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    synth_text(synth, CK_KIND_IDENTITY, 0, incarnation, 0, lines,
               (size_t)length);
    synth_stream(synth, incarnation, rank, 100 + rank);
    synth_text(synth, CK_KIND_NAME, 1, 0, 0, "forward", 7);
    for (uint32_t i = 0; i <= rank; i++) {
        synth_kernel(synth, 1, (1 + i) * MS, MS / 2, 100 + rank, i + 1);
    }
}

static const struct synth_rank launcher = {
    .rank = -1, .host = "node", .timens = "t", .clock = CK_CLOCK_RAW};

static int setup(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){.dir = synth_dir()};
    fixture.synth = synth_create(fixture.dir, 9, &launcher);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        rank_put(fixture.synth, rank);
    }
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    synth_destroy(fixture->synth);
    synth_remove(fixture->dir);
    free(fixture->text);
    return 0;
}

/* The launcher ends; then ckmerge's status with these options. */
static int merge_ended(struct fixture *fixture, int status, const char *options)
{
    if (fixture->synth != NULL) {
        synth_exit(fixture->synth, status, 10 * MS, 0);
        synth_destroy(fixture->synth);
        fixture->synth = NULL;
    }
    return program_merge(&fixture->text, "/", "%s %s", options, fixture->dir);
}

static void says(const struct fixture *fixture, const char *said)
{
    if (strstr(fixture->text, said) == NULL) {
        fail_msg("%s\nnot said: %s", fixture->text, said);
    }
}

static void the_status_of_a_launcher_is_not_its_ranks(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge_ended(fixture, 139 << 8, ""), 0);
    says(fixture, " the launcher of ranks 0-2 ended with status 139 at "
                  "9.00 ms; how each of them ended");
    assert_null(strstr(fixture->text, "rank 1 ended"));
    assert_int_equal(merge_ended(fixture, 139 << 8, "-o json"), 0);
    says(fixture, "\"end\": \"shared\",\n      \"code\": null,\n"
                  "      \"end_time_ns\": null");
    says(fixture, "\"end\": \"exited\",\n      \"code\": 139");
}

static void a_process_that_was_seen_to_end_ends_its_rank(void **state)
{
    static const char lines[] = "ended=6000000\n";
    struct fixture *fixture = *state;

    synth_stream(fixture->synth, 0, CK_SLOT_COLLECTOR, 0);
    synth_text(fixture->synth, CK_KIND_ENDED, 2, 0, 0, lines, strlen(lines));
    assert_int_equal(merge_ended(fixture, 139 << 8, "-o json"), 0);
    says(fixture, "\"end\": \"shared\",\n      \"code\": null,\n"
                  "      \"end_time_ns\": 6000000");
    says(fixture, "\"end\": \"shared\",\n      \"code\": null,\n"
                  "      \"end_time_ns\": null");
    says(fixture, "\"gone_ns\": 4000000");
}

static void a_launcher_that_ended_well_is_no_news(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge_ended(fixture, 0, ""), 0);
    assert_null(strstr(fixture->text, "launcher"));
    assert_null(strstr(fixture->text, "rank 1 ended"));
}

static void each_rank_has_the_events_of_its_own_processes(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge_ended(fixture, 0, "-o json"), 0);
    says(fixture, "\"events\": 1,\n      \"lost\": 0");
    says(fixture, "\"events\": 2,\n      \"lost\": 0");
    says(fixture, "\"events\": 3,\n      \"lost\": 0");
}

static void records_that_one_of_several_ranks_lost_are_of_none(void **state)
{
    struct ck_counter lost = {
        .e = {.kind = CK_KIND_LOST, .flags = CK_FLAG_RAW, .start = 5 * MS},
        .value = 12,
        .enabled = MS,
        .reason = CK_LOST_RING};
    struct fixture *fixture = *state;

    synth_stream(fixture->synth, 0, CK_SLOT_COLLECTOR, 0);
    synth_put(fixture->synth, &lost);
    assert_int_equal(merge_ended(fixture, 0, "-o json"), 0);
    says(fixture, "\"lost\": null");
    assert_null(strstr(fixture->text, "      \"lost\": 12"));
}

/* A process of rank 0, which began and, if it did, ended then. */
static void
process_put(struct fixture *fixture, uint32_t incarnation, const char *lines)
{
    char text[256];
    int length =
        snprintf(text, sizeof(text), "rank=0\nsize=%d\n%s", RANKS, lines);

    synth_stream(fixture->synth, 0, CK_SLOT_COLLECTOR, 0);
    synth_text(fixture->synth, CK_KIND_PROCESS, incarnation, 1000 + incarnation,
               0, "python3", 7);
    synth_text(fixture->synth, CK_KIND_IDENTITY, 0, incarnation, 0, text,
               (size_t)length);
}

static void
end_put(struct fixture *fixture, uint32_t incarnation, const char *lines)
{
    synth_text(fixture->synth, CK_KIND_ENDED, incarnation, 0, 0, lines,
               strlen(lines));
}

/* torchrun counts the failures of its own host. That of process 12 has none,
 * and its rank was started again all the same; 13 comes from the worker 12. */
static void another_worker_of_one_torchrun_is_a_restart(void **state)
{
    struct fixture *fixture = *state;

    process_put(fixture, 11,
                "restart=0\nstarted=2000000\nworker=1011\n"
                "worker_ticks=5\nworker_parent=70\n");
    end_put(fixture, 11, "ended=3000000\n");
    process_put(fixture, 13,
                "restart=0\nstarted=6000000\nworker=1012\n"
                "worker_ticks=6\nworker_parent=70\n");
    end_put(fixture, 13, "ended=7000000\n");
    process_put(fixture, 12,
                "restart=0\nstarted=5000000\nworker=1012\n"
                "worker_ticks=6\nworker_parent=70\n");
    assert_int_equal(merge_ended(fixture, 0, ""), 0);
    says(fixture, " rank 0 was started again at 4.00 ms (restart 1), 2.00 ms "
                  "after it ended\n");
    assert_int_equal(merge_ended(fixture, 0, "-o json"), 0);
    says(fixture, "\"restarts\": [\n        {\n          \"number\": 1,\n"
                  "          \"start_rel_ns\": 4000000,\n"
                  "          \"start_ns\": 5000000,\n"
                  "          \"end_rel_ns\": null,");
    says(fixture, "\"incarnations\": [\n        {\n          \"number\": 0,\n"
                  "          \"start_rel_ns\": 1000000,\n"
                  "          \"start_ns\": 2000000,\n"
                  "          \"end_rel_ns\": 2000000,");
}

/* Two jobs of one script, each with a torchrun of its own. */
static void a_worker_of_another_torchrun_is_no_restart(void **state)
{
    struct fixture *fixture = *state;

    process_put(fixture, 11,
                "restart=0\nstarted=2000000\nworker=1011\n"
                "worker_ticks=5\nworker_parent=70\n");
    process_put(fixture, 12,
                "restart=0\nstarted=5000000\nworker=1012\n"
                "worker_ticks=6\nworker_parent=71\n");
    assert_int_equal(merge_ended(fixture, 0, "-o json"), 0);
    assert_null(strstr(fixture->text, "\"restarts\""));
    assert_null(strstr(fixture->text, "\"incarnations\""));
}

/* Of the start before ck saw no process, and of this one no parent. */
static void what_torchrun_counted_is_a_restart_by_itself(void **state)
{
    struct fixture *fixture = *state;

    process_put(fixture, 11, "restart=2\nstarted=2000000\n");
    process_put(fixture, 12, "restart=2\nstarted=3000000\n");
    assert_int_equal(merge_ended(fixture, 0, ""), 0);
    says(fixture, " rank 0 was started again at 1.00 ms (restart 2)\n");
}

/* By its manifest the job goes on, and its files are fresh. */
static void merge_going_on(struct fixture *fixture)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/manifest.json", fixture->dir);
    file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "{\"version\": 1, \"state\": \"run\", \"agents\": []}\n");
    assert_int_equal(fclose(file), 0);
    synth_destroy(fixture->synth);
    fixture->synth = NULL;
    assert_int_equal(program_merge(&fixture->text, "/", "%s", fixture->dir), 3);
}

static void who_is_not_seen_to_be_gone_was_still_running(void **state)
{
    struct fixture *fixture = *state;

    merge_going_on(fixture);
    says(fixture, " rank 0 was still running");
}

static void who_is_found_gone_has_no_recorded_end(void **state)
{
    struct fixture *fixture = *state;

    synth_stream(fixture->synth, 0, CK_SLOT_COLLECTOR, 0);
    end_put(fixture, 0, "ended=9000000\n");
    merge_going_on(fixture);
    assert_null(strstr(fixture->text, "still running"));
    says(fixture, " rank 0 has no recorded end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            the_status_of_a_launcher_is_not_its_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_process_that_was_seen_to_end_ends_its_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(a_launcher_that_ended_well_is_no_news,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            each_rank_has_the_events_of_its_own_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(
            records_that_one_of_several_ranks_lost_are_of_none, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            another_worker_of_one_torchrun_is_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_worker_of_another_torchrun_is_no_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(
            who_is_not_seen_to_be_gone_was_still_running, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_found_gone_has_no_recorded_end,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            what_torchrun_counted_is_a_restart_by_itself, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
