/* test_unowned.c - samples are held until their process has an entry
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * This process is the one that computes; a number that no process has is the
 * one that is over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/perf/unowned.h"
#include "tests/agent/said.h"
#include "tests/emulator.h"

#define PERIOD (10 * CK_TIME_MS)
#define NEEDED 3 /* samples of that period */
#define NOBODY 0x3fffffff

static struct ck_ring_header *header;
static struct unowned *unowned;
static struct said said;

static int setup(void **state)
{
    (void)state;
    header = calloc(1, CK_RING_HEADS_OFFSET);
    unowned = unowned_create(NOBODY, PERIOD);
    said_init(&said);
    return header == NULL || unowned == NULL;
}

static int teardown(void **state)
{
    (void)state;
    said_fini(&said);
    unowned_destroy(unowned);
    free(header);
    return 0;
}

static bool take(uint32_t pid, ck_time_t time)
{
    return unowned_take(
        unowned, header,
        &(struct unowned_sample){
            .record.e = {.kind = CK_KIND_SAMPLE, .start = time}, .pid = pid});
}

/* The note, or "". */
static const char *note(uint64_t owned)
{
    const struct ck_text *text;

    unowned_notes(unowned, owned, said.selfstream);
    said_read(&said);
    text = said_next(&said, CK_KIND_NOTE, NULL);
    return text == NULL ? "" : ck_text_bytes(text);
}

static void one_that_computes_is_entered_and_gets_its_samples_back(void **state)
{
    uint32_t self = (uint32_t)getpid();
    struct unowned_sample sample;

    (void)state;
    EMULATOR_SKIP("no process_vm_readv");
    assert_false(take(self, 1));
    assert_false(take(NOBODY, 2));
    assert_false(take(self, 3));
    assert_int_equal(atomic_load(&header->incarnations), 0);
    assert_true(take(self, 4));
    assert_int_equal(atomic_load(&header->incarnations), 1);
    for (ck_time_t time = 1; time <= 4; time += time == 1 ? 2 : 1) {
        assert_true(unowned_next(unowned, self, &sample));
        assert_int_equal(sample.record.e.start, time);
    }
    assert_false(unowned_next(unowned, self, &sample));
}

static void page_faults_wait_for_samples_and_make_no_entry(void **state)
{
    struct unowned_sample fault = {
        .record.e = {.kind = CK_KIND_FAULT_MINOR, .start = 1},
        .pid = (uint32_t)getpid()};
    struct unowned_sample sample;

    (void)state;
    EMULATOR_SKIP("no process_vm_readv");
    for (int i = 0; i < 2 * NEEDED; i++) {
        assert_false(unowned_take(unowned, header, &fault));
    }
    for (int i = 0; i < NEEDED - 1; i++) {
        assert_false(take(fault.pid, 2));
    }
    assert_true(take(fault.pid, 3));
    assert_true(unowned_next(unowned, fault.pid, &sample));
    assert_int_equal(sample.record.e.kind, CK_KIND_FAULT_MINOR);
}

static void page_faults_without_an_owner_are_no_cpu_time(void **state)
{
    struct unowned_sample fault = {.record.e.kind = CK_KIND_FAULT_MAJOR,
                                   .pid = NOBODY};

    (void)state;
    for (int i = 0; i < 100; i++) {
        (void)unowned_take(unowned, header, &fault);
    }
    assert_string_equal(note(0), "");
}

static void one_that_is_over_is_counted_and_reported(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * NEEDED; i++) {
        assert_false(take(NOBODY, i));
    }
    assert_non_null(strstr(note(NEEDED), "1 processes, 0.06 s"));
}

static void samples_that_are_held_at_the_end_are_counted(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 7; i++) {
        assert_false(take(NOBODY - i, i));
    }
    assert_non_null(strstr(note(0), "7 processes, 0.07 s"));
}

static void samples_before_an_exec_are_not_of_the_image_after_it(void **state)
{
    uint32_t self = (uint32_t)getpid();
    struct unowned_sample sample;

    (void)state;
    assert_false(take(self, 1));
    assert_false(take(self, 2));
    unowned_forget(unowned, self, 2);
    assert_true(unowned_next(unowned, self, &sample));
    assert_int_equal(sample.record.e.start, 2);
    assert_false(unowned_next(unowned, self, &sample));
}

static void more_than_are_held_are_counted(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < UNOWNED_MAX + 100; i++) {
        assert_false(take(NOBODY - i, i));
    }
    assert_non_null(strstr(note(0), "356 processes, 3.56 s"));
}

static void little_is_not_worth_a_note(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        assert_false(take(NOBODY - i, i));
    }
    assert_string_equal(note(1000), "");
}

static void little_of_the_table_is_left_for_programs_that_record(void **state)
{
    struct ck_ring_process *table = ck_ring_processes(header);

    (void)state;
    for (unsigned i = 0; i < CK_RING_PROCESSES / 4 * 3; i++) {
        atomic_store(&table[i].key, i + 1);
        atomic_store(&table[i].incarnation, i + 1);
    }
    for (int i = 0; i < NEEDED; i++) {
        assert_false(take((uint32_t)getpid(), i));
    }
    assert_int_equal(atomic_load(&header->noprocess), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            one_that_computes_is_entered_and_gets_its_samples_back, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            page_faults_wait_for_samples_and_make_no_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(
            page_faults_without_an_owner_are_no_cpu_time, setup, teardown),
        cmocka_unit_test_setup_teardown(
            one_that_is_over_is_counted_and_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(
            samples_that_are_held_at_the_end_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(
            samples_before_an_exec_are_not_of_the_image_after_it, setup,
            teardown),
        cmocka_unit_test_setup_teardown(more_than_are_held_are_counted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(little_is_not_worth_a_note, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            little_of_the_table_is_left_for_programs_that_record, setup,
            teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
