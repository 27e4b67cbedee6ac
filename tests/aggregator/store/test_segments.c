/* test_segments.c - the segments of one agent; the oldest are discarded
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
#include <sys/stat.h>
#include <unistd.h>

#include "schema/batch/wire.h"
#include "schema/event.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"
#include "tests/aggregator/place.h"

#define MARKS 64
#define KEPT ((uint64_t)1 << 20)
#define SLOT 3

static void reopen(struct place *place, struct ck_keep keep)
{
    store_keep(place_reopen(place), &keep);
}

/* The n-th frame of marks: their ends grow with their positions. */
static enum store_result put_marks(struct place *place, uint64_t n)
{
    struct ck_mark records[MARKS] = {0};

    for (unsigned i = 0; i < MARKS; i++) {
        uint64_t position = n * MARKS + i;

        records[i].e = (struct ck_event){
            .kind = CK_KIND_RANGE, .units = 1, .start = (int64_t)position * 10};
        records[i].dur = 5;
        records[i].value = (int64_t)(position * 0x9e3779b97f4a7c15u);
    }
    return place_put(place, (struct ck_stream){1, SLOT}, n * MARKS, records,
                     sizeof(records));
}

/* A name, in a frame of its own. */
static enum store_result
put_name(struct place *place, uint32_t slot, uint64_t first, const char *name)
{
    _Alignas(8) uint8_t rows[256];
    size_t bytes = text_put(rows, CK_KIND_NAME, 9, name);

    return place_put(place, (struct ck_stream){1, slot}, first, rows, bytes);
}

/* Bytes of all files of the run. */
static uint64_t disk_bytes(const struct place *place)
{
    struct ck_run_files files;
    struct stat status;
    uint64_t bytes = 0;

    assert_int_equal(ck_run_files(place->dir, &files, NULL), 0);
    for (size_t i = 0; i < files.count; i++) {
        assert_int_equal(stat(files.paths[i], &status), 0);
        bytes += (uint64_t)status.st_size;
    }
    ck_run_files_free(&files);
    return bytes;
}

/* True when a name of that text is in the run. */
static bool has_name(const struct place *place, const char *name)
{
    struct ck_run_files files;
    struct ck_frame_header header;
    const void *payload;
    bool is_there = false;

    assert_int_equal(ck_run_files(place->dir, &files, NULL), 0);
    for (size_t i = 0; i < files.count; i++) {
        struct ck_segment_reader *reader =
            ck_segment_reader_create(files.paths[i], NULL);

        while (ck_segment_next(reader, &header, &payload) == 1) {
            is_there |=
                memmem(payload, header.length, name, strlen(name)) != NULL;
        }
        assert_int_equal(ck_segment_damage(reader).places, 0);
        ck_segment_reader_destroy(reader);
    }
    ck_run_files_free(&files);
    return is_there;
}

static uint64_t fill(struct place *place, uint64_t from, uint64_t to)
{
    uint64_t most = 0;

    for (uint64_t n = from; n < to; n++) {
        uint64_t bytes;

        assert_int_equal(put_marks(place, n), STORE_DONE);
        bytes = store_facts(place->store).bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void the_oldest_go_and_the_bound_holds(void **state)
{
    struct place *place = *state;
    struct store_facts facts;

    reopen(place, (struct ck_keep){.bytes = KEPT});
    assert_int_equal(put_name(place, 5, 0, "a name said once"), STORE_DONE);
    assert_true(fill(place, 0, 4000) <= KEPT);
    facts = store_facts(place->store);
    assert_int_equal(facts.bytes, disk_bytes(place));
    assert_true(facts.bytes > KEPT / 2);
    assert_true(facts.discarded.segments > 8);
    assert_int_equal(facts.records + facts.discarded.records,
                     place->records + facts.discarded.segments); /* notes */
    assert_int_equal(facts.missing, 0);
    assert_int_equal(facts.undiscarded, 0);
    assert_true(has_name(place, "a name said once"));
}

static void all_that_ended_after_the_note_is_there(void **state)
{
    struct place *place = *state;
    struct thin_note note;

    reopen(place, (struct ck_keep){.bytes = KEPT});
    (void)fill(place, 0, 4000);
    note = store_facts(place->store).discarded;
    assert_int_equal(note.until_ticks, INT64_MIN);
    /* Mark p ends at 10 p + 5; those up to note.records - 1 are gone. */
    assert_int_equal(note.until_raw, (int64_t)(note.records - 1) * 10 + 5);
    /* All their units are holes but for frames that stay as the last ones. */
    assert_int_equal(note.units, note.records);
}

static void what_was_discarded_is_known_after_a_reopen(void **state)
{
    struct place *place = *state;
    struct store_facts before;
    struct store_facts after;
    struct ck_ack acks[4];

    reopen(place, (struct ck_keep){.bytes = KEPT});
    assert_int_equal(put_name(place, 5, 40, "idle since"), STORE_DONE);
    (void)fill(place, 0, 4000);
    before = store_facts(place->store);
    reopen(place, (struct ck_keep){.bytes = KEPT});
    after = store_facts(place->store);
    assert_int_equal(after.discarded.segment, before.discarded.segment);
    assert_int_equal(after.discarded.records, before.discarded.records);
    assert_int_equal(after.discarded.bytes, before.discarded.bytes);
    assert_int_equal(after.discarded.units, before.discarded.units);
    assert_int_equal(after.discarded.until_raw, before.discarded.until_raw);
    assert_int_equal(after.records, before.records);
    assert_int_equal(after.frames, before.frames);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.missing, 0);
    assert_int_equal(positions_acks(store_positions(place->store), acks, 4), 2);
    assert_int_equal(acks[0].next, 4000 * MARKS);
    assert_int_equal(acks[1].next, 42);
    assert_int_equal(put_marks(place, 0), STORE_OLD);
    assert_int_equal(put_marks(place, 3999), STORE_OLD);
    assert_int_equal(put_name(place, 5, 40, "idle since"), STORE_OLD);
    (void)fill(place, 4000, 6000);
    assert_true(store_facts(place->store).discarded.segments >
                before.discarded.segments);
    assert_true(disk_bytes(place) <= KEPT);
}

static void a_kill_between_note_and_removal_is_made_good(void **state)
{
    struct place *place = *state;
    struct store_facts before;
    char path[PATH_MAX];
    char command[PATH_MAX + 128];

    reopen(place, (struct ck_keep){.bytes = KEPT});
    (void)fill(place, 0, 4000);
    before = store_facts(place->store);
    assert_int_equal(
        ck_run_part_path(path, place->dir, agent, before.discarded.segment + 1),
        0);
    (void)snprintf(command, sizeof(command), "cp %s %s/saved", path,
                   place->dir);
    assert_int_equal(system(command), 0);
    /* Until that one goes, and is there again. */
    for (uint64_t n = 4000; store_facts(place->store).discarded.segment ==
                            before.discarded.segment;
         n++) {
        assert_int_equal(put_marks(place, n), STORE_DONE);
    }
    before = store_facts(place->store);
    (void)snprintf(command, sizeof(command), "mv %s/saved %s", place->dir,
                   path);
    assert_int_equal(system(command), 0);
    reopen(place, (struct ck_keep){.bytes = KEPT});
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(store_facts(place->store).records, before.records);
    assert_int_equal(store_facts(place->store).bytes, before.bytes);
}

static void facts_cut_at_any_byte_are_gone_on_with(void **state)
{
    struct place *place = *state;
    char path[PATH_MAX];
    struct stat status;

    reopen(place, (struct ck_keep){.bytes = KEPT});
    assert_int_equal(put_name(place, 5, 0, "cut"), STORE_DONE);
    (void)fill(place, 0, 1600);
    assert_int_equal(ck_run_facts_path(path, place->dir, agent), 0);
    assert_int_equal(stat(path, &status), 0);
    for (off_t bytes = status.st_size; bytes >= 0; bytes -= 37) {
        assert_int_equal(truncate(path, bytes), 0);
        reopen(place, (struct ck_keep){.bytes = 16 * KEPT});
        assert_int_equal(put_marks(place, 1599), STORE_OLD);
    }
}

static void without_a_limit_there_is_one_segment(void **state)
{
    struct place *place = *state;

    reopen(place, (struct ck_keep){0});
    (void)fill(place, 0, 2000);
    assert_int_equal(store_facts(place->store).segments, 1);
    assert_false(store_facts(place->store).discarded.is_any);
    /* One that comes later with a limit takes it as the oldest. */
    reopen(place, (struct ck_keep){.bytes = KEPT});
    (void)fill(place, 2000, 3000);
    assert_int_equal(store_facts(place->store).discarded.segment, 0);
    assert_true(disk_bytes(place) <= KEPT);
}

static void a_time_counts_while_the_program_records(void **state)
{
    const struct ck_keep keep = {.time = 80 * CK_TIME_MS};
    struct place *place = *state;
    const struct ck_stream own = {0, CK_SLOT_COLLECTOR};
    struct ck_counter counter = {.e = {.kind = CK_KIND_COUNTER, .units = 2}};
    ck_time_t begin = ck_time_raw();
    ck_time_t end = begin + 60 * CK_TIME_S;
    uint64_t n = 0;
    uint64_t gone = 0;

    reopen(place, keep);
    while (gone == 0 && ck_time_raw() < end) {
        assert_int_equal(put_marks(place, n++), STORE_DONE);
        gone = store_facts(place->store).discarded.segments;
    }
    assert_true(gone > 0);
    /* Its last records may be late by as much again. */
    assert_true(ck_time_raw() - begin > 2 * keep.time);
    /* The collector alone does not make the program's records old. */
    n = 0;
    for (end = ck_time_raw() + 400 * CK_TIME_MS; ck_time_raw() < end; n++) {
        assert_int_equal(
            place_put(place, own, 2 * n, &counter, sizeof(counter)),
            STORE_DONE);
    }
    assert_int_equal(store_facts(place->store).discarded.segments, gone);
}

static void facts_that_later_ones_replace_do_not_pile_up(void **state)
{
    struct place *place = *state;
    const struct ck_stream own = {0, CK_SLOT_COLLECTOR};
    struct ck_counter counter = {
        .e = {.kind = CK_KIND_COUNTER, .units = 2, .name = 3}};
    struct store_facts before;
    struct stat status;
    char path[PATH_MAX];

    reopen(place, (struct ck_keep){.bytes = KEPT});
    assert_int_equal(put_name(place, 5, 0, "said at the begin"), STORE_DONE);
    /* Some 100 bytes of totals beside each 700 of marks. */
    for (uint64_t n = 0; n < 12000; n++) {
        counter.value = (int64_t)n;
        assert_int_equal(put_marks(place, n), STORE_DONE);
        assert_int_equal(
            place_put(place, own, 2 * n, &counter, sizeof(counter)),
            STORE_DONE);
    }
    before = store_facts(place->store);
    assert_int_equal(ck_run_facts_path(path, place->dir, agent), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_true((uint64_t)status.st_size <= KEPT / 2);
    assert_true(disk_bytes(place) <= KEPT);
    assert_true(has_name(place, "said at the begin"));
    assert_int_equal(before.missing, 0);
    /* One that comes later finds the same, and removes what was not put in
     * place. */
    strcat(path, ".new");
    assert_int_equal(symlink("/nowhere", path), 0);
    reopen(place, (struct ck_keep){.bytes = KEPT});
    assert_int_equal(lstat(path, &status), -1);
    assert_int_equal(store_facts(place->store).records, before.records);
    assert_int_equal(store_facts(place->store).discarded.units,
                     before.discarded.units);
    assert_int_equal(store_facts(place->store).missing, 0);
    assert_int_equal(put_marks(place, 0), STORE_OLD);
    assert_int_equal(place_put(place, own, 0, &counter, sizeof(counter)),
                     STORE_OLD);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_oldest_go_and_the_bound_holds),
        CASE(all_that_ended_after_the_note_is_there),
        CASE(what_was_discarded_is_known_after_a_reopen),
        CASE(a_kill_between_note_and_removal_is_made_good),
        CASE(facts_cut_at_any_byte_are_gone_on_with),
        CASE(without_a_limit_there_is_one_segment),
        CASE(facts_that_later_ones_replace_do_not_pile_up),
        CASE(a_time_counts_while_the_program_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
