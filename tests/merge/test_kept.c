/* test_kept.c - a run whose beginning was discarded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/clocks/align.h"
#include "merge/input/rundir.h"
#include "merge/model/defs.h"
#include "merge/model/comm.h"
#include "merge/timeline/opencalls.h"
#include "merge/timeline/region.h"
#include "schema/store/run.h"
#include "tests/merge/synth.h"

#define UNITS 100 /* positions of the thread's stream that are discarded */

struct bench {
    char *dir;
    struct defs *defs;
    struct align *align;
    struct rundir *store;
    struct report report;
    bool is_running; /* its ranks have no end */
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));

    bench->dir = synth_dir();
    bench->defs = defs_create();
    bench->align = align_create();
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    rundir_destroy(bench->store);
    align_destroy(bench->align);
    defs_destroy(bench->defs);
    synth_remove(bench->dir);
    free(bench);
    return 0;
}

static const struct synth_rank ranks[] = {
    {.rank = 0, .size = 2, .host = "a", .timens = "t", .start_raw = 1000},
    {.rank = 1, .size = 2, .host = "a", .timens = "t", .start_raw = 1000},
};

/* What was written as segments so far is facts. */
static void rename_to_facts(const struct bench *bench)
{
    struct ck_run_files files;

    assert_int_equal(ck_run_files(bench->dir, &files, NULL), 0);
    for (size_t i = 0; i < files.count; i++) {
        struct ck_run_name name;
        char to[PATH_MAX];

        assert_true(ck_run_name(files.paths[i], &name));
        assert_int_equal(ck_run_facts_path(to, bench->dir, name.agent), 0);
        if (name.kind == CK_RUN_SEGMENT && access(to, F_OK) != 0) {
            assert_int_equal(rename(files.paths[i], to), 0);
        }
    }
    ck_run_files_free(&files);
}

/* A rank with [0, UNITS) discarded: `units` by the note; all until a
 * time is gone. Its marks begin then. */
static void rank_write(const struct bench *bench,
                       unsigned number,
                       unsigned units,
                       int64_t until)
{
    struct synth *synth = synth_create(bench->dir, number, &ranks[number - 1]);
    char note[160];

    synth_stream(synth, 1, 0, 7);
    synth_seek(synth, UNITS / 2);
    synth_text(synth, CK_KIND_NAME, 5, 0, 0, "said once", 9);
    (void)snprintf(note, sizeof(note),
                   "segment=3\nsegments=4\nrecords=77\nbytes=4096\nunits=%u\n"
                   "until_raw=%lld\n",
                   units, (long long)until);
    synth_stream(synth, 0, CK_SLOT_AGGREGATOR, 0);
    synth_text(synth, CK_KIND_DISCARDED, 0, 0, 0, note, strlen(note));
    synth_destroy(synth);
    rename_to_facts(bench);
    synth = synth_create(bench->dir, number, &ranks[number - 1]);
    synth_stream(synth, 1, 0, 7);
    synth_seek(synth, UNITS);
    for (int64_t i = 0; i < 10; i++) {
        struct ck_mark mark = {
            .e = {.kind = CK_KIND_RANGE,
                  .name = 5,
                  .start = until - 5 + i * 50},
            .dur = 40,
        };

        synth_put(synth, &mark);
    }
    if (!bench->is_running) {
        synth_exit(synth, 0, until + 1000, 5);
    }
    synth_destroy(synth);
}

static void run_open(struct bench *bench)
{
    struct ck_err err = {""};

    bench->store =
        rundir_create(bench->dir, bench->defs, align_taker(bench->align), &err);
    assert_string_equal(err.text, "");
    assert_non_null(bench->store);
    defs_close(bench->defs);
    comm_close(bench->defs);
    align_close(bench->align, bench->defs);
    assert_int_equal(
        region_find(bench->defs, align_axis(bench->align), &bench->report), 0);
}

static void what_was_discarded_is_no_gap(void **state)
{
    struct bench *bench = *state;

    /* The name's two units are there. */
    rank_write(bench, 1, UNITS - 2, 5000);
    run_open(bench);
    assert_int_equal(bench->defs->agents[0].discarded.records, 77);
    assert_int_equal(bench->defs->agents[0].gaps, 0);
    assert_int_equal(rundir_damage(bench->store)->places, 0);
    assert_string_equal(defs_name(bench->defs, 1, 5), "said once");
}

static void what_is_missing_beyond_the_note_is_a_gap(void **state)
{
    struct bench *bench = *state;

    rank_write(bench, 1, UNITS - 12, 5000);
    run_open(bench);
    assert_int_equal(bench->defs->agents[0].gaps, 1);
    assert_int_equal(bench->defs->agents[0].gap_units, 10);
}

static void the_run_begins_where_all_ranks_are_there(void **state)
{
    struct bench *bench = *state;

    rank_write(bench, 1, UNITS - 2, 5000);
    rank_write(bench, 2, UNITS - 2, 7000);
    run_open(bench);
    assert_int_equal(bench->report.kept.ranks, 2);
    assert_int_equal(bench->report.kept.records, 154);
    assert_int_equal(bench->report.kept.whole, 8000 - 1000);
    assert_int_equal(region_length(bench->report.whole), 8000 - 7000);
    assert_int_equal(bench->report.region.start, bench->report.whole.start);
    assert_int_equal(bench->report.region_kind, REPORT_REGION_KEPT);
}

static void a_time_behind_the_end_is_no_time(void **state)
{
    struct bench *bench = *state;

    rank_write(bench, 1, UNITS - 2, 5000);
    bench->report.kept.ranks = 9;
    run_open(bench);
    stamps_init(&bench->defs->agents[0].discarded.until);
    stamps_add(&bench->defs->agents[0].discarded.until, false, INT64_MAX / 2,
               INT64_MAX / 2);
    assert_int_equal(
        region_find(bench->defs, align_axis(bench->align), &bench->report), 0);
    assert_int_equal(bench->report.kept.ranks, 1);
    assert_int_equal(region_length(bench->report.whole), 6000 - 1000);
}

/* Calls of thread 7 that were open when they were looked at. */
static void open_write(const struct bench *bench, int64_t start, uint8_t flags)
{
    struct synth *synth = synth_create(bench->dir, 1, &ranks[0]);
    struct ck_open open = {
        .e = {.kind = CK_KIND_OPEN, .flags = flags, .name = 5, .start = start},
        .tid = 7,
        .call = 3,
        .seen = start + 20,
        .kind = CK_KIND_POSIX,
        .incarnation = 1};

    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    synth_seek(synth, 1000);
    synth_put(synth, &open);
    synth_destroy(synth);
}

static bool is_told_open(struct bench *bench)
{
    struct ck_err err;

    run_open(bench);
    assert_int_equal(opencalls_check(bench->store, bench->defs, &err), 0);
    assert_int_equal(bench->defs->agents[0].opens_count, 1);
    return !bench->defs->agents[0].opens[0].is_completed;
}

static void a_call_whose_record_was_discarded_is_not_open(void **state)
{
    struct bench *bench = *state;

    rank_write(bench, 1, UNITS - 2, 5000);
    open_write(bench, 2000, 0);
    assert_false(is_told_open(bench));
}

static void a_thread_that_records_again_has_left_its_call(void **state)
{
    struct bench *bench = *state;

    bench->is_running = true;
    rank_write(bench, 1, UNITS - 2, 5000);
    open_write(bench, 2000, 0);
    assert_false(is_told_open(bench));
}

static void a_call_that_was_open_at_the_end_is_reported(void **state)
{
    struct bench *bench = *state;

    rank_write(bench, 1, UNITS - 2, 5000);
    open_write(bench, 2000, CK_FLAG_CUT);
    assert_true(is_told_open(bench));
}

static void a_call_of_what_is_there_is_open(void **state)
{
    struct bench *bench = *state;

    rank_write(bench, 1, UNITS - 2, 5000);
    open_write(bench, 5600, 0);
    assert_true(is_told_open(bench));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_discarded_is_no_gap),
        CASE(what_is_missing_beyond_the_note_is_a_gap),
        CASE(the_run_begins_where_all_ranks_are_there),
        CASE(a_time_behind_the_end_is_no_time),
        CASE(a_call_whose_record_was_discarded_is_not_open),
        CASE(a_thread_that_records_again_has_left_its_call),
        CASE(a_call_that_was_open_at_the_end_is_reported),
        CASE(a_call_of_what_is_there_is_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
