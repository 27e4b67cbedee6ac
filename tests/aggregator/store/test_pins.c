/* test_pins.c - what an index of frames has, and what it has forgotten
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/aggregator/place.h"

#include <stdio.h>

#include "schema/event.h"
#include "schema/store/frameindex.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"

#define OF(class) ((uint32_t)1 << CK_CLASS_##class)

static const struct ck_stream own = {0, CK_SLOT_COLLECTOR};
static const struct ck_stream thread = {1, 0};

/* The place's part of an index, the caller's to free. */
static struct ck_frameindex_file *index_of(struct place *place, uint64_t most)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&bytes, &length);

    assert_true(store_index(place->store, most, file));
    assert_int_equal(fclose(file), 0);
    return (struct ck_frameindex_file *)bytes;
}

/* Is the frame at this position of the stream among the rows? */
static bool has_row(const struct ck_frameindex_file *file,
                    struct ck_stream name,
                    uint64_t at)
{
    const struct ck_frameindex_row *rows = ck_frameindex_rows(file);
    bool has = false;

    for (uint32_t i = 0; i < file->rows; i++) {
        const struct ck_stream *its =
            &ck_frameindex_streams(file)[rows[i].stream].name;

        has = has || (rows[i].first == at && its->slot == name.slot &&
                      its->incarnation == name.incarnation);
    }
    return has;
}

static bool is_listed(struct place *place, struct ck_stream name, uint64_t at)
{
    struct ck_frameindex_file *file = index_of(place, 0);
    bool is = has_row(file, name, at);

    free(file);
    return is;
}

static uint32_t rows_of(struct place *place)
{
    struct ck_frameindex_file *file = index_of(place, 0);
    uint32_t rows = file->rows;

    free(file);
    return rows;
}

/* Frames of one record each, a unit long. */
static void marks_put(struct place *place, uint64_t first, int count)
{
    const struct ck_mark mark = {.e = {.kind = CK_KIND_MARK, .units = 1}};

    for (int i = 0; i < count; i++) {
        assert_int_equal(
            place_put(place, thread, first + (uint64_t)i, &mark, sizeof(mark)),
            STORE_DONE);
    }
}

/* A text as the frame at a position of the collector's stream; the next one. */
static uint64_t own_text(struct place *place,
                         uint64_t at,
                         enum ck_kind kind,
                         uint32_t name,
                         uint64_t object,
                         uint32_t extra)
{
    _Alignas(8) uint8_t bytes[256];
    size_t length = text_put(bytes, kind, name, "a=b\n");
    struct ck_text *text = (void *)bytes;

    text->object = object;
    text->extra = extra;
    assert_int_equal(place_put(place, own, at, bytes, length), STORE_DONE);
    return at + length / CK_UNIT_BYTES;
}

static uint64_t
own_open(struct place *place, uint64_t at, uint32_t tid, uint32_t depth)
{
    const struct ck_open open = {
        .e = {.kind = CK_KIND_OPEN, .units = sizeof(open) / CK_UNIT_BYTES},
        .tid = tid,
        .depth = depth,
        .incarnation = 1};

    assert_int_equal(place_put(place, own, at, &open, sizeof(open)),
                     STORE_DONE);
    return at + open.e.units;
}

/* Other frames of the collector, so many that none before is a last one. */
static uint64_t own_counters(struct place *place, uint64_t at)
{
    const struct ck_counter counter = {
        .e = {.kind = CK_KIND_COUNTER,
              .units = sizeof(counter) / CK_UNIT_BYTES}};

    for (int i = 0; i < CK_RECENT_MOST + CK_RECENT_FIRST; i++) {
        assert_int_equal(place_put(place, own, at, &counter, sizeof(counter)),
                         STORE_DONE);
        at += counter.e.units;
    }
    return at;
}

static void the_first_and_the_last_frames_of_a_stream_are_there(void **state)
{
    struct place *place = *state;
    struct ck_frameindex_file *file;

    place_reopen(place);
    marks_put(place, 0, 1000);
    file = index_of(place, 0);
    assert_int_equal(file->rows, CK_RECENT_FIRST + CK_RECENT_MOST);
    assert_int_equal(file->end, store_facts(place->store).bytes);
    for (uint64_t at = 0; at < 1000; at++) {
        assert_int_equal(has_row(file, thread, at),
                         at < CK_RECENT_FIRST || at >= 1000 - CK_RECENT_MOST);
    }
    assert_int_equal(ck_frameindex_streams(file)[0].skipped, OF(MARK));
    free(file);
}

static void frames_at_both_sides_of_a_gap_are_there(void **state)
{
    struct place *place = *state;
    struct ck_frameindex_file *file;

    place_reopen(place);
    marks_put(place, 0, 100);
    marks_put(place, 200, 100);
    marks_put(place, 150, 1); /* late */
    marks_put(place, 300, 100);
    file = index_of(place, 0);
    assert_true(has_row(file, thread, 99));
    assert_true(has_row(file, thread, 150));
    assert_true(has_row(file, thread, 200));
    assert_false(has_row(file, thread, 201));
    assert_false(has_row(file, thread, 300));
    for (uint32_t i = 0; i < file->rows; i++) {
        const struct ck_frameindex_row *row = &ck_frameindex_rows(file)[i];

        assert_int_equal(row->is_joined, row->first != 0 && row->first != 150 &&
                                             row->first != 200);
    }
    free(file);
}

static void definitions_stay_and_looks_are_replaced(void **state)
{
    struct place *place = *state;
    uint64_t at, names, deep, outer, look;

    place_reopen(place);
    at = own_counters(place, 0);
    names = at;
    at = own_text(place, at, CK_KIND_PROCESS, 1, 7, 0);
    outer = at;
    at = own_open(place, at, 7, 0);
    deep = at;
    at = own_open(place, at, 7, 1);
    look = at;
    at = own_text(place, at, CK_KIND_STANDING, 1, 7, 0);
    at = own_counters(place, at);
    assert_true(is_listed(place, own, names));
    assert_true(is_listed(place, own, outer));
    assert_true(is_listed(place, own, deep));
    assert_true(is_listed(place, own, look));
    at = own_open(place, at, 8, 0); /* of others */
    at = own_text(place, at, CK_KIND_STANDING, 1, 8, 0);
    at = own_counters(place, at);
    assert_true(is_listed(place, own, deep));
    assert_true(is_listed(place, own, look));
    at = own_open(place, at, 7, 0);
    at = own_text(place, at, CK_KIND_STANDING, 1, 7, 0);
    (void)own_counters(place, at);
    assert_true(is_listed(place, own, names));
    assert_false(is_listed(place, own, outer));
    assert_false(is_listed(place, own, deep));
    assert_false(is_listed(place, own, look));
}

static void a_stack_is_there_where_the_last_look_has_it(void **state)
{
    struct place *place = *state;
    uint64_t at, first, second;

    place_reopen(place);
    at = own_counters(place, 0);
    first = at;
    at = own_text(place, at, CK_KIND_STACK, 50, 0, 1);
    second = at;
    at = own_text(place, at, CK_KIND_STACK, 51, 0, 1);
    at = own_counters(place, at);
    assert_false(is_listed(place, own, first));
    assert_false(is_listed(place, own, second));
    at = own_text(place, at, CK_KIND_STANDING, 1, 7, 51);
    assert_false(is_listed(place, own, first));
    assert_true(is_listed(place, own, second));
    (void)own_text(place, at, CK_KIND_STANDING, 1, 7, 50);
    assert_true(is_listed(place, own, first));
    assert_false(is_listed(place, own, second));
}

static void there_are_as_many_however_long_it_runs(void **state)
{
    struct place *place = *state;
    uint32_t rows = 0;
    uint64_t at = 0;

    place_reopen(place);
    for (uint32_t i = 0; i < 50; i++) {
        at = own_counters(place, at);
        at = own_open(place, at, 7, 0);
        at = own_text(place, at, CK_KIND_STACK, i, 0, 1);
        at = own_text(place, at, CK_KIND_STANDING, 1, 7, i);
        marks_put(place, 100 * (uint64_t)i, 100);
        if (i == 10) {
            rows = rows_of(place);
        }
    }
    assert_int_equal(rows_of(place), rows);
}

/* What a ckagg makes that comes later is the same. */
static void it_is_known_after_a_reopen(void **state)
{
    struct place *place = *state;
    struct ck_frameindex_file *before, *after;
    uint64_t at;

    place_reopen(place);
    marks_put(place, 0, 100);
    at = own_text(place, 0, CK_KIND_PROCESS, 1, 7, 0);
    at = own_open(place, own_counters(place, at), 7, 0);
    (void)own_counters(place, at);
    before = index_of(place, 10000);
    place_reopen(place);
    after = index_of(place, 10000);
    assert_int_equal(before->rows, after->rows);
    assert_memory_equal(
        before, after,
        (size_t)((const uint8_t *)(ck_frameindex_rows(before) + before->rows) -
                 (const uint8_t *)before));
    free(before);
    free(after);
}

static void the_tail_is_a_frame_of_the_last_bytes(void **state)
{
    struct place *place = *state;
    struct ck_frameindex_file *file;
    const uint64_t most = 200000;
    struct ck_segment_reader *reader;
    struct ck_frame_header header;
    const void *payload;
    char path[4096];

    place_reopen(place);
    marks_put(place, 0, 3000);
    file = index_of(place, UINT64_MAX);
    assert_int_equal(file->tail, 0);
    free(file);
    file = index_of(place, most);
    assert_true(file->end > 2 * most);
    assert_true(file->tail > 0 && file->end - file->tail <= most);
    assert_true(file->end - file->tail > most / 2);
    assert_int_equal(ck_run_segment_path(path, place->dir, agent, false), 0);
    reader = ck_segment_reader_create(path, NULL);
    assert_non_null(reader);
    assert_int_equal(ck_segment_seek(reader, file->tail), 0);
    assert_int_equal(ck_segment_next(reader, &header, &payload), 1);
    assert_int_equal(ck_segment_offset(reader), file->tail);
    ck_segment_reader_destroy(reader);
    free(file);
}

static void of_what_is_kept_in_part_there_is_none(void **state)
{
    struct place *place = *state;
    const struct ck_keep keep = {.bytes = 1 << 20};

    place_reopen(place);
    marks_put(place, 0, 10);
    store_keep(place->store, &keep);
    assert_false(store_index(place->store, 0, stderr));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_first_and_the_last_frames_of_a_stream_are_there),
        CASE(frames_at_both_sides_of_a_gap_are_there),
        CASE(definitions_stay_and_looks_are_replaced),
        CASE(a_stack_is_there_where_the_last_look_has_it),
        CASE(there_are_as_many_however_long_it_runs),
        CASE(it_is_known_after_a_reopen),
        CASE(the_tail_is_a_frame_of_the_last_bytes),
        CASE(of_what_is_kept_in_part_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
