/* test_rundir.c - frames of a run: order, doubles, gaps, damage
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

#include "merge/clocks/align.h"
#include "merge/input/facts.h"
#include "merge/timeline/timeline.h"
#include "tests/merge/chance.h"
#include "tests/merge/reading.h"

/* What a pass over the timeline handed out. */
struct count {
    uint64_t events;
    ck_time_t last;
    uint64_t steps_back;
    uint64_t marks;
    int64_t values;  /* sum */
    uint64_t others; /* that are no marks */
};

static int count_take(void *state, const struct timeline_event *event)
{
    struct count *count = state;

    count->steps_back += event->start < count->last;
    count->last = event->start;
    if (event->record->kind == CK_KIND_MARK) {
        count->marks++;
        count->values += ((const struct ck_mark *)event->record)->value;
    } else {
        count->others++;
    }
    return 0;
}

/* Of the classes that have their bit; 0: of all. */
static struct count reading_pass(struct reading *reading, uint32_t classes)
{
    struct count count = {.last = INT64_MIN};
    const struct timeline_consumer consumer = {count_take, &count, classes,
                                               false};
    const struct timeline timeline = {
        .store = reading->store,
        .defs = reading->defs,
        .axis = align_axis(reading->align),
        .consumers = &consumer,
        .consumers_count = 1,
    };

    assert_int_equal(timeline_run(&timeline, &count.events, &reading->err), 0);
    return count;
}

static void frames_that_came_twice_count_once(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    struct count count;

    synth_stream(synth, 1, 0, 100);
    for (int64_t i = 0; i < 100; i++) {
        mark_put(synth, i, 1);
        if (i % 10 == 9) {
            synth_flush(synth);
            synth_repeat(synth);
        }
    }
    reading_read(reading);
    count = reading_pass(reading, 0);
    assert_int_equal(count.marks, 100);
    assert_int_equal(rundir_damage(reading->store)->places, 0);
}

/* A name whose file has gone, as a spool's that is removed once all of it is
 * stored, after the directory was read. */
static void a_spool_that_has_gone_is_no_error(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    struct count count;
    char spool[PATH_MAX];

    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 7, 1);
    (void)snprintf(spool, sizeof(spool),
                   "%s/spool-00112233445566778899aabbccddeeff.ck",
                   reading->dir);
    assert_int_equal(symlink("gone", spool), 0);
    reading_read(reading);
    count = reading_pass(reading, 0);
    assert_int_equal(count.marks, 1);
    assert_int_equal(unlink(spool), 0);
}

/* Of the name of a segment, and none that can be read. */
static void a_segment_that_cannot_be_opened_is_damage(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    struct count count;
    char folder[PATH_MAX];

    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 7, 1);
    (void)snprintf(folder, sizeof(folder),
                   "%s/seg-00112233445566778899aabbccddeeff.ck", reading->dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    reading_read(reading);
    count = reading_pass(reading, 0);
    assert_int_equal(count.marks, 1);
    assert_int_equal(rundir_damage(reading->store)->places, 1);
    assert_non_null(strstr(rundir_damage(reading->store)->first, "seg-0011"));
    assert_int_equal(rmdir(folder), 0);
}

/* Frames that overlap in time and in position, whose first record is of another
 * class, and one without any of the wanted class. */
static void a_pass_of_one_class_has_all_of_it_in_order(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    struct count count, some;
    uint64_t at = 0;

    synth_stream(synth, 1, 0, 100);
    for (int64_t frame = 0; frame < 20; frame++) {
        if (frame % 5 == 4) {
            at -= 3; /* a call and a mark that the frame before has */
            synth_seek(synth, at);
        }
        for (uint32_t i = 0; i < 20; i++) {
            synth_call(synth, CK_KIND_API_OPENCL, 1, frame * 100 + i, 7, 0x10,
                       i + 1);
            if (frame != 7) {
                mark_put(synth, frame * 100 + 400 - 19 * i, frame);
            }
        }
        at += frame != 7 ? 60 : 40;
        synth_flush(synth);
    }
    reading_read(reading);
    count = reading_pass(reading, 0);
    assert_int_equal(count.marks, 19 * 20 - 4);
    assert_int_equal(count.others, 20 * 20 - 4);
    some = reading_pass(reading, (uint32_t)1 << CK_CLASS_MARK);
    assert_int_equal(some.steps_back, 0);
    assert_int_equal(some.others, 0);
    assert_int_equal(some.marks, count.marks);
    assert_int_equal(some.values, count.values);
    assert_int_equal(some.events, count.marks);
}

/* The same records cut anew: [0,10) [5,20) [0,3) [12,40). */
static void frames_that_overlap_are_trimmed_by_position(void **state)
{
    static const int64_t cuts[][2] = {{0, 10}, {5, 20}, {0, 3}, {12, 40}};
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    struct count count;

    synth_stream(synth, 1, 0, 100);
    for (size_t i = 0; i < 4; i++) {
        synth_seek(synth, (uint64_t)cuts[i][0]);
        for (int64_t n = cuts[i][0]; n < cuts[i][1]; n++) {
            mark_put(synth, n * 10, n);
        }
        synth_flush(synth);
    }
    reading_read(reading);
    count = reading_pass(reading, 0);
    assert_int_equal(count.marks, 40);
    assert_int_equal(count.values, 39 * 40 / 2);
    for (size_t i = 0; i < rundir_streams(reading->store); i++) {
        assert_int_equal(rundir_stream(reading->store, i)->gaps, 0);
    }
}

/* Frames of a collector's own: identity, 4 marks, 3, and the last of 2, which
 * claims a place so many units before its own. Returns where they end. */
static uint64_t own_frames_read(struct reading *reading, uint64_t place)
{
    static const int marks[] = {4, 3, 2};

    reading_begin(reading);
    synth_stream(reading->synth, 0, CK_SLOT_COLLECTOR, 0);
    for (size_t i = 0; i < 3; i++) {
        if (i == 2 && place > 0) {
            synth_seek(reading->synth, place);
        }
        for (int n = 0; n < marks[i]; n++) {
            mark_put(reading->synth, 10 * n, n);
        }
        synth_flush(reading->synth);
        synth_repeat(reading->synth);
    }
    reading_read(reading);
    return rundir_stream(reading->store, 0)->end;
}

static void an_own_frame_at_the_place_of_another_is_a_gap(void **state)
{
    static const struct {
        uint64_t back;
        uint64_t gaps;
        uint64_t units;
    } cases[] = {
        {0, 0, 0}, {1, 1, 1}, {2, 1, 2}, {3, 1, 2},
        {4, 2, 2}, {5, 1, 2}, {7, 1, 2}, {8, 2, 2},
    };
    struct reading reading;
    uint64_t place;

    (void)state;
    place = own_frames_read(&reading, 0) - 2;
    assert_int_equal(reading.defs->agents[0].gaps, 0);
    reading_end(&reading);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct defs_agent *agent;

        (void)own_frames_read(&reading, place - cases[i].back);
        agent = &reading.defs->agents[0];
        assert_int_equal(agent->gaps, cases[i].gaps);
        assert_int_equal(agent->gap_units, cases[i].units);
        assert_in_range(agent->gap_records, cases[i].gaps, cases[i].units);
        reading_end(&reading);
    }
}

static void missing_units_are_a_gap(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    uint64_t gaps = 0, units = 0;

    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 1, 1);
    synth_skip(synth, 7);
    mark_put(synth, 2, 1);
    reading_read(reading);
    for (size_t i = 0; i < rundir_streams(reading->store); i++) {
        gaps += rundir_stream(reading->store, i)->gaps;
        units += rundir_stream(reading->store, i)->gap_units;
    }
    assert_int_equal(gaps, 1);
    assert_int_equal(units, 7);
}

static void units_in_front_of_a_slot_are_a_gap(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;

    synth_stream(synth, 1, 0, 100);
    synth_seek(synth, 9);
    for (int64_t i = 0; i < 10; i++) {
        mark_put(synth, i, 1);
    }
    reading_read(reading);
    assert_int_equal(reading->defs->agents[0].gaps, 1);
    assert_int_equal(reading->defs->agents[0].gap_units, 9);
    assert_in_range(reading->defs->agents[0].gap_records, 1, 9);
}

/* A slot's next owner goes on where the one before it ended. */
static void a_slot_that_is_handed_on_has_no_gap_between_its_owners(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;

    synth_stream(synth, 7, 0, 100);
    mark_put(synth, 1, 1);
    mark_put(synth, 2, 1);
    synth_stream(synth, 3, 0, 101);
    synth_seek(synth, 2);
    mark_put(synth, 3, 1);
    reading_read(reading);
    assert_int_equal(reading->defs->agents[0].gaps, 0);
    assert_int_equal(reading->defs->agents[0].gap_records, 0);
}

/* One owner has it twice, and the other's last `lost` units never came. */
static void slot_goes_back(struct synth *synth, uint64_t lost)
{
    synth_stream(synth, 7, 0, 100);
    mark_put(synth, 1, 1);
    mark_put(synth, 2, 1);
    synth_stream(synth, 3, 0, 101);
    synth_seek(synth, 2);
    mark_put(synth, 3, 1);
    synth_stream(synth, 7, 0, 100);
    synth_seek(synth, 3 + lost);
    mark_put(synth, 4, 1);
}

static void a_slot_that_comes_back_to_an_owner_has_no_gap(void **state)
{
    struct reading *reading = *state;

    slot_goes_back(reading->synth, 0);
    reading_read(reading);
    assert_int_equal(reading->defs->agents[0].gaps, 0);
    assert_int_equal(reading->defs->agents[0].gap_records, 0);
    assert_false(reading->defs->agents[0].has_overlap);
}

static void what_is_lost_before_an_owner_comes_back_is_a_gap(void **state)
{
    struct reading *reading = *state;

    slot_goes_back(reading->synth, 5);
    reading_read(reading);
    assert_int_equal(reading->defs->agents[0].gaps, 1);
    assert_int_equal(reading->defs->agents[0].gap_units, 5);
}

static void units_behind_the_last_frame_are_known_by_the_exit(void **state)
{
    static const struct {
        const char *exit;
        uint64_t units;
    } cases[] = {
        {"status=0\nunits=12\n", 10},
        {"status=0\nunits=2\n", 0},
        {"status=0\n", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct reading reading;
        struct synth *synth;

        reading_begin(&reading);
        synth = reading.synth;
        synth_stream(synth, 1, 0, 100);
        mark_put(synth, 1, 1);
        mark_put(synth, 2, 1);
        exit_put(synth, cases[i].exit);
        reading_read(&reading);
        assert_int_equal(reading.defs->agents[0].gaps, cases[i].units > 0);
        assert_int_equal(reading.defs->agents[0].gap_units, cases[i].units);
        reading_end(&reading);
    }
}

static void damage_is_counted_and_costs_no_other_frame(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    struct count count;

    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 1, 1);
    synth_flush(synth);
    mark_put(synth, 2, 1);
    synth_garbage(synth, reading->dir);
    reading_read(reading);
    count = reading_pass(reading, 0);
    assert_int_equal(count.marks, 2);
    assert_int_equal(rundir_damage(reading->store)->places, 1);
    assert_int_equal(rundir_damage(reading->store)->bytes, 640);
    assert_non_null(strstr(rundir_damage(reading->store)->first, "640"));
}

static void any_disorder_within_a_stream_comes_out_in_order(void **state)
{
    unsigned seed = chance_rand_seed();
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    struct count count;
    int64_t sum = 0;

    for (uint32_t slot = 0; slot < 3; slot++) {
        synth_stream(synth, 1, slot, 100 + slot);
        for (int64_t i = 0; i < 20000; i++) {
            int64_t far = rand_r(&seed) % 100 == 0 ? rand_r(&seed) % 20000 : 0;

            mark_put(synth, slot == 2 ? rand_r(&seed) % 30000 : i - far, i);
            sum += i;
            if (rand_r(&seed) % 500 == 0) {
                synth_flush(synth);
            }
        }
    }
    reading_read(reading);
    count = reading_pass(reading, 0);
    assert_int_equal(count.marks, 60000);
    assert_int_equal(count.values, sum);
    assert_int_equal(count.steps_back, 0);
}

static void a_slot_used_by_two_threads_has_both(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    struct count count;

    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 1, 1);
    synth_stream(synth, 1, 0, 101);
    mark_put(synth, 2, 1);
    reading_read(reading);
    assert_int_equal(rundir_streams(reading->store), 2);
    assert_int_equal(reading->defs->threads_count, 3);
    count = reading_pass(reading, 0);
    assert_int_equal(count.marks, 2);
}

static void a_directory_that_is_no_run_is_refused(void **state)
{
    char *dir = synth_dir();
    struct reading reading = {0};

    (void)state;
    assert_int_equal(reading_open(&reading, dir), -1);
    assert_non_null(strstr(reading.err.text, "not a run"));
    reading_close(&reading);
    assert_int_equal(reading_open(&reading, "/nonexistent/run"), -1);
    assert_non_null(strstr(reading.err.text, "/nonexistent/run"));
    reading_close(&reading);
    synth_remove(dir);
}

static void facts_name_ranks_devices_and_places(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    struct place place;
    uint32_t process;

    synth_text(synth, CK_KIND_PROCESS, 1, 4711, 0, "./train", 7);
    synth_text(synth, CK_KIND_SYMBOL, 1, 0x1234, 88, "load\0load.c", 11);
    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, 3, 0, 0, "forward", 7);
    synth_text(synth, CK_KIND_DEVICE, 1, 0, 0, "name=gpu\nuuid=u1\n", 17);
    synth_kernel(synth, 3, 1000, 10, 100, 1);
    synth_exit(synth, 9, 5000, 77);
    reading_read(reading);
    process = defs_process_find(reading->defs, 0, 1);
    assert_string_equal(defs_name(reading->defs, process, 3), "forward");
    assert_string_equal(defs_device(reading->defs, process, 1)->name, "gpu");
    assert_null(defs_device(reading->defs, process, 2));
    place = defs_place(reading->defs, process, 0x1234);
    assert_string_equal(place.function, "load");
    assert_string_equal(place.file, "load.c");
    assert_int_equal(place.line, 88);
    assert_int_equal(reading->defs->processes[process].pid, 4711);
    assert_int_equal(reading->defs->ranks_count, 1);
    assert_true(reading->defs->agents[0].has_exit);
    assert_int_equal(reading->defs->agents[0].status, 9);
    assert_int_equal(reading->defs->agents[0].exit_time, 5000);
}

/* A symbol's text may fill its record: other bytes follow it. */
static void a_line_of_an_inlined_call_ends_with_its_text(void **state)
{
    static const char bytes[32] = "leaf\0l.c\0main\0\0"
                                  "1234567890123456";
    struct reading *reading = *state;
    size_t length = sizeof("leaf\0l.c\0main\0") + 2, count;
    struct synth *synth = reading->synth;
    uint32_t process;
    struct {
        struct ck_text text;
        char bytes[sizeof(bytes)];
    } record = {.text = {.e = {.kind = CK_KIND_SYMBOL, .name = 1},
                         .object = 0x1234,
                         .length = (uint32_t)length}};
    const struct facts_source source = {.agent = 0, .process = 0};
    const struct place *places;

    synth_text(synth, CK_KIND_PROCESS, 1, 4711, 0, "./train", 7);
    reading_read(reading);
    memcpy(record.bytes, bytes, sizeof(bytes));
    facts_read(reading->defs, NULL, &source, &record.text.e);
    process = defs_process_find(reading->defs, 0, 1);
    places = names_get_inlined(reading->defs->processes[process].names, 0x1234,
                               &count);
    assert_int_equal(count, 2);
    assert_string_equal(places[0].function, "main");
    assert_int_equal(places[1].line, 12);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int weigh(void *state, const struct timeline_event *event)
{
    ck_time_t *sums = state;

    if (ck_kind_class(event->record->kind) == CK_CLASS_SAMPLE) {
        const struct ck_sample *record =
            (const struct ck_sample *)event->record;

        assert_true(record->weight >= 0);
        assert_false(__builtin_add_overflow(
            sums[record->e.kind == CK_KIND_OFF_CPU], record->weight,
            &sums[record->e.kind == CK_KIND_OFF_CPU]));
    }
    return 0;
}

static void sample_put(struct synth *synth,
                       enum ck_kind kind,
                       int64_t start,
                       int64_t weight)
{
    struct ck_sample sample = {.e = {.kind = (uint16_t)kind, .start = start},
                               .tid = 100,
                               .weight = weight};

    synth_put(synth, &sample);
}

/* Of records that a program overwrote: 8,192 waits of 2^50 ns are 2^63. */
static void waits_of_any_length_add_up_to_a_time(void **state)
{
    struct reading *reading = *state;
    struct synth *synth = reading->synth;
    ck_time_t sums[2] = {0};
    const struct timeline_consumer consumer = {weigh, sums, 0, false};
    struct timeline timeline = {.consumers = &consumer, .consumers_count = 1};
    uint64_t events;

    synth_stream(synth, 1, 0, 100);
    for (int64_t i = 0; i < 10000; i++) {
        sample_put(synth, CK_KIND_SAMPLE, i, 1000);
        sample_put(synth, CK_KIND_SAMPLE, i, (int64_t)1 << 62);
        sample_put(synth, CK_KIND_SAMPLE, i, -1);
        sample_put(synth, CK_KIND_OFF_CPU, i,
                   i < 5000 ? 7 : TIMELINE_WAIT_MOST);
        sample_put(synth, CK_KIND_OFF_CPU, i, TIMELINE_WAIT_MOST + 1);
    }
    reading_read(reading);
    timeline.store = reading->store;
    timeline.defs = reading->defs;
    timeline.axis = align_axis(reading->align);
    assert_int_equal(timeline_run(&timeline, &events, &reading->err), 0);
    assert_int_equal(events, 50000);
    assert_int_equal(sums[0], 10000 * 1000);
    assert_in_range(sums[1], TIMELINE_WAITS_MOST - TIMELINE_WAIT_MOST,
                    TIMELINE_WAITS_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(frames_that_came_twice_count_once),
        CASE(a_spool_that_has_gone_is_no_error),
        CASE(a_segment_that_cannot_be_opened_is_damage),
        CASE(frames_that_overlap_are_trimmed_by_position),
        cmocka_unit_test(an_own_frame_at_the_place_of_another_is_a_gap),
        CASE(a_pass_of_one_class_has_all_of_it_in_order),
        CASE(missing_units_are_a_gap),
        CASE(units_in_front_of_a_slot_are_a_gap),
        CASE(a_slot_that_is_handed_on_has_no_gap_between_its_owners),
        CASE(a_slot_that_comes_back_to_an_owner_has_no_gap),
        CASE(what_is_lost_before_an_owner_comes_back_is_a_gap),
        cmocka_unit_test(units_behind_the_last_frame_are_known_by_the_exit),
        CASE(damage_is_counted_and_costs_no_other_frame),
        CASE(any_disorder_within_a_stream_comes_out_in_order),
        CASE(a_slot_used_by_two_threads_has_both),
        cmocka_unit_test(a_directory_that_is_no_run_is_refused),
        CASE(waits_of_any_length_add_up_to_a_time),
        CASE(facts_name_ranks_devices_and_places),
        CASE(a_line_of_an_inlined_call_ends_with_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
