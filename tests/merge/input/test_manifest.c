/* test_manifest.c - what the manifest of a run has of its segments
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

#include "merge/input/manifest.h"
#include "tests/merge/reading.h"

/* A segment of agent 1 that lacks a frame of 7 marks, and its entry in the
 * manifest. */
static struct reading told_read(const char *agents)
{
    struct reading reading;

    reading_begin(&reading);
    synth_manifest(reading.dir, agents);
    synth_stream(reading.synth, 1, 0, 100);
    mark_put(reading.synth, 1, 1);
    synth_seek(reading.synth, 8);
    mark_put(reading.synth, 9, 1);
    reading_read(&reading);
    return reading;
}

/* The id of synth's agent 1, and another one. */
#define ONE "\"agent\": \"6167656e742d31000000000000000000\", \"rank\": 0"
#define TWO "\"agent\": \"6167656e742d32000000000000000000\", \"rank\": 5"

static void what_the_manifest_counted_is_missing_exactly(void **state)
{
    static const struct {
        const char *agents;
        uint64_t records; /* missing */
        bool is_exact;
    } cases[] = {
        /* Two marks and the identity are there. */
        {"{" ONE ", \"records\": 10, \"missing_units\": 0}", 7, true},
        {"{\"x\": [{}], " ONE ", \"records\": 7}", 4, true},
        /* Some never came: at least those of the segment. */
        {"{" ONE ", \"records\": 9, \"missing_units\": 1}", 6, false},
        /* It is older than the segment, or of another agent. */
        {"{" ONE ", \"records\": 2}", 1, false},
        {"{" TWO ", \"records\": 0}", 1, false},
        {"", 1, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct reading reading = told_read(cases[i].agents);
        const struct defs_agent *agent = &reading.defs->agents[0];

        assert_int_equal(agent->gap_records, cases[i].records);
        assert_int_equal(agent->is_gap_exact, cases[i].is_exact);
        assert_true(agent->gap_about >= agent->gap_records);
        assert_string_equal(rundir_damage(reading.store)->manifest, "");
        assert_int_equal(reading.defs->absents_count, 0);
        reading_end(&reading);
    }
}

/* Without a manifest: the agent had made frames of 20 records before its last
 * one; identity and two marks are there. */
static void what_the_agent_counted_is_missing(void **state)
{
    static const struct {
        const char *exit;
        uint64_t records;
        bool is_exact;
    } cases[] = {
        {"status=0\nevents=20\ncollectors=1\nunits=19\n", 17, true},
        {"status=0\nevents=4\ncollectors=1\nunits=19\n", 1, true},
        /* Another collector may have counted a frame twice. */
        {"status=0\nevents=20\ncollectors=2\nunits=19\n", 17, false},
        /* More was recovered than it took. */
        {"status=0\nevents=20\ncollectors=1\nunits=18\n", 17, false},
        {"status=0\nevents=20\n", 17, false},
        {"status=0\nevents=3\n", 1, false},
        {"status=0\n", 1, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct reading reading;
        struct synth *synth;

        reading_begin(&reading);
        synth = reading.synth;
        synth_stream(synth, 1, 0, 100);
        mark_put(synth, 1, 1);
        synth_seek(synth, 18);
        mark_put(synth, 9, 1);
        exit_put(synth, cases[i].exit);
        reading_read(&reading);
        assert_int_equal(reading.defs->agents[0].gap_records, cases[i].records);
        assert_int_equal(reading.defs->agents[0].is_gap_exact,
                         cases[i].is_exact);
        assert_int_equal(reading.defs->agents[0].gone, 0);
        reading_end(&reading);
    }
}

static void a_segment_that_is_not_there_any_more_is_reported(void **state)
{
    struct reading reading =
        told_read("{" ONE ", \"records\": 3}, {" TWO ", \"records\": 44}");

    (void)state;
    assert_int_equal(reading.defs->absents_count, 1);
    assert_int_equal(reading.defs->absents[0].rank, 5);
    assert_int_equal(reading.defs->absents[0].records, 44);
    reading_end(&reading);
}

static void manifest_put(const char *dir, const char *text, size_t length)
{
    char path[4096];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/manifest.json", dir);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void a_manifest_that_cannot_be_read_is_named(void **state)
{
    static const char sound[] =
        "{\"version\": 1, \"state\": \"done\", \"agents\": [{" ONE
        ", \"records\": 10}]}";
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"garbage", "byte 0"},
        {"{}", "it lacks its version"},
        {"{\"version\": 1}", "it lacks its version"},
        {"{\"version\": 1, \"agents\": [{\"agent\": "
         "\"00112233445566778899aabbccddeeff\", \"records\": -1}]}",
         "below 0"},
        {"[]", "no manifest"},
        {"{\"version\": 7}", "version 7"},
        {"{\"version\": \"1\"}", "no number"},
        {"{\"version\": 1, \"agents\": {}}", "no list"},
        {"{\"version\": 1, \"agents\": [{\"agent\": \"x\"}]}", "no id"},
        {"{\"version\": 1, \"agents\": [3]}", "damaged"},
        {"", "empty"},
    };
    struct reading reading;

    (void)state;
    reading_begin(&reading);
    synth_stream(reading.synth, 1, 0, 100);
    mark_put(reading.synth, 1, 1);
    reading_read(&reading);
    reading_close(&reading);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        manifest_put(reading.dir, cases[i].text, strlen(cases[i].text));
        assert_int_equal(reading_open(&reading, reading.dir), 0);
        if (strstr(rundir_damage(reading.store)->manifest, cases[i].why) ==
            NULL) {
            fail_msg("%s: %s", cases[i].text,
                     rundir_damage(reading.store)->manifest);
        }
        assert_false(reading.defs->agents[0].is_told);
        reading_close(&reading);
    }
    for (size_t cut = 0; cut < sizeof(sound); cut++) {
        manifest_put(reading.dir, sound, cut);
        assert_int_equal(reading_open(&reading, reading.dir), 0);
        assert_int_equal(rundir_damage(reading.store)->manifest[0] == '\0',
                         cut == sizeof(sound) - 1);
        assert_int_equal(reading.defs->agents[0].is_told,
                         cut == sizeof(sound) - 1);
        reading_close(&reading);
    }
    reading_end(&reading);
}

static void what_became_of_clock_probes_is_read(void **state)
{
    static const struct {
        const char *text;
        bool is_said;
    } cases[] = {
        {"{\"version\": 1, \"clock_probes\": {\"answered\": 9, \"x\": [1], "
         "\"malformed\": 5, \"foreign\": 4, \"untagged\": 3, "
         "\"replayed\": 2}, \"agents\": []}",
         true},
        {"{\"version\": 1, \"agents\": []}", false},
        {"{\"version\": 1, \"clock_probes\": 7}", false},
        {"{\"version\": 1, \"clock_probes\": {\"answered\": \"x\"}}", false},
        {"{\"version\": 1, \"clock_probes\": {\"answered\": 9", false},
    };
    char *dir = synth_dir();
    char path[4096];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/manifest.json", dir);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct manifest manifest;
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(cases[i].text, file) >= 0);
        assert_int_equal(fclose(file), 0);
        manifest_read(&manifest, dir);
        assert_int_equal(manifest.probes.is_said, cases[i].is_said);
        if (cases[i].is_said) {
            assert_int_equal(manifest.probes.answered, 9);
            assert_int_equal(manifest.probes.malformed, 5);
            assert_int_equal(manifest.probes.foreign, 4);
            assert_int_equal(manifest.probes.untagged, 3);
            assert_int_equal(manifest.probes.replayed, 2);
        }
        manifest_fini(&manifest);
    }
    synth_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_manifest_counted_is_missing_exactly),
        cmocka_unit_test(what_the_agent_counted_is_missing),
        cmocka_unit_test(a_segment_that_is_not_there_any_more_is_reported),
        cmocka_unit_test(a_manifest_that_cannot_be_read_is_named),
        cmocka_unit_test(what_became_of_clock_probes_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
