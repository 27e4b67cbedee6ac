/* test_sockets.c - which rank's data a process waited for, outside of MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/history/sockets.h"

#define TID 7
/* Names of each process. */
enum { EPOLL = 1, READ, COND, SLEEP, END, OTHER_END };

#define PLACE_A "10.0.0.1:5000"
#define PLACE_B "10.0.0.2:6000"
#define LOOP_A "127.0.0.1:5000"
#define LOOP_B "127.0.0.1:6000"

static struct defs *defs;
static struct sockets *sockets;
static struct sockets_stretch stretch;
static uint32_t caller; /* process and thread */

static void name(uint32_t process, uint32_t id, const char *text)
{
    assert_int_equal(names_set(defs->processes[process].names, id,
                               texts_keep(defs->texts, text, strlen(text))),
                     0);
}

/* Ranks 0 and 1, and a second process of rank 1. */
static int setup(void **state)
{
    (void)state;
    caller = 0;
    defs = defs_create();
    for (uint8_t i = 0; i < 3; i++) {
        uint8_t id[16] = {(uint8_t)(1 + i)};
        uint32_t agent = defs_agent_find(defs, id);
        uint32_t process = defs_process_find(defs, agent, 1);

        defs->agents[agent].domain = i == 0 ? 0 : 1;
        defs->processes[process].rank = i == 0 ? 0 : 1;
        (void)defs_thread_find(defs, process, TID);
        name(process, EPOLL, "epoll_wait");
        name(process, READ, "recv");
        name(process, COND, "pthread_cond_wait");
        name(process, SLEEP, "nanosleep");
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sockets_destroy(sockets);
    sockets = NULL;
    defs_destroy(defs);
    return 0;
}

static void ends_are(const char *of_first, const char *of_second)
{
    name(0, END, of_first);
    name(1, END, of_second);
    sockets = sockets_create(defs, SOCKETS_OF_RANKS);
    assert_non_null(sockets);
}

/* A call of the caller's thread. */
static bool
call(uint32_t function, ck_time_t start, ck_time_t end, uint64_t bytes)
{
    struct ck_call record = {
        .e = {.kind = CK_KIND_POSIX, .units = 2, .name = function},
        .bytes = bytes,
        .extra = function == READ ? END : 0};
    struct timeline_event event = {.record = &record.e,
                                   .start = start,
                                   .end = end,
                                   .process = caller,
                                   .thread = caller};

    return sockets_take(sockets, &event, &stretch);
}

static void stretch_is(ck_time_t start, ck_time_t end, uint32_t peer)
{
    assert_int_equal(stretch.part.start, start);
    assert_int_equal(stretch.part.end, end);
    assert_int_equal(stretch.process, 0);
    assert_int_equal(stretch.peer, peer);
}

static void waits_until_data_comes_are_one_stretch(void **state)
{
    (void)state;
    ends_are("tcp " PLACE_A " " PLACE_B, "tcp " PLACE_B " " PLACE_A);
    assert_false(call(EPOLL, 100, 200, 0));
    assert_int_equal(sockets_horizon(sockets, 500), 100);
    assert_false(call(READ, 205, 206, 0)); /* nothing was there */
    assert_false(call(EPOLL, 210, 300, 0));
    assert_true(call(READ, 301, 302, 8));
    stretch_is(100, 300, 1);
    assert_int_equal(sockets_horizon(sockets, 500), 500);
    /* What it reads at once it had not waited for. */
    assert_true(call(READ, 310, 311, 8));
    stretch_is(310, 311, 1);
    assert_int_equal(sockets_find(sockets, 0, 250)->part.start, 100);
    assert_null(sockets_find(sockets, 0, 300));
    assert_null(sockets_find(sockets, 1, 250));
}

/* It looked while it was about something else. */
static void a_read_that_blocks_behind_looks_waits_itself(void **state)
{
    (void)state;
    ends_are("tcp " PLACE_A " " PLACE_B, "tcp " PLACE_B " " PLACE_A);
    assert_false(call(EPOLL, 1000, 1100, 0));
    assert_true(call(READ, 50000, 900000, 8));
    stretch_is(1000, 900000, 1);
}

static void a_read_that_blocks_is_a_stretch(void **state)
{
    (void)state;
    ends_are("tcp " PLACE_A " " PLACE_B, "tcp " PLACE_B " " PLACE_A);
    assert_true(call(READ, 1000, 9000, 8));
    stretch_is(1000, 9000, 1);
}

/* Process 0 looks for data while it works on what process 1 waits for. */
static void who_sends_first_did_not_wait_until_then(void **state)
{
    ck_time_t until = 0;

    (void)state;
    ends_are("tcp " PLACE_A " " PLACE_B, "tcp " PLACE_B " " PLACE_A);
    assert_false(call(EPOLL, 100000, 120000, 0));
    caller = 1;
    assert_true(call(READ, 50000, 300000, 8));
    caller = 0;
    assert_true(call(READ, 310000, 900000, 8));
    assert_non_null(sockets_find(sockets, 0, 110000));
    assert_null(sockets_awaited(sockets, 0, 110000, &until));
    assert_int_equal(until, 300000);
    assert_int_equal(sockets_awaited(sockets, 0, 310000, &until)->peer, 1);
    assert_int_equal(sockets_awaited(sockets, 1, 110000, &until)->peer, 0);
}

/* 0 waits for 1, 1 for 2, 2 for 0: what 1 waits for comes first. */
static void of_a_circle_the_first_to_send_did_not_wait(void **state)
{
    ck_time_t until = 0;

    (void)state;
    defs->processes[2].rank = 2;
    name(0, END, "tcp 10.0.0.1:1 10.0.0.2:2");
    name(1, OTHER_END, "tcp 10.0.0.2:2 10.0.0.1:1");
    name(1, END, "tcp 10.0.0.2:3 10.0.0.3:4");
    name(2, OTHER_END, "tcp 10.0.0.3:4 10.0.0.2:3");
    name(2, END, "tcp 10.0.0.3:5 10.0.0.1:6");
    name(0, OTHER_END, "tcp 10.0.0.1:6 10.0.0.3:5");
    sockets = sockets_create(defs, SOCKETS_OF_RANKS);
    caller = 1;
    assert_true(call(READ, 110000, 200000, 8));
    caller = 0;
    assert_true(call(READ, 100000, 300000, 8));
    caller = 2;
    assert_true(call(READ, 100000, 400000, 8));
    assert_null(sockets_awaited(sockets, 2, 150000, &until));
    assert_int_equal(until, 200000);
    assert_int_equal(sockets_awaited(sockets, 1, 150000, &until)->peer, 2);
    assert_int_equal(sockets_awaited(sockets, 0, 150000, &until)->peer, 1);
    assert_int_equal(sockets_awaited(sockets, 2, 250000, &until)->peer, 0);
}

static void none_is_named_for_an_end_of_two_processes(void **state)
{
    (void)state;
    name(2, END, "tcp " PLACE_B " " PLACE_A);
    ends_are("tcp " PLACE_A " " PLACE_B, "tcp " PLACE_B " " PLACE_A);
    assert_false(call(EPOLL, 100, 200, 0));
    assert_false(call(READ, 201, 202, 8));
    assert_null(sockets_find(sockets, 0, 150));
    /* And it keeps nothing back. */
    assert_int_equal(sockets_horizon(sockets, 500), 500);
}

static void loopback_addresses_mean_something_within_a_host(void **state)
{
    (void)state;
    ends_are("tcp " LOOP_A " " LOOP_B, "tcp " LOOP_B " " LOOP_A);
    assert_false(call(READ, 1000, 9000, 8));
    sockets_destroy(sockets);
    defs->agents[1].domain = 0;
    sockets = sockets_create(defs, SOCKETS_OF_RANKS);
    assert_true(call(READ, 1000, 9000, 8));
}

/* Both below agents of one host. Process 0 waits in a read. */
static bool waits_on(const char *of_first, const char *of_second)
{
    defs->agents[1].domain = defs->agents[2].domain = 0;
    for (uint32_t i = 0; i < 3; i++) {
        defs->processes[i].pid = 100 + i;
    }
    ends_are(of_first, of_second);
    return call(READ, 1000, 9000, 8) && stretch.peer == 1;
}

static void ranks_wait_for_each_other_on_pipes(void **state)
{
    (void)state;
    assert_true(waits_on("pipe e:77 r", "pipe e:77 w"));
}

static void both_ends_that_read_are_no_link(void **state)
{
    (void)state;
    assert_false(waits_on("pipe e:77 r", "pipe e:77 r"));
}

static void a_pair_of_sockets_is_known_to_who_made_it(void **state)
{
    (void)state;
    assert_true(waits_on("unix 7 8", "unix 8 7"));
}

/* Process 0 made it, and process 1 is another program by now. */
static void one_that_knows_the_pair_is_enough(void **state)
{
    (void)state;
    assert_true(waits_on("unix 7 8", "unix 8 pid 100"));
    caller = 1;
    assert_true(call(READ, 1000, 9000, 8));
    assert_int_equal(stretch.peer, 0);
}

/* A launcher made it, whom both name. */
static void a_pair_that_a_third_process_made_is_one(void **state)
{
    (void)state;
    name(2, END, "pair 8 7");
    assert_true(waits_on("unix 7 pid 102", "unix 8 pid 102"));
}

static void without_its_maker_a_pair_has_no_owner(void **state)
{
    (void)state;
    assert_false(waits_on("unix 7 pid 102", "unix 8 pid 102"));
}

static void connected_sockets_name_each_others_processes(void **state)
{
    (void)state;
    assert_true(waits_on("unix 7 pid 101", "unix 8 pid 100"));
}

/* Process 1 listened, and a child of it serves. */
static void who_is_not_named_in_turn_is_not_linked(void **state)
{
    (void)state;
    assert_false(waits_on("unix 7 pid 101", "unix 8 pid 555"));
}

static void a_pid_of_two_processes_has_no_owner(void **state)
{
    (void)state;
    assert_true(waits_on("unix 7 pid 101", "unix 8 pid 100"));
    defs->processes[2].pid = 101;
    sockets_destroy(sockets);
    sockets = sockets_create(defs, SOCKETS_OF_RANKS);
    assert_false(call(READ, 10000, 90000, 8));
}

static void pipes_and_unix_sockets_are_of_one_host(void **state)
{
    static const char *const ends[][2] = {{"pipe e:77 r", "pipe e:77 w"},
                                          {"unix 7 8", "unix 8 7"},
                                          {"unix 7 pid 101", "unix 8 pid 100"}};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        assert_true(waits_on(ends[i][0], ends[i][1]));
        sockets_destroy(sockets);
        defs->agents[1].domain = 1;
        sockets = sockets_create(defs, SOCKETS_OF_RANKS);
        assert_false(call(READ, 10000, 90000, 8));
        sockets_destroy(sockets);
    }
    sockets = NULL;
}

/* What its own helper writes to it. */
static void a_read_of_a_pipe_of_no_other_rank_is_no_wait(void **state)
{
    const struct history_span read = {.process = 0, .name = READ, .path = END};

    (void)state;
    assert_true(waits_on("pipe e:77 r", "pipe e:77 w"));
    assert_true(sockets_is_wait(sockets, &read));
    defs->processes[1].rank = 0;
    sockets_destroy(sockets);
    sockets = sockets_create(defs, SOCKETS_OF_RANKS);
    assert_false(sockets_is_wait(sockets, &read));
}

static void a_rank_does_not_wait_for_itself(void **state)
{
    (void)state;
    defs->processes[0].rank = 1;
    ends_are("tcp " PLACE_A " " PLACE_B, "tcp " PLACE_B " " PLACE_A);
    assert_false(call(READ, 1000, 9000, 8));
}

static void strange_paths_are_no_connections(void **state)
{
    static const char *const paths[] = {
        "tcp ",   "tcp  ",  "tcp x",  "tcp a b c d", "/tmp/tcp a b", "",
        "unix ",  "unix  ", "unix 7", "unix 7 pid ", "unix  pid x",  "unix 7 ",
        "pipe ",  "pipe  ", "pipe 7", "pipe 7 ",     "pair ",        "pair 7",
        "pair  ",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        ends_are(paths[i], paths[i]);
        (void)call(EPOLL, 100, 200, 0);
        assert_false(call(READ, 201, 202, 8));
        sockets_destroy(sockets);
    }
    sockets = NULL;
}

static void who_sleeps_or_reads_a_file_does_not_wait(void **state)
{
    static const struct {
        uint32_t name, path;
        bool is_wait;
    } calls[] = {{EPOLL, 0, true},         {COND, 0, true},   {READ, END, true},
                 {READ, OTHER_END, false}, {SLEEP, 0, false}, {READ, 0, false}};

    (void)state;
    name(0, OTHER_END, "/data/images");
    ends_are("tcp " PLACE_A " " PLACE_B, "tcp " PLACE_B " " PLACE_A);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct history_span span = {.name = calls[i].name,
                                    .path = calls[i].path,
                                    .kind = CK_KIND_POSIX};

        assert_int_equal(sockets_is_wait(sockets, &span), calls[i].is_wait);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(waits_until_data_comes_are_one_stretch),
        CASE(a_read_that_blocks_behind_looks_waits_itself),
        CASE(a_read_that_blocks_is_a_stretch),
        CASE(who_sends_first_did_not_wait_until_then),
        CASE(of_a_circle_the_first_to_send_did_not_wait),
        CASE(none_is_named_for_an_end_of_two_processes),
        CASE(loopback_addresses_mean_something_within_a_host),
        CASE(ranks_wait_for_each_other_on_pipes),
        CASE(both_ends_that_read_are_no_link),
        CASE(a_pair_of_sockets_is_known_to_who_made_it),
        CASE(one_that_knows_the_pair_is_enough),
        CASE(a_pair_that_a_third_process_made_is_one),
        CASE(without_its_maker_a_pair_has_no_owner),
        CASE(connected_sockets_name_each_others_processes),
        CASE(who_is_not_named_in_turn_is_not_linked),
        CASE(a_pid_of_two_processes_has_no_owner),
        CASE(pipes_and_unix_sockets_are_of_one_host),
        CASE(a_read_of_a_pipe_of_no_other_rank_is_no_wait),
        CASE(a_rank_does_not_wait_for_itself),
        CASE(strange_paths_are_no_connections),
        CASE(who_sleeps_or_reads_a_file_does_not_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
