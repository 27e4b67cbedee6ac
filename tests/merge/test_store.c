/* test_store.c - frames of a run: order, doubles, gaps, damage
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

#include "merge/input/store.h"
#include "merge/timeline.h"
#include "tests/merge/synth.h"

static const struct synth_rank lone = {.rank = 0,
                                       .size = 1,
                                       .host = "h",
                                       .timens = "t",
                                       .clock = CK_CLOCK_RAW,
                                       .start_raw = 500,
                                       .start_realtime = 900};

/* What a run gives when it is read. */
struct reading {
    struct cast *cast;
    struct align *align;
    struct store *store;
    struct ck_err err;
    /* of its timeline */
    uint64_t events;
    ck_time_t last;
    uint64_t steps_back;
    uint64_t marks;
    int64_t values;  /* sum */
    uint64_t others; /* that are no marks */
};

static int count_take(void *state, const struct timeline_event *event)
{
    struct reading *reading = state;

    reading->steps_back += event->start < reading->last;
    reading->last = event->start;
    if (event->record->kind == CK_KIND_MARK) {
        reading->marks++;
        reading->values += ((const struct ck_mark *)event->record)->value;
    } else {
        reading->others++;
    }
    return 0;
}

static int reading_open(struct reading *reading, const char *dir)
{
    memset(reading, 0, sizeof(*reading));
    reading->last = INT64_MIN;
    reading->cast = cast_create();
    reading->align = align_create();
    reading->store =
        store_create(dir, reading->cast, reading->align, &reading->err);
    if (reading->store == NULL) {
        return -1;
    }
    assert_int_equal(cast_close(reading->cast), 0);
    assert_int_equal(align_close(reading->align, reading->cast), 0);
    return 0;
}

/* Of the classes that have their bit. */
static void reading_pass(struct reading *reading, uint32_t classes)
{
    const struct timeline_consumer consumer = {count_take, reading, classes};
    const struct timeline timeline = {
        .store = reading->store,
        .cast = reading->cast,
        .align = reading->align,
        .consumers = &consumer,
        .consumers_count = 1,
    };

    assert_int_equal(timeline_run(&timeline, &reading->events, &reading->err),
                     0);
}

static void reading_run(struct reading *reading)
{
    reading_pass(reading, 0);
}

static void reading_close(struct reading *reading)
{
    store_destroy(reading->store);
    align_destroy(reading->align);
    cast_destroy(reading->cast);
}

static void mark_put(struct synth *synth, int64_t start, int64_t value)
{
    struct ck_mark mark = {.e = {.kind = CK_KIND_MARK, .start = start},
                           .value = value};

    synth_put(synth, &mark);
}

static void frames_that_came_twice_count_once(void **state)
{
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;

    (void)state;
    synth_stream(synth, 1, 0, 100);
    for (int64_t i = 0; i < 100; i++) {
        mark_put(synth, i, 1);
        if (i % 10 == 9) {
            synth_flush(synth);
            synth_repeat(synth);
        }
    }
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    reading_run(&reading);
    assert_int_equal(reading.marks, 100);
    assert_int_equal(store_damage(reading.store)->places, 0);
    reading_close(&reading);
    synth_remove(dir);
}

/* A name whose file has gone, as a spool's that is removed once all of it is
 * stored, after the directory was read. */
static void a_spool_that_has_gone_is_no_error(void **state)
{
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;
    char spool[PATH_MAX];

    (void)state;
    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 7, 1);
    synth_destroy(synth);
    (void)snprintf(spool, sizeof(spool),
                   "%s/spool-00112233445566778899aabbccddeeff.ck", dir);
    assert_int_equal(symlink("gone", spool), 0);
    assert_int_equal(reading_open(&reading, dir), 0);
    reading_run(&reading);
    assert_int_equal(reading.marks, 1);
    reading_close(&reading);
    assert_int_equal(unlink(spool), 0);
    synth_remove(dir);
}

/* Of the name of a segment, and none that can be read. */
static void a_segment_that_cannot_be_opened_is_damage(void **state)
{
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;
    char folder[PATH_MAX];

    (void)state;
    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 7, 1);
    synth_destroy(synth);
    (void)snprintf(folder, sizeof(folder),
                   "%s/seg-00112233445566778899aabbccddeeff.ck", dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(reading_open(&reading, dir), 0);
    reading_run(&reading);
    assert_int_equal(reading.marks, 1);
    assert_int_equal(store_damage(reading.store)->places, 1);
    assert_non_null(strstr(store_damage(reading.store)->first, "seg-0011"));
    reading_close(&reading);
    assert_int_equal(rmdir(folder), 0);
    synth_remove(dir);
}

/* Frames that overlap in time and in position, whose first record is of another
 * class, and one without any of the wanted class. */
static void a_pass_of_one_class_has_all_of_it_in_order(void **state)
{
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;
    uint64_t marks;
    uint64_t at = 0;
    int64_t values;

    (void)state;
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
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    reading_run(&reading);
    assert_int_equal(reading.marks, 19 * 20 - 4);
    assert_int_equal(reading.others, 20 * 20 - 4);
    marks = reading.marks;
    values = reading.values;
    reading.marks = reading.others = 0;
    reading.values = 0;
    reading.last = INT64_MIN;
    reading_pass(&reading, (uint32_t)1 << CK_CLASS_MARK);
    assert_int_equal(reading.steps_back, 0);
    assert_int_equal(reading.others, 0);
    assert_int_equal(reading.marks, marks);
    assert_int_equal(reading.values, values);
    assert_int_equal(reading.events, marks);
    reading_close(&reading);
    synth_remove(dir);
}

/* The same records cut anew: [0,10) [5,20) [0,3) [12,40). */
static void frames_that_overlap_are_trimmed_by_position(void **state)
{
    static const int64_t cuts[][2] = {{0, 10}, {5, 20}, {0, 3}, {12, 40}};
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;

    (void)state;
    synth_stream(synth, 1, 0, 100);
    for (size_t i = 0; i < 4; i++) {
        synth_seek(synth, (uint64_t)cuts[i][0]);
        for (int64_t n = cuts[i][0]; n < cuts[i][1]; n++) {
            mark_put(synth, n * 10, n);
        }
        synth_flush(synth);
    }
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    reading_run(&reading);
    assert_int_equal(reading.marks, 40);
    assert_int_equal(reading.values, 39 * 40 / 2);
    for (size_t i = 0; i < store_streams(reading.store); i++) {
        assert_int_equal(store_stream(reading.store, i)->gaps, 0);
    }
    reading_close(&reading);
    synth_remove(dir);
}

static void missing_units_are_a_gap(void **state)
{
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;
    uint64_t gaps = 0, units = 0;

    (void)state;
    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 1, 1);
    synth_skip(synth, 7);
    mark_put(synth, 2, 1);
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    for (size_t i = 0; i < store_streams(reading.store); i++) {
        gaps += store_stream(reading.store, i)->gaps;
        units += store_stream(reading.store, i)->gap_units;
    }
    assert_int_equal(gaps, 1);
    assert_int_equal(units, 7);
    reading_close(&reading);
    synth_remove(dir);
}

static void units_in_front_of_a_slot_are_a_gap(void **state)
{
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;

    (void)state;
    synth_stream(synth, 1, 0, 100);
    synth_seek(synth, 9);
    for (int64_t i = 0; i < 10; i++) {
        mark_put(synth, i, 1);
    }
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    assert_int_equal(reading.cast->agents[0].gaps, 1);
    assert_int_equal(reading.cast->agents[0].gap_units, 9);
    assert_in_range(reading.cast->agents[0].gap_records, 1, 9);
    reading_close(&reading);
    synth_remove(dir);
}

/* A slot's next owner goes on where the one before it ended. */
static void a_slot_that_is_handed_on_has_no_gap_between_its_owners(void **state)
{
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;

    (void)state;
    synth_stream(synth, 7, 0, 100);
    mark_put(synth, 1, 1);
    mark_put(synth, 2, 1);
    synth_stream(synth, 3, 0, 101);
    synth_seek(synth, 2);
    mark_put(synth, 3, 1);
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    assert_int_equal(reading.cast->agents[0].gaps, 0);
    assert_int_equal(reading.cast->agents[0].gap_records, 0);
    reading_close(&reading);
    synth_remove(dir);
}

static void units_behind_the_last_frame_are_told_by_the_exit(void **state)
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
        char *dir = synth_dir();
        struct synth *synth = synth_create(dir, 1, &lone);
        struct reading reading;

        synth_stream(synth, 1, 0, 100);
        mark_put(synth, 1, 1);
        mark_put(synth, 2, 1);
        synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
        synth_text(synth, CK_KIND_EXIT, 0, 0, 0, cases[i].exit,
                   strlen(cases[i].exit));
        synth_destroy(synth);
        assert_int_equal(reading_open(&reading, dir), 0);
        assert_int_equal(reading.cast->agents[0].gaps, cases[i].units > 0);
        assert_int_equal(reading.cast->agents[0].gap_units, cases[i].units);
        reading_close(&reading);
        synth_remove(dir);
    }
}

static void damage_is_counted_and_costs_no_other_frame(void **state)
{
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;

    (void)state;
    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 1, 1);
    synth_flush(synth);
    mark_put(synth, 2, 1);
    synth_garbage(synth, dir);
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    reading_run(&reading);
    assert_int_equal(reading.marks, 2);
    assert_int_equal(store_damage(reading.store)->places, 1);
    assert_int_equal(store_damage(reading.store)->bytes, 640);
    assert_non_null(strstr(store_damage(reading.store)->first, "640"));
    reading_close(&reading);
    synth_remove(dir);
}

static void any_disorder_within_a_stream_comes_out_in_order(void **state)
{
    unsigned seed = (unsigned)ck_time_raw();
    const char *text = getenv("CK_SEED");
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;
    int64_t sum = 0;

    (void)state;
    seed = text != NULL ? (unsigned)strtoul(text, NULL, 10) : seed;
    print_message("CK_SEED=%u\n", seed);
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
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    reading_run(&reading);
    assert_int_equal(reading.marks, 60000);
    assert_int_equal(reading.values, sum);
    assert_int_equal(reading.steps_back, 0);
    reading_close(&reading);
    synth_remove(dir);
}

static void a_slot_used_by_two_threads_has_both(void **state)
{
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;

    (void)state;
    synth_stream(synth, 1, 0, 100);
    mark_put(synth, 1, 1);
    synth_stream(synth, 1, 0, 101);
    mark_put(synth, 2, 1);
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    assert_int_equal(store_streams(reading.store), 2);
    assert_int_equal(reading.cast->threads_count, 3);
    reading_run(&reading);
    assert_int_equal(reading.marks, 2);
    reading_close(&reading);
    synth_remove(dir);
}

static void a_directory_that_is_no_run_is_refused(void **state)
{
    char *dir = synth_dir();
    struct reading reading;

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
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 1, &lone);
    struct reading reading;
    struct place place;
    uint32_t process;

    (void)state;
    synth_text(synth, CK_KIND_PROCESS, 1, 4711, 0, "./train", 7);
    synth_text(synth, CK_KIND_SYMBOL, 1, 0x1234, 88, "load\0load.c", 11);
    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, 3, 0, 0, "forward", 7);
    synth_text(synth, CK_KIND_DEVICE, 1, 0, 0, "name=gpu\nuuid=u1\n", 17);
    synth_kernel(synth, 3, 1000, 10, 100, 1);
    synth_exit(synth, 9, 5000, 77);
    synth_destroy(synth);
    assert_int_equal(reading_open(&reading, dir), 0);
    process = cast_process_find(reading.cast, 0, 1);
    assert_string_equal(cast_name(reading.cast, process, 3), "forward");
    assert_string_equal(cast_device(reading.cast, process, 1)->name, "gpu");
    assert_null(cast_device(reading.cast, process, 2));
    place = cast_place(reading.cast, process, 0x1234);
    assert_string_equal(place.function, "load");
    assert_string_equal(place.file, "load.c");
    assert_int_equal(place.line, 88);
    assert_int_equal(reading.cast->processes[process].pid, 4711);
    assert_int_equal(reading.cast->ranks_count, 1);
    assert_true(reading.cast->agents[0].has_exit);
    assert_int_equal(reading.cast->agents[0].status, 9);
    assert_int_equal(reading.cast->agents[0].exit_time, 5000);
    reading_close(&reading);
    synth_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_came_twice_count_once),
        cmocka_unit_test(a_spool_that_has_gone_is_no_error),
        cmocka_unit_test(a_segment_that_cannot_be_opened_is_damage),
        cmocka_unit_test(frames_that_overlap_are_trimmed_by_position),
        cmocka_unit_test(a_pass_of_one_class_has_all_of_it_in_order),
        cmocka_unit_test(missing_units_are_a_gap),
        cmocka_unit_test(units_in_front_of_a_slot_are_a_gap),
        cmocka_unit_test(
            a_slot_that_is_handed_on_has_no_gap_between_its_owners),
        cmocka_unit_test(units_behind_the_last_frame_are_told_by_the_exit),
        cmocka_unit_test(damage_is_counted_and_costs_no_other_frame),
        cmocka_unit_test(any_disorder_within_a_stream_comes_out_in_order),
        cmocka_unit_test(a_slot_used_by_two_threads_has_both),
        cmocka_unit_test(a_directory_that_is_no_run_is_refused),
        cmocka_unit_test(facts_name_ranks_devices_and_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
