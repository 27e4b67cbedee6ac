/* test_partial.c - the program on runs with something unknown
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/merge/program.h"
#include "tests/merge/synth.h"

#define US ((int64_t)1000)
#define MS ((int64_t)1000000)
#define SITE ((uint64_t)0x401000)

/* Rank 0 with two kernels, and an EXIT record or none; 12 records were lost by
 * a reason, 0 = none. */
static char *ended_run(bool has_exit, enum ck_lost reason)
{
    const struct synth_rank who = {.rank = 0,
                                   .size = 1,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    struct ck_counter lost = {
        .e = {.kind = CK_KIND_LOST, .flags = CK_FLAG_RAW, .start = 5 * MS},
        .value = 12,
        .enabled = MS,
        .reason = reason};
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 9, &who);

    if (reason != 0) {
        synth_put(synth, &lost);
    }
    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, 1, 0, 0, "forward", 7);
    synth_text(synth, CK_KIND_NAME, 2, 0, 0, "MPI_Init", 8);
    synth_text(synth, CK_KIND_NAME, 3, 0, 0, "MPI_Barrier", 11);
    synth_call(synth, CK_KIND_MPI_CALL, 2, MS / 2, MS / 2, SITE, 1);
    synth_kernel(synth, 1, MS, MS, 100, 1);
    synth_kernel(synth, 1, 3 * MS, MS, 100, 2);
    synth_call(synth, CK_KIND_MPI_CALL, 3, 4 * MS, MS, SITE, 2);
    if (has_exit) {
        synth_exit(synth, 0, 10 * MS, 0);
    }
    synth_destroy(synth);
    return dir;
}

/* Rank 1, whose only call ends at 11 ms, and the rank itself then. */
static void other_put(const char *dir)
{
    const struct synth_rank who = {.rank = 1,
                                   .size = 2,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    struct synth *synth = synth_create(dir, 8, &who);

    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, 3, 0, 0, "MPI_Barrier", 11);
    synth_call(synth, CK_KIND_MPI_CALL, 3, 10 * MS, MS, SITE, 1);
    synth_exit(synth, 0, 11 * MS, 0);
    synth_destroy(synth);
}

static void a_rank_without_an_end_has_an_unattributed_tail(void **state)
{
    char *text = NULL;
    char *dir = ended_run(false, 0);

    (void)state;
    other_put(dir);
    assert_int_equal(program_merge(&text, "/", "-o json %s", dir), 3);
    /* The run ends with rank 1, at 11 ms. Rank 0 is known to have had no work
     * from 4 to 5 ms; what is behind its last record is no end of work. */
    assert_non_null(strstr(text, "\"dark\": \"end\""));
    assert_non_null(strstr(text, "\"dark_since_ns\": 5000000"));
    assert_non_null(strstr(text, "\"end_of_work\": 1000000"));
    assert_non_null(strstr(text, "\"unattributed\": 6000000"));
    assert_non_null(strstr(text, "\"ledger_closed\": true"));
    assert_int_equal(program_merge(&text, "/", "%s", dir), 3);
    assert_non_null(strstr(text,
                           "rank 0 has no recorded end\n"
                           "   its last call was MPI_Barrier, left at 4.50 ms\n"
                           "   what it did after its last record, at 4.50 ms, "
                           "is not known"));
    assert_non_null(strstr(text, "1 of 2 ranks recorded to the end"));
    free(text);
    synth_remove(dir);
}

/* Rank 0 ended by itself, rank 1 by a signal: all of both is there. */
static void a_rank_that_died_is_recorded_to_the_end(void **state)
{
    const struct synth_rank who = {.rank = 1,
                                   .size = 2,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    char *text = NULL;
    char *dir = ended_run(true, 0);
    struct synth *synth = synth_create(dir, 8, &who);

    (void)state;
    synth_exit(synth, 11, 9 * MS, 0);
    synth_destroy(synth);
    assert_int_equal(program_merge(&text, "/", "-o json %s", dir), 0);
    assert_non_null(strstr(text, "\"complete\": true"));
    assert_null(strstr(text, "core_dumped"));
    assert_int_equal(program_merge(&text, "/", "%s", dir), 0);
    assert_non_null(strstr(text, "rank 1 died of signal 11 (Segmentation "
                                 "fault) at"));
    assert_non_null(strstr(text, "2 of 2 ranks recorded to the end"));
    free(text);
    synth_remove(dir);
}

static void a_core_that_was_dumped_is_reported(void **state)
{
    const struct synth_rank who = {.rank = 1,
                                   .size = 2,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    char *text = NULL;
    char *dir = ended_run(true, 0);
    struct synth *synth = synth_create(dir, 8, &who);

    (void)state;
    synth_exit(synth, 11 | WCOREFLAG, 9 * MS, 0);
    synth_destroy(synth);
    assert_int_equal(program_merge(&text, "/", "-o json %s", dir), 0);
    assert_non_null(strstr(text, "\"core_dumped\": true"));
    assert_int_equal(program_merge(&text, "/", "%s", dir), 0);
    assert_non_null(strstr(text, "rank 1 died of signal 11 (Segmentation "
                                 "fault, core dumped) at"));
    free(text);
    synth_remove(dir);
}

static void a_rank_that_was_stopped_is_named(void **state)
{
    const struct synth_rank who = {.rank = 1,
                                   .size = 2,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    static const char lines[] = "status=0\nended=9000000\nstops=2\n"
                                "stopped_ns=1500000000\n";
    char *text = NULL;
    char *dir = ended_run(true, 0);
    struct synth *synth = synth_create(dir, 8, &who);

    (void)state;
    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    synth_text(synth, CK_KIND_EXIT, 0, 0, 0, lines, strlen(lines));
    synth_destroy(synth);
    assert_int_equal(program_merge(&text, "/", "-o json %s", dir), 0);
    assert_non_null(strstr(text, "\"stops\": 2"));
    assert_non_null(strstr(text, "\"stopped_ns\": 1500000000"));
    assert_int_equal(program_merge(&text, "/", "%s", dir), 0);
    assert_non_null(strstr(text, "Stopped by a signal (SIGSTOP, SIGTSTP): rank "
                                 "1, for 1.50 s;"));
    free(text);
    synth_remove(dir);
}

static void nothing_is_idle_behind_a_limit(void **state)
{
    char *text = NULL;
    char *dir = ended_run(true, CK_LOST_LIMIT);

    (void)state;
    assert_int_equal(program_merge(&text, "/", "-o json %s", dir), 0);
    assert_non_null(strstr(text, "\"dark\": \"limit\""));
    assert_non_null(strstr(text, "\"dark_since_ns\": 5000000"));
    assert_non_null(strstr(text, "\"lost\": 12,\n"
                                 "    \"lost_exact\": false"));
    /* MPI_Init ends at 1 ms, the region at 10: [1,2) and [3,4) are busy, to
     * 5 ms there was no work, and what is behind is not known. */
    assert_non_null(strstr(text, "\"end_of_work\": 1000000"));
    assert_non_null(strstr(text, "\"lost_data\": 5000000"));
    assert_int_equal(program_merge(&text, "/", "%s", dir), 0);
    assert_non_null(strstr(text, "rank 0: it reached --limit: what it did from "
                                 "4.50 ms on is not known"));
    assert_non_null(strstr(text,
                           "rank 0: --limit was reached at 4.50 ms, nothing "
                           "was kept from then on"));
    assert_non_null(strstr(text, "at least 12 lost: --limit was reached"));
    free(text);
    synth_remove(dir);
}

static void a_loss_has_an_advice(void **state)
{
    static const struct {
        enum ck_lost reason;
        const char *line;
    } cases[] = {
        {CK_LOST_RING, " 12 lost: a thread's ring was full\n"
                       "               Try: a larger --slot-bytes, with "},
        {CK_LOST_NOSLOT, " 12 lost: no ring was free for a thread\n"
                         "               Try: fewer threads at a time, "},
        {CK_LOST_SPOOL, " 12 lost: outbox and spool were full, or the disk\n"
                        "               Try: a larger --spool-limit, "},
        /* Nothing helps there: the next line follows. */
        {CK_LOST_REENTRY, " 12 lost: a signal handler interrupted a "
                          "recording\n             ledger"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *dir = ended_run(true, cases[i].reason);
        char *text = NULL;

        assert_int_equal(program_merge(&text, "/", "%s", dir), 0);
        assert_non_null(strstr(text, cases[i].line));
        free(text);
        synth_remove(dir);
    }
}

/* A run whose rank had no collector from 2 to 3.25 s, and from 7 s on. */
static char *away_run(bool has_exit)
{
    const struct synth_rank who = {.rank = 3,
                                   .size = 4,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    struct ck_counter away = {
        .e = {.kind = CK_KIND_AWAY, .flags = CK_FLAG_RAW, .start = 7000 * MS}};
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 9, &who);

    synth_put(synth, &away);
    away.e.start = 2000 * MS;
    away.enabled = 1250 * MS;
    synth_put(synth, &away);
    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, 1, 0, 0, "MPI_Init", 8);
    synth_call(synth, CK_KIND_MPI_CALL, 1, 500 * MS, MS, SITE, 1);
    synth_call(synth, CK_KIND_MPI_CALL, 1, 7500 * MS, MS, SITE, 2);
    if (has_exit) {
        synth_exit(synth, 0, 8000 * MS, 0);
    }
    synth_destroy(synth);
    return dir;
}

static void
a_time_without_a_collector_is_reported_by_rank_on_the_axis(void **state)
{
    char *text = NULL;
    char *dir = away_run(false);

    (void)state;
    (void)program_merge(&text, "/", "%s", dir);
    assert_non_null(strstr(text, "rank 3: no collector ran for 1.25 s, from "
                                 "1.50 s on\n"));
    assert_non_null(strstr(text, "rank 3: no collector ran from 6.50 s on, to "
                                 "its end\n"));
    (void)program_merge(&text, "/", "-o json %s", dir);
    assert_non_null(strstr(text, "\"from_ns\": 2000000000,\n"
                                 "        \"to_ns\": 3250000000,\n"
                                 "        \"ns\": 1250000000"));
    synth_remove(dir);
    /* An agent with a recorded end was there then. */
    dir = away_run(true);
    (void)program_merge(&text, "/", "%s", dir);
    assert_non_null(strstr(text, "no collector ran for 1.25 s"));
    assert_null(strstr(text, "to its end"));
    free(text);
    synth_remove(dir);
}

static void an_end_without_finalize_is_named(void **state)
{
    char *text = NULL;
    char *dir = ended_run(true, 0);

    (void)state;
    assert_int_equal(program_merge(&text, "/", "%s", dir), 0);
    assert_non_null(strstr(text,
                           "rank 0 ended with status 0 without MPI_Finalize "
                           "at 9.50 ms"));
    assert_int_equal(program_merge(&text, "/", "-o json %s", dir), 0);
    assert_non_null(strstr(text, "\"no_finalize\": true"));
    free(text);
    synth_remove(dir);
}

static void a_run_without_its_manifest_is_merged_and_partial(void **state)
{
    static const struct {
        const char *command; /* on the manifest */
        const char *why;
    } cases[] = {{"rm", "it is missing"}, {"truncate -s 9", "byte "}};
    char *dir = ended_run(true, 0);
    char *text = NULL;

    (void)state;
    assert_int_equal(program_merge(&text, "/", "--verify %s", dir), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char command[8192];

        (void)snprintf(command, sizeof(command), "%s %s/manifest.json",
                       cases[i].command, dir);
        assert_int_equal(system(command), 0);
        assert_int_equal(program_merge(&text, "/", "%s", dir), 3);
        assert_non_null(
            strstr(text, "manifest.json of the run could not be read"));
        assert_non_null(strstr(text, "manifest.json: "));
        assert_non_null(strstr(text, cases[i].why));
        assert_non_null(strstr(text, "which agents took part"));
        assert_non_null(strstr(text, "Devices were busy 22.2 %"));
        assert_int_equal(program_merge(&text, "/", "--verify %s", dir), 3);
        assert_non_null(strstr(text, "manifest.json: "));
        assert_non_null(strstr(text, cases[i].why));
        synth_manifest(dir, "");
    }
    assert_int_equal(program_merge(&text, "/", "--verify %s", dir), 0);
    free(text);
    synth_remove(dir);
}

#define AGENT_9 "6167656e742d39000000000000000000"
#define AGENT_8 "6167656e742d38000000000000000000"

/* The manifest has where the agent put what its ckagg had no room for. */
static void spool_tell(const char *dir, const char *at, const char *agent)
{
    char text[8192];

    (void)snprintf(text, sizeof(text),
                   "{\"agent\": \"" AGENT_9 "\", \"rank\": 0, \"host\": "
                   "\"far\\u001b\", \"records\": 8, \"made_records\": 28, "
                   "\"lost\": 5, \"spool\": \"%s/spool-%s.ck\"}",
                   at, agent);
    synth_manifest(dir, text);
}

static void a_spool_that_is_elsewhere_is_counted_and_named(void **state)
{
    char *text = NULL;
    char *dir = ended_run(false, 0);

    (void)state;
    spool_tell(dir, "/nowhere", AGENT_9);
    assert_int_equal(program_merge(&text, "/", "%s", dir), 3);
    assert_non_null(strstr(text, "not all was kept: 25 of "));
    assert_non_null(strstr(text, "20 lost: kept in a file that is not in "));
    assert_non_null(strstr(text, "20 records of rank 0 are on far? in\n"));
    assert_non_null(strstr(text, "/nowhere/spool-" AGENT_9 ".ck\n"));
    assert_non_null(strstr(text, "5 lost: outbox and spool were full"));
    free(text);
    synth_remove(dir);
}

/* Its name came from an agent: no file of another name is opened. */
static void a_spool_that_is_here_is_read_if_it_is_that_agents(void **state)
{
    char command[8192];
    char *text = NULL;
    char *dir = ended_run(false, 0);
    char *place = ended_run(true, 0);

    (void)state;
    (void)snprintf(command, sizeof(command),
                   "cd %s && mv seg-" AGENT_9 ".ck spool-" AGENT_9 ".ck",
                   place);
    assert_int_equal(system(command), 0);
    spool_tell(dir, place, AGENT_9);
    assert_int_equal(program_merge(&text, "/", "%s", dir), 0);
    assert_non_null(strstr(text, "TRUST       0 of "));
    assert_non_null(strstr(text, "1 of 1 rank recorded to the end"));
    (void)snprintf(command, sizeof(command),
                   "cd %s && mv spool-" AGENT_9 ".ck spool-" AGENT_8 ".ck",
                   place);
    assert_int_equal(system(command), 0);
    spool_tell(dir, place, AGENT_8);
    assert_int_equal(program_merge(&text, "/", "%s", dir), 3);
    assert_non_null(strstr(text, "not all was kept: 25 of "));
    free(text);
    synth_remove(dir);
    synth_remove(place);
}

static void without_last_records_the_loss_is_at_least(void **state)
{
    char *text = NULL;
    char *dir = ended_run(false, 0);

    (void)state;
    synth_manifest(dir, "{\"agent\": \"" AGENT_9 "\", \"rank\": 0, "
                        "\"records\": 8, \"made_records\": 8}");
    assert_int_equal(program_merge(&text, "/", "%s", dir), 3);
    assert_non_null(strstr(text, "TRUST       at least 0 of "));
    free(text);
    synth_remove(dir);
}

/* The manifest had counted the records of a segment that is gone. */
static void records_that_are_gone_are_counted_exactly(void **state)
{
    char *text = NULL;
    char *dir = ended_run(true, 0);

    (void)state;
    synth_manifest(dir, "{\"agent\": \"6167656e742d39000000000000000000\", "
                        "\"rank\": 0, \"records\": 19}, "
                        "{\"agent\": \"6167656e742d38000000000000000000\", "
                        "\"rank\": 4, \"records\": 1000}");
    assert_int_equal(program_merge(&text, "/", "--verify %s", dir), 3);
    assert_non_null(strstr(text,
                           "1010 records that were stored, by manifest.json, "
                           "are not in the run any more"));
    assert_non_null(strstr(text, "rank 4 is not in the run"));
    assert_int_equal(program_merge(&text, "/", "%s", dir), 3);
    assert_non_null(strstr(text, "not all was kept: 1,010 of 1,014 events were "
                                 "lost"));
    assert_non_null(strstr(text, "10 lost: damaged, cut off or never "
                                 "arrived\n"));
    assert_non_null(strstr(text, "1,000 lost: their segments are not "
                                 "in the run any more"));
    free(text);
    synth_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_without_an_end_has_an_unattributed_tail),
        cmocka_unit_test(a_rank_that_died_is_recorded_to_the_end),
        cmocka_unit_test(a_core_that_was_dumped_is_reported),
        cmocka_unit_test(a_rank_that_was_stopped_is_named),
        cmocka_unit_test(nothing_is_idle_behind_a_limit),
        cmocka_unit_test(a_loss_has_an_advice),
        cmocka_unit_test(
            a_time_without_a_collector_is_reported_by_rank_on_the_axis),
        cmocka_unit_test(an_end_without_finalize_is_named),
        cmocka_unit_test(a_spool_that_is_elsewhere_is_counted_and_named),
        cmocka_unit_test(a_spool_that_is_here_is_read_if_it_is_that_agents),
        cmocka_unit_test(without_last_records_the_loss_is_at_least),
        cmocka_unit_test(a_run_without_its_manifest_is_merged_and_partial),
        cmocka_unit_test(records_that_are_gone_are_counted_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
