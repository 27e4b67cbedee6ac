/* test_peers.c - which process of one ckagent waited for which, without ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/waits/peers.h"
#include "merge/output/text/page.h"

#define MS CK_TIME_MS
#define S CK_TIME_S
/* Names of each process. */
enum { READ = 1, WRITE, POLL, SLEEP, IN, OUT, NAMES };
/* Processes: the collector, then a pipeline of three. */
enum { MAKER = 1, FILTER, SINK, PROCESSES };

static struct defs *defs;
static struct peers *peers;
static struct report report;
static char *text;

static void name(uint32_t process, uint32_t id, const char *word)
{
    assert_int_equal(names_set(defs->processes[process].names, id,
                               texts_keep(defs->texts, word, strlen(word))),
                     0);
}

static int setup(void **state)
{
    static const char *const commands[PROCESSES] = {"", "/bin/maker -n 5",
                                                    "./filter", "./sink"};
    static const char *const calls[NAMES] = {[READ] = "read",
                                             [WRITE] = "write",
                                             [POLL] = "poll",
                                             [SLEEP] = "nanosleep"};
    uint8_t id[16] = {1};
    uint32_t agent;

    (void)state;
    defs = defs_create();
    agent = defs_agent_find(defs, id);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        uint32_t process = defs_process_find(defs, agent, i);

        assert_int_equal(process, i);
        defs->processes[i].rank = 0;
        defs->processes[i].pid = 100 + i;
        defs->processes[i].command = commands[i];
        assert_int_equal(defs_thread_find(defs, i, 100 + i), i);
        for (uint32_t call = READ; call <= SLEEP; call++) {
            name(i, call, calls[call]);
        }
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    peers_destroy(peers);
    peers = NULL;
    report_fini(&report);
    free(text);
    text = NULL;
    defs_destroy(defs);
    return 0;
}

/* The ends, as the processes recorded them. */
static void pipes_are(void)
{
    name(MAKER, OUT, "pipe 77 w");
    name(FILTER, IN, "pipe 77 r");
    name(FILTER, OUT, "pipe 78 w");
    name(SINK, IN, "pipe 78 r");
    peers = peers_create(defs, (struct region){0, 10 * S});
    assert_non_null(peers);
}

struct made {
    uint32_t process, name;
    ck_time_t start, end;
    uint32_t path;
    uint64_t bytes;
};

static void call(struct made made)
{
    struct ck_call record = {
        .e = {.kind = CK_KIND_POSIX, .units = 2, .name = made.name},
        .site = made.name,
        .bytes = made.bytes,
        .extra = made.path};
    struct timeline_event event = {.record = &record.e,
                                   .start = made.start,
                                   .end = made.end,
                                   .process = made.process,
                                   .thread = made.process};

    assert_int_equal(peers_take(peers, &event), 0);
}

static void calls_are(const struct made *made, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        call(made[i]);
    }
    peers_report(peers, &report);
}

#define CALLS_ARE(...)                                                         \
    do {                                                                       \
        const struct made made_[] = {__VA_ARGS__};                             \
        calls_are(made_, sizeof(made_) / sizeof(made_[0]));                    \
    } while (0)

static void who_reads_a_pipe_waits_for_who_writes_it(void **state)
{
    (void)state;
    pipes_are();
    assert_true(peers_is_wanted(peers));
    CALLS_ARE({FILTER, READ, 0, 2 * S, IN, 8}, {SINK, READ, 0, 3 * S, IN, 8},
              {MAKER, SLEEP, 10 * MS, 1900 * MS, 0, 0},
              {MAKER, WRITE, 2 * S - 9999, 2 * S, OUT, 8},
              {FILTER, READ, 3 * S, 3 * S + 400 * MS, IN, 0});
    assert_int_equal(report.peers_count, 2);
    assert_int_equal(report.peers[0].waiter.pid, 100 + SINK);
    assert_int_equal(report.peers[0].awaited.pid, 100 + FILTER);
    assert_int_equal(report.peers[0].ns, 3 * S);
    assert_string_equal(report.peers[0].over, "pipe");
    /* It waited itself for the most of it: the next row has that. */
    assert_string_equal(report.peers[0].did, "read");
    assert_int_equal(report.peers[0].did_ns, 2 * S);
    assert_int_equal(report.peers[0].between, S);
    assert_int_equal(report.peers[1].waiter.pid, 100 + FILTER);
    assert_int_equal(report.peers[1].awaited.pid, 100 + MAKER);
    assert_int_equal(report.peers[1].ns, 2400 * MS); /* the end counts, too */
    assert_int_equal(report.peers[1].count, 2);
    assert_string_equal(report.peers[1].did, "nanosleep");
    assert_int_equal(report.peers[1].did_ns, 1890 * MS);
}

static void who_writes_to_a_full_pipe_waits_for_who_reads_it(void **state)
{
    (void)state;
    pipes_are();
    CALLS_ARE({MAKER, WRITE, S, S + 50 * CK_TIME_US, OUT, 65536},
              {MAKER, WRITE, 2 * S, 4 * S, OUT, 65536},
              {FILTER, SLEEP, 2 * S, 3900 * MS, 0, 0},
              {FILTER, READ, 3950 * MS, 3951 * MS, IN, 65536});
    assert_int_equal(report.peers[0].waiter.pid, 100 + MAKER);
    assert_true(report.peers[0].is_write);
    assert_int_equal(report.peers[0].ns, 2 * S);
    assert_int_equal(report.peers[0].count, 1);
    assert_string_equal(report.peers[0].did, "nanosleep");
}

/* The collector records that of a thread of the process with that number. */
static void preempted(uint32_t process, ck_time_t start, ck_time_t end)
{
    struct ck_mark record = {
        .e = {.kind = CK_KIND_PREEMPTED, .units = 2, .name = process},
        .value = 100 + process};
    struct timeline_event event = {
        .record = &record.e, .start = start, .end = end};

    assert_int_equal(peers_take(peers, &event), 0);
}

static void who_has_no_cpu_in_a_write_does_not_wait(void **state)
{
    (void)state;
    pipes_are();
    call((struct made){MAKER, WRITE, S, 4 * S, OUT, 8});
    call((struct made){FILTER, SLEEP, S, 4 * S, 0, 0});
    preempted(MAKER, 500 * MS, 1500 * MS);
    preempted(FILTER, 1500 * MS, 1700 * MS); /* that is no matter */
    preempted(MAKER, 2 * S, 4200 * MS);
    CALLS_ARE({FILTER, SLEEP, 5 * S, 6 * S, 0, 0});
    assert_int_equal(report.peers_count, 1);
    assert_int_equal(report.peers[0].ns, 500 * MS);
    assert_int_equal(report.peers[0].did_ns, 500 * MS);
    /* A reader has nothing to read, whoever has the CPU. */
    call((struct made){FILTER, READ, 6 * S, 8 * S, IN, 8});
    preempted(FILTER, 7 * S, 7100 * MS);
    report_fini(&report);
    memset(&report, 0, sizeof(report));
    CALLS_ARE({MAKER, SLEEP, 9 * S, 9 * S + 1, 0, 0});
    assert_int_equal(report.peers[0].waiter.pid, 100 + FILTER);
    assert_int_equal(report.peers[0].ns, 2 * S);
}

static void ends_of_another_host_or_of_several_have_no_owner(void **state)
{
    uint8_t id[16] = {2};
    uint32_t agent;

    (void)state;
    /* A second writer, such as a shell that did not close its end. */
    name(SINK, OUT, "pipe 77 w");
    pipes_are();
    CALLS_ARE({FILTER, READ, 0, 2 * S, IN, 8}, {SINK, READ, 0, S, IN, 8});
    assert_int_equal(report.peers_count, 1);
    assert_int_equal(report.peers[0].waiter.pid, 100 + SINK);
    peers_destroy(peers);
    report_fini(&report);
    agent = defs_agent_find(defs, id);
    defs->agents[agent].domain = 1;
    defs->processes[SINK].agent = agent;
    peers = peers_create(defs, (struct region){0, 10 * S});
    CALLS_ARE({SINK, READ, 0, S, IN, 8});
    assert_int_equal(report.peers_count, 0);
}

static void processes_of_two_ranks_wait_as_ranks(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < PROCESSES; i++) {
        defs->processes[i].rank = (int32_t)i - 1;
    }
    pipes_are();
    assert_false(peers_is_wanted(peers));
}

static void the_wait_is_cut_to_the_region(void **state)
{
    (void)state;
    name(MAKER, OUT, "tcp 127.0.0.1:5 127.0.0.1:6");
    name(FILTER, IN, "tcp 127.0.0.1:6 127.0.0.1:5");
    peers = peers_create(defs, (struct region){S, 2 * S});
    CALLS_ARE({FILTER, POLL, 0, 3 * S, 0, 0},
              {MAKER, SLEEP, MS, 1500 * MS, 0, 0},
              {FILTER, READ, 3 * S, 3 * S + 1000, IN, 8});
    assert_int_equal(report.peers_count, 1);
    assert_string_equal(report.peers[0].over, "tcp");
    assert_int_equal(report.peers[0].ns, S);
    assert_int_equal(report.peers[0].did_ns, 500 * MS);
    assert_int_equal(report.peers[0].between, 500 * MS);
}

static void the_first_sentences_name_both_sides_of_a_wait(void **state)
{
    static const struct text_style style = {.columns = 0};
    struct page page = {.report = &report, .style = &style};
    size_t length;

    (void)state;
    pipes_are();
    CALLS_ARE({FILTER, READ, 0, 2 * S, IN, 8},
              {MAKER, SLEEP, 10 * MS, 1900 * MS, 0, 0});
    report.present = 1;
    report.size = 1;
    report.region = (struct region){0, 10 * S};
    page.file = open_memstream(&text, &length);
    page_host_answer(&page);
    report.shown = (struct report_process){100 + MAKER, "/bin/maker -n 5"};
    report.programs = 3;
    page_hosts(&page);
    assert_int_equal(fclose(page.file), 0);
    assert_non_null(strstr(text, " filter (pid 102) waited 2.00 s of 10.0 s "
                                 "for\n   maker (pid 101) to write to a pipe, "
                                 "in read.\n   Meanwhile maker (pid 101) was "
                                 "in nanosleep for 1.89 s.\n"));
    assert_non_null(strstr(text, " 0 is the first thread of maker (pid 101)"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_reads_a_pipe_waits_for_who_writes_it),
        CASE(who_writes_to_a_full_pipe_waits_for_who_reads_it),
        CASE(who_has_no_cpu_in_a_write_does_not_wait),
        CASE(ends_of_another_host_or_of_several_have_no_owner),
        CASE(processes_of_two_ranks_wait_as_ranks),
        CASE(the_wait_is_cut_to_the_region),
        CASE(the_first_sentences_name_both_sides_of_a_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
