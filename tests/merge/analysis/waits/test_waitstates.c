/* test_waitstates.c - which waits of its threads are a rank's
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 0 has two threads: the first calls MPI_Init, the second one waits for
 * rank 1 from 100 to 200. The first one does something else meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/waits/waitstates.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

enum { FIRST, SECOND, LATE };
enum { N_RECV = 1, N_JOIN, N_READ, NAMES };

static struct defs *defs;
static struct align *align;
static struct lookback *lookback;
static struct waitstates *waitstates;

static void process_make(uint8_t rank, uint32_t threads)
{
    static const char *const names[NAMES] = {NULL, "MPI_Recv", "pthread_join",
                                             "read"};
    uint8_t id[16] = {(uint8_t)(rank + 1)};
    uint32_t agent = defs_agent_find(defs, id);
    uint32_t process = defs_process_find(defs, agent, 1);

    defs->agents[agent].rank = defs->processes[process].rank = rank;
    for (uint32_t i = 0; i < threads; i++) {
        (void)defs_thread_find(defs, process, 7 + i);
    }
    for (uint32_t i = 1; i < NAMES; i++) {
        assert_int_equal(
            names_set(defs->processes[process].names, i,
                      texts_keep(defs->texts, names[i], strlen(names[i]))),
            0);
    }
}

static int setup(void **state)
{
    (void)state;
    defs = defs_create();
    process_make(0, 2);
    process_make(1, 1);
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    lookback = lookback_create(defs, align, 4096);
    waitstates =
        waitstates_create(defs, lookback, NULL, (struct region){0, 1000});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    waitstates_destroy(waitstates);
    lookback_destroy(lookback);
    align_destroy(align);
    defs_destroy(defs);
    return 0;
}

static void
put(uint32_t thread, const struct ck_event *record, struct region part)
{
    struct timeline_event event = {.record = record,
                                   .start = part.start,
                                   .end = part.end,
                                   .process = defs->threads[thread].process,
                                   .thread = thread};

    assert_int_equal(lookback_take(lookback, &event, 0), 0);
}

static void
call(uint32_t thread, uint8_t kind, uint32_t name, struct region part)
{
    struct ck_call record = {
        .e = {.kind = kind, .name = name, .start = part.start},
        .dur = region_length(part)};

    put(thread, &record.e, part);
}

/* How long rank 0 waited. */
static ck_time_t waited(uint32_t thread)
{
    struct region part = {100, 200};
    struct wait wait = {.kind = WAIT_LATE_SENDER, .until = 200, .thread = LATE};

    call(thread, CK_KIND_MPI_CALL, N_RECV, part);
    waitstates_add(waitstates, thread, part, &wait);
    assert_int_equal(waitstates_rank(waitstates, 1)->caused,
                     waitstates_rank(waitstates, 0)->waited);
    return waitstates_rank(waitstates, 0)->waited;
}

static void a_wait_of_the_first_thread_is_its_ranks(void **state)
{
    (void)state;
    waitstates_enter(waitstates, FIRST);
    waitstates_enter(waitstates, SECOND);
    assert_int_equal(waited(FIRST), 100);
    assert_int_equal(waitstates_rank(waitstates, 0)->waits, 1);
}

/* A server waits for requests: its rank is not kept from its work. */
static void a_thread_that_waits_beside_work_keeps_no_rank_waiting(void **state)
{
    (void)state;
    waitstates_enter(waitstates, FIRST);
    call(FIRST, CK_KIND_POSIX, N_READ, (struct region){50, 150});
    call(FIRST, CK_KIND_POSIX, N_READ, (struct region){300, 400});
    assert_int_equal(waited(SECOND), 0);
    assert_int_equal(waitstates_rank(waitstates, 0)->waits, 0);
}

static void
what_the_first_thread_waits_in_mpi_is_not_counted_again(void **state)
{
    (void)state;
    waitstates_enter(waitstates, FIRST);
    call(FIRST, CK_KIND_MPI_CALL, N_RECV, (struct region){90, 210});
    assert_int_equal(waited(SECOND), 0);
}

static void
where_the_first_thread_waits_for_others_they_are_the_rank(void **state)
{
    (void)state;
    waitstates_enter(waitstates, FIRST);
    call(FIRST, CK_KIND_POSIX, N_JOIN, (struct region){130, 900});
    assert_int_equal(waited(SECOND), 70);
    assert_int_equal(waitstates_rank(waitstates, 0)->waits, 1);
}

static void where_no_first_thread_is_known_all_waits_count(void **state)
{
    (void)state;
    call(FIRST, CK_KIND_POSIX, N_READ, (struct region){50, 150});
    assert_int_equal(waited(SECOND), 100);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_wait_of_the_first_thread_is_its_ranks),
        CASE(a_thread_that_waits_beside_work_keeps_no_rank_waiting),
        CASE(what_the_first_thread_waits_in_mpi_is_not_counted_again),
        CASE(where_the_first_thread_waits_for_others_they_are_the_rank),
        CASE(where_no_first_thread_is_known_all_waits_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
