/* test_placednames.c - names of calls, one for each place
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <stdlib.h>

#include "merge/model/defs.h"
#include "merge/output/lanes/lanes.h"
#include "merge/output/lanes/placednames.h"
#include "schema/event.h"

#define LENGTH 1000000
#define NAME 7

static const char *const name = "MPI_Send";
static const char *const file = "/src/ring.c";

/* Two processes of one program, whose addresses differ. */
static struct defs *world(void)
{
    struct defs *defs = defs_create();

    for (uint32_t i = 0; i < 2; i++) {
        uint8_t id[16] = {(uint8_t)i};
        struct names *names;

        assert_int_equal(defs_process_find(defs, defs_agent_find(defs, id), 1),
                         i);
        (void)defs_thread_find(defs, i, 1);
        names = defs->processes[i].names;
        assert_int_equal(names_set(names, NAME, name), 0);
        names_set_place(names, 100 + i, (struct place){"pass", file, 40});
        names_set_place(names, 200 + i, (struct place){"pass", file, 50});
        names_set_place(names, 300 + i, (struct place){"_ZN1a1bEv", NULL, 0});
    }
    return defs;
}

static void calls_from_one_line_have_one_name_in_all_processes(void **state)
{
    struct defs *defs = world();
    struct placednames *names = placednames_create(defs);
    const char *first = placednames_of(names, 0, name, 100);

    (void)state;
    assert_string_equal(first, name);
    assert_ptr_not_equal(first, name);
    assert_ptr_equal(first, placednames_of(names, 0, name, 100));
    assert_ptr_equal(first, placednames_of(names, 1, name, 101));
    assert_ptr_not_equal(first, placednames_of(names, 0, name, 200));
    assert_string_equal(placednames_place(names, first)->file, file);
    assert_int_equal(placednames_place(names, first)->line, 40);
    assert_int_equal(
        placednames_place(names, placednames_of(names, 1, name, 201))->line,
        50);
    placednames_destroy(names);
    defs_destroy(defs);
}

static void a_call_from_no_known_place_keeps_its_name(void **state)
{
    struct defs *defs = world();
    struct placednames *names = placednames_create(defs);
    const char *of_function = placednames_of(names, 0, name, 300);

    (void)state;
    assert_ptr_equal(placednames_of(names, 0, name, 0), name);
    assert_ptr_equal(placednames_of(names, 0, name, 999), name);
    assert_ptr_equal(placednames_of(names, 0, name, 999), name);
    assert_null(placednames_of(names, 0, NULL, 100));
    assert_null(placednames_place(names, name));
    assert_string_equal(placednames_place(names, of_function)->function,
                        "_ZN1a1bEv");
    assert_null(placednames_place(names, of_function)->file);
    placednames_destroy(names);
    defs_destroy(defs);
}

/* A call of a quarter of the run from there. */
static void
take(struct lanes *lanes, uint16_t kind, uint64_t site, ck_time_t start)
{
    const struct ck_call call = {.e = {.kind = kind, .name = NAME},
                                 .site = site};
    const struct timeline_event event = {
        .record = &call.e, .start = start, .end = start + LENGTH / 4};

    assert_int_equal(lanes_take(lanes, &event), 0);
}

static void items_of_calls_have_their_place_and_others_none(void **state)
{
    struct defs *defs = world();
    struct lanes *lanes = lanes_create(defs, (struct region){0, LENGTH}, 100);
    struct lane_items lane = {NULL, 0, 0};
    size_t rows;

    (void)state;
    take(lanes, CK_KIND_MPI_CALL, 100, 0);
    take(lanes, CK_KIND_MPI_CALL, 200, LENGTH / 4);
    take(lanes, CK_KIND_SYNC, 100, LENGTH / 2);
    lanes_finish(lanes);
    lane_read(&lanes_rows(lanes, &rows)->lane, &lane);
    assert_int_equal(rows, 1);
    assert_int_equal(lane.count, 3);
    assert_int_equal(lanes_place(lanes, lane.all[0].name)->line, 40);
    assert_int_equal(lanes_place(lanes, lane.all[1].name)->line, 50);
    assert_null(lanes_place(lanes, lane.all[2].name));
    for (size_t i = 0; i < lane.count; i++) {
        assert_string_equal(lane.all[i].name, name);
    }
    free(lane.all);
    lanes_destroy(lanes);
    defs_destroy(defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_from_one_line_have_one_name_in_all_processes),
        cmocka_unit_test(a_call_from_no_known_place_keeps_its_name),
        cmocka_unit_test(items_of_calls_have_their_place_and_others_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
