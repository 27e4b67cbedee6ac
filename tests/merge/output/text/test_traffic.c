/* test_traffic.c - messages by pair, size and place have one sum
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random programs, handed over record by record, that know what each rank sent
 * to whom; CK_SEED repeats a run. Then single facts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/calls/calls.h"
#include "merge/analysis/calls/traffic.h"
#include "merge/model/comm.h"
#include "tests/merge/chance.h"

#define RANKS 4
#define STEPS 400
#define REGION ((struct region){0, 1 << 20})

/* Names of functions and their ids. */
enum name { ISEND = 1, IRECV, RECV, SENDRECV, WAIT, START, ALLREDUCE, NAMES };
static const char *const names[NAMES] = {
    NULL,           "MPI_Isend", "MPI_Irecv", "MPI_Recv",
    "MPI_Sendrecv", "MPI_Wait",  "MPI_Start", "MPI_Allreduce"};

/* A job of so many ranks on as many hosts, no communicator described. */
static struct defs *cast_of(int ranks, int hosts)
{
    struct defs *defs = defs_create();

    for (int rank = 0; rank < ranks; rank++) {
        uint8_t id[16] = {(uint8_t)(rank + 1), (uint8_t)((rank + 1) >> 8)};
        uint32_t agent = defs_agent_find(defs, id);
        uint32_t process = defs_process_find(defs, agent, 1);
        char host[16];

        (void)snprintf(host, sizeof(host), "node%d", rank % hosts);
        defs->agents[agent].host = texts_keep(defs->texts, host, strlen(host));
        defs->agents[agent].rank = defs->processes[process].rank = rank;
        defs->agents[agent].size = ranks;
        defs->agents[agent].has_identity = true;
        (void)defs_thread_find(defs, process, 7);
        for (uint32_t i = 1; i < NAMES; i++) {
            assert_int_equal(
                names_set(defs->processes[process].names, i,
                          texts_keep(defs->texts, names[i], strlen(names[i]))),
                0);
        }
    }
    defs_close(defs);
    comm_close(defs);
    return defs;
}

union record {
    struct ck_event e;
    struct ck_call call;
    struct ck_message message;
    struct ck_collective collective;
};

/* Hand over a record of a rank at a time of its own. */
static void give(struct calls *calls, int rank, union record record)
{
    static ck_time_t now;
    ck_time_t start = ++now % (1 << 19);
    struct timeline_event event = {.record = &record.e,
                                   .start = start,
                                   .end = start + 10,
                                   .rank = rank,
                                   .process = (uint32_t)rank,
                                   .thread = (uint32_t)rank};

    if (record.e.kind == CK_KIND_COMPLETE) {
        event.end = event.start;
    }
    assert_int_equal(calls_take(calls, &event), 0);
}

static union record
message_of(enum ck_kind kind, enum name name, int peer, uint64_t bytes)
{
    return (union record){
        .message = {.e = {.kind = (uint16_t)kind, .name = name},
                    .site = 0x1000 + (uint64_t)name,
                    .comm = COMM_WORLD,
                    .peer = peer,
                    .tag = 1,
                    .bytes = bytes}};
}

static union record call_of(enum name name)
{
    return (union record){
        .call = {.e = {.kind = CK_KIND_MPI_CALL, .name = name},
                 .site = 0x1000 + (uint64_t)name}};
}

static union record with_request(union record record, uint64_t request)
{
    record.message.request = request;
    return record;
}

static union record with_flags(union record record, unsigned flags)
{
    record.e.flags = (uint8_t)flags;
    return record;
}

/* One message, with everything that both of its ends record. */
static void
message_play(struct calls *calls, int from, int to, uint64_t bytes, int form)
{
    const uint64_t request = 64 + 8 * (uint64_t)chance_below(16);

    switch (form) {
    case 0: /* non-blocking; the receiver has room for more */
        give(calls, from,
             with_request(message_of(CK_KIND_SEND, ISEND, to, bytes), request));
        give(calls, from, call_of(WAIT));
        give(calls, from,
             with_request(message_of(CK_KIND_COMPLETE, WAIT, to, bytes),
                          request));
        give(calls, to,
             with_request(message_of(CK_KIND_RECV, IRECV, -1, bytes + 99),
                          request));
        give(calls, to, call_of(WAIT));
        give(calls, to,
             with_request(message_of(CK_KIND_COMPLETE, WAIT, from, bytes),
                          request));
        break;
    case 1: /* blocking */
        give(calls, from, message_of(CK_KIND_SEND, ISEND, to, bytes));
        give(calls, to, message_of(CK_KIND_RECV, RECV, from, bytes));
        break;
    case 2: /* half of an exchange whose other half is with no rank */
        give(calls, from, message_of(CK_KIND_SENDRECV, SENDRECV, to, bytes));
        give(calls, from, message_of(CK_KIND_COMPLETE, SENDRECV, -2, 0));
        give(calls, to, message_of(CK_KIND_SENDRECV, SENDRECV, -2, 777));
        give(calls, to, message_of(CK_KIND_COMPLETE, SENDRECV, from, bytes));
        break;
    default: /* persistent */
        give(calls, from, call_of(START));
        give(calls, from,
             with_flags(with_request(message_of(CK_KIND_SEND, ISEND, to, bytes),
                                     request + 1),
                        CK_FLAG_PERSISTENT));
        give(calls, to, call_of(START));
        give(calls, to,
             with_flags(
                 with_request(message_of(CK_KIND_RECV, IRECV, from, bytes + 5),
                              request + 1),
                 CK_FLAG_PERSISTENT));
        give(calls, to, call_of(WAIT));
        give(calls, to,
             with_flags(
                 with_request(message_of(CK_KIND_COMPLETE, WAIT, from, bytes),
                              request + 1),
                 CK_FLAG_PERSISTENT));
        break;
    }
}

struct truth {
    struct report_messages pairs[RANKS][RANKS];
    struct report_messages bins[REPORT_BINS];
    struct report_messages all;
    struct report_extent sizes;
};

static void messages_add(struct report_messages *messages, uint64_t bytes)
{
    messages->count++;
    messages->bytes += bytes;
}

static bool is_equal(const struct report_messages *a,
                     const struct report_messages *b)
{
    return a->count == b->count && a->bytes == b->bytes;
}

static bool pairs_are_wrong(const struct report_traffic *traffic,
                            const struct truth *truth)
{
    struct report_messages seen[RANKS][RANKS] = {0};

    for (size_t i = 0; i < traffic->pairs_count; i++) {
        const struct report_pair *pair = &traffic->pairs[i];

        if (pair->from < 0 || pair->to < 0 ||
            !is_equal(&pair->sent, &pair->received)) {
            return true;
        }
        seen[pair->from][pair->to] = pair->sent;
    }
    return memcmp(seen, truth->pairs, sizeof(seen)) != 0;
}

static bool places_are_wrong(const struct report *report,
                             const struct truth *truth)
{
    struct report_messages sent = {0}, received = {0}, by_function = {0};

    for (size_t i = 0; i < report->calls_count; i++) {
        sent.count += report->calls[i].moved.sent.count;
        sent.bytes += report->calls[i].moved.sent.bytes;
        received.count += report->calls[i].moved.received.count;
        received.bytes += report->calls[i].moved.received.bytes;
    }
    for (size_t i = 0; i < report->functions_count; i++) {
        by_function.count += report->functions[i].moved.sent.count;
        by_function.bytes += report->functions[i].moved.sent.bytes;
    }
    return !is_equal(&sent, &truth->all) || !is_equal(&received, &truth->all) ||
           !is_equal(&by_function, &truth->all);
}

/* By place and by function, as sent and as received. */
static bool extents_are_wrong(const struct report *report,
                              const struct truth *truth)
{
    struct report_extent sums[4] = {{0}};

    for (size_t i = 0; i < report->calls_count; i++) {
        report_extent_join(&sums[0], &report->calls[i].moved.sent_sizes);
        report_extent_join(&sums[1], &report->calls[i].moved.received_sizes);
    }
    for (size_t i = 0; i < report->functions_count; i++) {
        report_extent_join(&sums[2], &report->functions[i].moved.sent_sizes);
        report_extent_join(&sums[3],
                           &report->functions[i].moved.received_sizes);
    }
    for (size_t i = 0; i < 4; i++) {
        if (memcmp(&sums[i], &truth->sizes, sizeof(sums[i])) != 0) {
            return true;
        }
    }
    return false;
}

static bool program_is_wrong(void *state)
{
    const struct defs *defs = state;
    struct calls *calls = calls_create(defs, REGION);
    struct truth truth = {0};
    struct report report = {0};
    bool is_wrong;

    for (int i = 0; i < STEPS; i++) {
        int from = (int)chance_below(RANKS);
        int to = (int)chance_below(RANKS);
        uint64_t bytes = (uint64_t)chance_below((int64_t)1 << chance_below(30));

        message_play(calls, from, to, bytes, (int)chance_below(4));
        messages_add(&truth.pairs[from][to], bytes);
        messages_add(&truth.bins[report_bin(bytes)], bytes);
        messages_add(&truth.all, bytes);
        truth.sizes.min =
            i == 0 || bytes < truth.sizes.min ? bytes : truth.sizes.min;
        truth.sizes.max = bytes > truth.sizes.max ? bytes : truth.sizes.max;
        truth.sizes.count++;
    }
    calls_report(calls, &report);
    assert_int_equal(report.traffic.sizes_count, 1);
    is_wrong = pairs_are_wrong(&report.traffic, &truth) ||
               places_are_wrong(&report, &truth) ||
               extents_are_wrong(&report, &truth) ||
               memcmp(report.traffic.sizes[0].bins, truth.bins,
                      sizeof(truth.bins)) != 0 ||
               !is_equal(&report.traffic.sent, &truth.all) ||
               !is_equal(&report.traffic.received, &truth.all);
    report_fini(&report);
    calls_destroy(calls);
    return is_wrong;
}

static void pairs_sizes_and_places_have_one_sum(void **state)
{
    struct defs *defs = cast_of(RANKS, 1);

    (void)state;
    chance_worlds(200, program_is_wrong, defs);
    defs_destroy(defs);
}

/* The report's part about a run of single records. */
struct one {
    struct defs *defs;
    struct calls *calls;
    struct report report;
};

static int one_begin(void **state)
{
    static struct one one;

    one = (struct one){.defs = cast_of(RANKS, 1)};
    one.calls = calls_create(one.defs, REGION);
    *state = &one;
    return one.calls == NULL ? -1 : 0;
}

static int one_end(void **state)
{
    struct one *one = *state;

    report_fini(&one->report);
    calls_destroy(one->calls);
    defs_destroy(one->defs);
    return 0;
}

static const struct report_call *place_of(const struct one *one,
                                          const char *name)
{
    for (size_t i = 0; i < one->report.calls_count; i++) {
        if (strcmp(one->report.calls[i].name, name) == 0) {
            return &one->report.calls[i];
        }
    }
    return NULL;
}

static void what_goes_to_no_rank_is_no_message(void **state)
{
    struct one *one = *state;

    give(one->calls, 0, message_of(CK_KIND_SEND, ISEND, -2, 100));
    give(one->calls, 0, message_of(CK_KIND_RECV, RECV, -2, 0));
    give(one->calls, 0,
         with_flags(message_of(CK_KIND_SEND, ISEND, 1, 100), CK_FLAG_FAILED));
    give(one->calls, 0,
         with_flags(message_of(CK_KIND_SEND, ISEND, 1, 100), CK_FLAG_CUT));
    calls_report(one->calls, &one->report);

    assert_int_equal(one->report.traffic.pairs_count, 0);
    assert_int_equal(one->report.traffic.sent.count, 0);
    assert_int_equal(place_of(one, "MPI_Isend")->moved.sent.count, 0);
    assert_int_equal(place_of(one, "MPI_Isend")->calls, 3);
}

static void a_canceled_receive_received_nothing(void **state)
{
    struct one *one = *state;

    give(one->calls, 0,
         with_request(message_of(CK_KIND_RECV, IRECV, 1, 50), 8));
    give(one->calls, 0, call_of(WAIT));
    give(one->calls, 0,
         with_flags(with_request(message_of(CK_KIND_COMPLETE, WAIT, 1, 50), 8),
                    CK_FLAG_FAILED));
    calls_report(one->calls, &one->report);

    assert_int_equal(one->report.traffic.received.count, 0);
}

static void a_receive_from_no_rank_received_nothing(void **state)
{
    struct one *one = *state;

    /* As MPICH 4.0 completes it. */
    give(one->calls, 1,
         with_request(message_of(CK_KIND_RECV, IRECV, -2, 50), 8));
    give(one->calls, 1, call_of(WAIT));
    give(one->calls, 1,
         with_request(message_of(CK_KIND_COMPLETE, WAIT, 0, 0), 8));
    calls_report(one->calls, &one->report);

    assert_int_equal(one->report.traffic.received.count, 0);
}

static void a_handle_that_a_send_has_now_is_no_receive(void **state)
{
    struct one *one = *state;

    give(one->calls, 0,
         with_request(message_of(CK_KIND_RECV, IRECV, 1, 50), 8));
    /* Its completion is lost, and the handle is used again. */
    give(one->calls, 0,
         with_request(message_of(CK_KIND_SEND, ISEND, 1, 60), 8));
    give(one->calls, 0, call_of(WAIT));
    give(one->calls, 0,
         with_request(message_of(CK_KIND_COMPLETE, WAIT, 1, 60), 8));
    calls_report(one->calls, &one->report);

    assert_int_equal(one->report.traffic.received.count, 0);
    assert_int_equal(one->report.traffic.sent.bytes, 60);
}

static void a_started_transfer_counts_where_it_is_started(void **state)
{
    struct one *one = *state;

    message_play(one->calls, 1, 2, 1000, 3);
    calls_report(one->calls, &one->report);

    assert_int_equal(place_of(one, "MPI_Start")->calls, 2);
    assert_int_equal(place_of(one, "MPI_Start")->moved.sent.bytes, 1000);
    assert_int_equal(place_of(one, "MPI_Start")->moved.received.bytes, 1000);
    assert_null(place_of(one, "MPI_Isend"));
}

static void
a_message_to_a_communicator_of_unknown_members_is_counted(void **state)
{
    struct one *one = *state;
    union record record = message_of(CK_KIND_SEND, ISEND, 1, 100);

    record.message.comm = 77;
    give(one->calls, 3, record);
    calls_report(one->calls, &one->report);

    assert_int_equal(one->report.traffic.pairs_count, 1);
    assert_int_equal(one->report.traffic.pairs[0].from, 3);
    assert_int_equal(one->report.traffic.pairs[0].to, DEFS_RANK_UNKNOWN);
    assert_int_equal(one->report.traffic.pairs[0].sent.bytes, 100);
}

static void sizes_are_apart_by_communicator(void **state)
{
    struct one *one = *state;
    union record record = message_of(CK_KIND_SEND, ISEND, 1, 100);
    uint64_t worlds = 0, others = 0;

    give(one->calls, 2, record);
    give(one->calls, 2, record);
    record.message.comm = 77;
    give(one->calls, 2, record);
    calls_report(one->calls, &one->report);

    for (size_t i = 0; i < one->report.traffic.sizes_count; i++) {
        const struct report_sizes *sizes = &one->report.traffic.sizes[i];

        if (sizes->comm != NULL && strcmp(sizes->comm, "MPI_COMM_WORLD") == 0) {
            worlds += sizes->all.count;
        } else {
            others += sizes->all.count;
        }
    }
    assert_int_equal(worlds, 2);
    assert_int_equal(others, 1);
}

static void a_collective_is_apart_from_messages(void **state)
{
    struct one *one = *state;

    give(one->calls, 2,
         (union record){.collective = {.e = {.kind = CK_KIND_COLLECTIVE,
                                             .name = ALLREDUCE},
                                       .site = 0x1000,
                                       .comm = COMM_WORLD,
                                       .bytes_out = 24,
                                       .bytes_in = 40}});
    calls_report(one->calls, &one->report);

    assert_int_equal(one->report.traffic.sizes_count, 1);
    assert_string_equal(one->report.traffic.sizes[0].comm, "MPI_COMM_WORLD");
    assert_int_equal(one->report.traffic.sizes[0].all.count, 0);
    /* 32 to 63 bytes: by the larger side */
    assert_int_equal(one->report.traffic.sizes[0].collective_bins[6].count, 1);
    assert_int_equal(one->report.traffic.sizes[0].collectives.out, 24);
    assert_int_equal(one->report.traffic.sizes[0].collectives.in, 40);
    assert_int_equal(one->report.calls[0].moved.collectives.in, 40);
    assert_int_equal(one->report.calls[0].moved.collective_sizes.count, 2);
    assert_int_equal(one->report.calls[0].moved.collective_sizes.min, 24);
    assert_int_equal(one->report.calls[0].moved.collective_sizes.max, 40);
}

/* 65 ranks on 5 hosts: each sends one byte to the next one. */
static void many_ranks_are_added_up_by_host(void **state)
{
    struct defs *defs = cast_of(TRAFFIC_RANKS_MAX + 1, 5);
    struct calls *calls = calls_create(defs, REGION);
    struct report report = {0};

    (void)state;
    for (int rank = 0; rank < TRAFFIC_RANKS_MAX; rank++) {
        message_play(calls, rank, rank + 1, 1, 1);
    }
    calls_report(calls, &report);

    assert_true(report.traffic.is_by_host);
    assert_int_equal(report.traffic.pairs_count, 5);
    for (size_t i = 0; i < report.traffic.pairs_count; i++) {
        const struct report_pair *pair = &report.traffic.pairs[i];

        assert_int_equal((pair->from_host[4] - '0' + 1) % 5,
                         pair->to_host[4] - '0');
        assert_true(is_equal(&pair->sent, &pair->received));
    }
    assert_int_equal(report.traffic.sent.bytes, TRAFFIC_RANKS_MAX);
    report_fini(&report);
    calls_destroy(calls);
    defs_destroy(defs);
}

/* Rank 1 waits for rank 0 to send and in a collective, rank 2 for rank 1 to
 * receive what it sends. */
static void waits_for_a_peer_are_apart_by_who_was_late(void **state)
{
    struct defs *defs = cast_of(3, 1);
    struct traffic *traffic = traffic_create(defs);
    struct report report = {.traffic = {.pairs = NULL}};
    static const struct {
        int from, to;
        struct report_pair_waits waits;
    } truths[] = {
        {0, 1, {.all = 300, .count = 2, .sender = 100, .collective = 200}},
        {1, 2, {.all = 50, .count = 1}},
        {2, 1, {.receiver = 50}},
    };

    (void)state;
    traffic_wait(traffic, WAIT_LATE_SENDER, 1, 0, 100, 1);
    traffic_wait(traffic, WAIT_NXN, 1, 0, 200, 1);
    traffic_wait(traffic, WAIT_LATE_RECEIVER, 2, 1, 50, 1);
    traffic_report(traffic, &report);
    assert_int_equal(report.traffic.pairs_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct report_pair *pair = NULL;

        for (size_t k = 0; k < 3; k++) {
            if (report.traffic.pairs[k].from == truths[i].from &&
                report.traffic.pairs[k].to == truths[i].to) {
                pair = &report.traffic.pairs[k];
            }
        }
        assert_non_null(pair);
        assert_memory_equal(&pair->waits, &truths[i].waits,
                            sizeof(pair->waits));
    }
    traffic_destroy(traffic);
    report_fini(&report);
    defs_destroy(defs);
}

/* Of two hosts with more ranks than pairs are listed of. */
static void of_many_ranks_the_longest_waits_by_pair_are_listed(void **state)
{
    enum { MANY = TRAFFIC_RANKS_MAX + 1 };
    struct defs *defs = cast_of(MANY, 2);
    struct traffic *traffic = traffic_create(defs);
    struct report report = {.traffic = {.pairs = NULL}};
    ck_time_t all = 0, listed = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < MANY; k++) {
            traffic_wait(traffic, WAIT_NXN, i, k, 1 + i * MANY + k, 2);
            all += 1 + i * MANY + k;
        }
    }
    traffic_report(traffic, &report);
    assert_true(report.traffic.is_by_host);
    assert_int_equal(report.traffic.waits_count, TRAFFIC_WAITS_MAX);
    assert_int_equal(report.traffic.waits[0].rank, MANY - 1);
    assert_int_equal(report.traffic.waits[0].awaited, MANY - 1);
    for (size_t i = 0; i < TRAFFIC_WAITS_MAX; i++) {
        assert_int_equal(report.traffic.waits[i].ns, MANY * MANY - (int)i);
        assert_int_equal(report.traffic.waits[i].count, 2);
        listed += report.traffic.waits[i].ns;
    }
    assert_int_equal(listed + report.traffic.waits_left_out, all);
    traffic_destroy(traffic);
    report_fini(&report);
    defs_destroy(defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_many_ranks_the_longest_waits_by_pair_are_listed),
        cmocka_unit_test(pairs_sizes_and_places_have_one_sum),
        cmocka_unit_test_setup_teardown(what_goes_to_no_rank_is_no_message,
                                        one_begin, one_end),
        cmocka_unit_test_setup_teardown(a_canceled_receive_received_nothing,
                                        one_begin, one_end),
        cmocka_unit_test_setup_teardown(a_receive_from_no_rank_received_nothing,
                                        one_begin, one_end),
        cmocka_unit_test_setup_teardown(
            a_handle_that_a_send_has_now_is_no_receive, one_begin, one_end),
        cmocka_unit_test_setup_teardown(
            a_started_transfer_counts_where_it_is_started, one_begin, one_end),
        cmocka_unit_test_setup_teardown(
            a_message_to_a_communicator_of_unknown_members_is_counted,
            one_begin, one_end),
        cmocka_unit_test_setup_teardown(sizes_are_apart_by_communicator,
                                        one_begin, one_end),
        cmocka_unit_test_setup_teardown(a_collective_is_apart_from_messages,
                                        one_begin, one_end),
        cmocka_unit_test(many_ranks_are_added_up_by_host),
        cmocka_unit_test(waits_for_a_peer_are_apart_by_who_was_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
