/* test_resident.c - the memory of a real process, as it grows
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/collector/resident.h"
#include "tests/agent/said.h"

#define BYTES ((size_t)32 << 20)
#define NUMBER 3

static struct ck_ring_header *header;
static struct resident *resident;
static struct said said;
static ck_time_t now;

static void enter(uint32_t pid, uint32_t number)
{
    struct ck_ring_process *entry = ck_ring_processes(header);

    entry->pid = pid;
    atomic_store(&entry->key, 1);
    atomic_store(&entry->incarnation, number);
    atomic_store(&header->incarnations, number);
}

static int setup(void **state)
{
    (void)state;
    header = calloc(1, CK_RING_HEADS_OFFSET);
    said_init(&said);
    resident = resident_create(header, said.selfstream);
    now = CK_TIME_S;
    return header == NULL || resident == NULL;
}

static int teardown(void **state)
{
    (void)state;
    resident_destroy(resident);
    said_fini(&said);
    free(header);
    return 0;
}

/* The last record of that memory; NULL. */
static const struct ck_counter *last(enum ck_memory which)
{
    const struct ck_counter *record = NULL, *found = NULL;

    said_read(&said);
    while ((record = said_next(&said, CK_KIND_MEMORY, record)) != NULL) {
        assert_int_equal(record->e.name, NUMBER);
        assert_int_equal(record->tid, getpid());
        found = record->reason == which ? record : found;
    }
    return found;
}

static void look(void)
{
    now += RESIDENT_PAUSE;
    resident_step(resident, now);
}

static void what_a_process_touches_is_sent_with_its_peak(void **state)
{
    int64_t before, peak;
    char *at;

    (void)state;
    enter((uint32_t)getpid(), NUMBER);
    look();
    before = last(CK_MEMORY_RESIDENT)->value;
    at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0);
    memset(at, 1, BYTES);
    look();
    /* An address sanitizer has an eighth of it besides. */
    assert_in_range(last(CK_MEMORY_RESIDENT)->value - before, BYTES * 9 / 10,
                    BYTES * 13 / 10);
    peak = last(CK_MEMORY_RESIDENT)->enabled;
    (void)munmap(at, BYTES);
    look();
    assert_in_range(last(CK_MEMORY_RESIDENT)->value, 1, before + BYTES / 2);
    assert_true(last(CK_MEMORY_RESIDENT)->enabled >= peak);
}

/* The kernel keeps the peak of what came and went between two looks. */
static void a_peak_between_two_looks_is_sent(void **state)
{
    int64_t before;
    char *at;

    (void)state;
    enter((uint32_t)getpid(), NUMBER);
    look();
    before = last(CK_MEMORY_RESIDENT)->value;
    at = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 1, 2 * BYTES);
    (void)munmap(at, 2 * BYTES);
    now += RESIDENT_STATUS_PAUSE;
    look();
    assert_true(last(CK_MEMORY_RESIDENT)->enabled >=
                before + (int64_t)(2 * BYTES) * 9 / 10);
}

static size_t records(void)
{
    const struct ck_counter *record = NULL;
    size_t count = 0;

    said_read(&said);
    while ((record = said_next(&said, CK_KIND_MEMORY, record)) != NULL) {
        count++;
    }
    return count;
}

static void what_stays_is_sent_once(void **state)
{
    size_t before;

    (void)state;
    enter((uint32_t)getpid(), NUMBER);
    look();
    before = records();
    for (int i = 0; i < 3; i++) {
        look();
    }
    assert_in_range(records(), before, before + 1);
}

static void a_process_that_is_gone_is_left_alone(void **state)
{
    (void)state;
    enter(0x3fffffff, NUMBER);
    look();
    look();
    assert_null(last(CK_MEMORY_RESIDENT));
}

/* The ring counts a process before it has its entry. */
static void a_process_that_was_just_entering_is_found(void **state)
{
    (void)state;
    atomic_store(&header->incarnations, NUMBER);
    look();
    assert_null(last(CK_MEMORY_RESIDENT));
    enter((uint32_t)getpid(), NUMBER);
    look();
    assert_non_null(last(CK_MEMORY_RESIDENT));
}

/* Entries are used again: they are not in the order of their numbers. */
static void of_two_images_of_a_process_the_newer_is_followed(void **state)
{
    struct ck_ring_process *older = ck_ring_processes(header) + 1;

    (void)state;
    older->pid = (uint32_t)getpid();
    atomic_store(&older->incarnation, NUMBER - 1);
    enter((uint32_t)getpid(), NUMBER);
    look();
    assert_non_null(last(CK_MEMORY_RESIDENT)); /* none of the other image */
}

static void no_look_comes_before_its_time(void **state)
{
    (void)state;
    enter((uint32_t)getpid(), NUMBER);
    resident_step(resident, now);
    assert_true(records() > 0);
    enter((uint32_t)getpid(), NUMBER + 1);
    resident_step(resident, now + RESIDENT_PAUSE / 2);
    assert_non_null(last(CK_MEMORY_RESIDENT)); /* none of the other image */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_a_process_touches_is_sent_with_its_peak, setup, teardown),
        cmocka_unit_test_setup_teardown(a_peak_between_two_looks_is_sent, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_stays_is_sent_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_process_that_is_gone_is_left_alone,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_process_that_was_just_entering_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(
            of_two_images_of_a_process_the_newer_is_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(no_look_comes_before_its_time, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
