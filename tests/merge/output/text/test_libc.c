/* test_libc.c - calls of libc: the program's, and the MPI library's own
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/calls/calls.h"
#include "merge/analysis/calls/libc.h"
#include "merge/model/array.h"
#include "merge/model/comm.h"

#define REGION ((struct region){0, 1000})

enum { PROGRAM, EVENTS, IDLE, THREADS };
enum { READ = 1, POLL, NAMES };

struct fixture {
    struct defs *defs;
    struct calls *calls;
    struct report report;
};

static const char *keep(struct defs *defs, const char *text)
{
    return texts_keep(defs->texts, text, strlen(text));
}

static void total_add(struct defs_process *process, struct defs_libc total)
{
    array_grow(&process->libc, &process->libc_room, process->libc_count,
               sizeof(total));
    process->libc[process->libc_count++] = total;
}

/* A rank that calls MPI, with a thread of its own, one that polls for the MPI
 * library, and one with nothing but numbers. */
static int begin(void **state)
{
    static struct fixture fixture;
    const uint8_t id[16] = {1};
    struct defs *defs = defs_create();
    uint32_t agent = defs_agent_find(defs, id);
    uint32_t process = defs_process_find(defs, agent, 1);
    struct defs_process *p = &defs->processes[process];

    defs->agents[agent].rank = p->rank = 0;
    defs->agents[agent].has_identity = true;
    stamps_init(&p->init);
    stamps_add(&p->init, false, 1, 2);
    for (uint32_t i = 0; i < THREADS; i++) {
        (void)defs_thread_find(defs, process, 100 + i);
        total_add(p, (struct defs_libc){READ, 100 + i, 10, 500, 80});
    }
    total_add(p, (struct defs_libc){POLL, 100 + EVENTS, 4, 9000, 0});
    assert_int_equal(names_set(p->names, READ, keep(defs, "read")), 0);
    assert_int_equal(names_set(p->names, POLL, keep(defs, "poll")), 0);
    names_set_place(
        p->names, 0x10,
        (struct place){keep(defs, "main"), keep(defs, "/w/main.c"), 5});
    names_set_place(
        p->names, 0x20,
        (struct place){keep(defs, "libevent_core-2.1.so.7.0.1+0x259b4"), NULL,
                       0});
    defs_close(defs);
    comm_close(defs);
    fixture = (struct fixture){defs, calls_create(defs, REGION), {0}};
    *state = &fixture;
    return fixture.calls == NULL ? -1 : 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    report_fini(&fixture->report);
    calls_destroy(fixture->calls);
    defs_destroy(fixture->defs);
    return 0;
}

static void
give(struct fixture *fixture, uint32_t thread, uint32_t name, uint64_t site)
{
    struct ck_call call = {.e = {.kind = CK_KIND_POSIX, .name = name},
                           .site = site};
    struct timeline_event event = {.record = &call.e,
                                   .start = 10,
                                   .end = 20,
                                   .rank = 0,
                                   .process = 0,
                                   .thread = thread};

    assert_int_equal(calls_take(fixture->calls, &event), 0);
}

static const struct report_libc *row_of(const struct fixture *fixture,
                                        const char *name)
{
    for (size_t i = 0; i < fixture->report.libc_count; i++) {
        if (strcmp(fixture->report.libc[i].name, name) == 0) {
            return &fixture->report.libc[i];
        }
    }
    return NULL;
}

static void report(struct fixture *fixture)
{
    calls_report(fixture->calls, &fixture->report);
    libc_report(fixture->defs, fixture->calls, &fixture->report);
}

static void what_the_mpi_librarys_threads_do_is_apart(void **state)
{
    struct fixture *fixture = *state;
    const struct report_libc *read;

    give(fixture, PROGRAM, READ, 0x10);
    give(fixture, PROGRAM, READ, 0x10);
    give(fixture, EVENTS, READ, 0x20);
    give(fixture, EVENTS, POLL, 0x20);
    give(fixture, EVENTS, READ, 0); /* whose is not known */
    report(fixture);

    read = row_of(fixture, "read");
    assert_int_equal(read->calls, 30);
    assert_int_equal(read->own_calls, 10);
    assert_int_equal(read->own_total, 500);
    assert_int_equal(read->own_bytes, 80);
    assert_int_equal(read->ranks, 1);
    assert_int_equal(read->program_ranks, 1);
    assert_int_equal(row_of(fixture, "poll")->ranks, 1);
    assert_int_equal(row_of(fixture, "poll")->program_ranks, 0);
    assert_int_equal(read->own_threads, 1);
    assert_string_equal(read->call->place.file, "/w/main.c");
    /* It took longest, but not the program. */
    assert_ptr_equal(&fixture->report.libc[0], read);
    assert_int_equal(row_of(fixture, "poll")->own_total, 9000);
    assert_null(row_of(fixture, "poll")->call);
}

static void a_thread_that_the_program_uses_too_is_the_programs(void **state)
{
    struct fixture *fixture = *state;

    give(fixture, EVENTS, READ, 0x20);
    give(fixture, EVENTS, POLL, 0x10);
    report(fixture);

    assert_int_equal(row_of(fixture, "read")->own_calls, 0);
    assert_int_equal(row_of(fixture, "poll")->own_calls, 0);
}

static void without_mpi_a_thread_in_libevent_is_the_programs(void **state)
{
    struct fixture *fixture = *state;

    stamps_init(&fixture->defs->processes[0].init);
    give(fixture, EVENTS, POLL, 0x20);
    report(fixture);

    assert_int_equal(row_of(fixture, "poll")->own_calls, 0);
}

/* What it made in its last second it could not record. */
static void records_of_a_killed_process_count_beyond_its_own_count(void **state)
{
    struct fixture *fixture = *state;
    struct defs_agent *agent = &fixture->defs->agents[0];

    agent->has_exit = agent->is_exit_known = true;
    agent->status = 9; /* SIGKILL */
    for (int i = 0; i < 6; i++) {
        give(fixture, PROGRAM, POLL, 0x10);
    }
    give(fixture, PROGRAM, READ, 0x10);
    report(fixture);

    assert_int_equal(row_of(fixture, "poll")->calls, 6); /* it recorded 4 */
    assert_true(row_of(fixture, "poll")->is_least);
    assert_int_equal(row_of(fixture, "read")->calls, 30);
    assert_true(row_of(fixture, "read")->is_least);
}

static void of_a_process_that_ended_by_itself_all_is_counted(void **state)
{
    struct fixture *fixture = *state;
    struct defs_agent *agent = &fixture->defs->agents[0];

    agent->has_exit = agent->is_exit_known = true;
    give(fixture, PROGRAM, READ, 0x10);
    report(fixture);
    assert_int_equal(row_of(fixture, "read")->calls, 30);
    assert_false(row_of(fixture, "read")->is_least);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_the_mpi_librarys_threads_do_is_apart, begin, end),
        cmocka_unit_test_setup_teardown(
            a_thread_that_the_program_uses_too_is_the_programs, begin, end),
        cmocka_unit_test_setup_teardown(
            without_mpi_a_thread_in_libevent_is_the_programs, begin, end),
        cmocka_unit_test_setup_teardown(
            records_of_a_killed_process_count_beyond_its_own_count, begin, end),
        cmocka_unit_test_setup_teardown(
            of_a_process_that_ended_by_itself_all_is_counted, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
