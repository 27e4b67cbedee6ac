/* test_clocks.c - the program on two ranks whose clocks are far apart
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The clock of rank 1 is 1000 s and 20 ppm behind that of rank 0, which is the
 * reference. They send each other 50 messages that take 10 us, and meet in an
 * MPI_Barrier each second; rank 1 probes once a second with delays of 3 us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/merge/synth.h"

#define US ((int64_t)1000)
#define MS ((int64_t)1000000)
#define S ((int64_t)1000000000)
#define SECONDS 50

enum name { NAME_SEND = 1, NAME_RECV, NAME_BARRIER };

/* The reference's time as a rank's own clock had it. */
static int64_t clock_of(int rank, int64_t time)
{
    return rank == 0 ? time : time - 1000 * S - time / 50000;
}

static void message_put(struct synth *synth,
                        enum ck_kind kind,
                        int rank,
                        int64_t start,
                        int64_t end)
{
    struct ck_message message = {
        .e = {.kind = kind,
              .name = kind == CK_KIND_SEND ? NAME_SEND : NAME_RECV,
              .start = clock_of(rank, start)},
        .dur = clock_of(rank, end) - clock_of(rank, start),
        .comm = 1,
        .peer = 1 - rank,
        .tag = 7,
        .bytes = 8,
    };

    synth_put(synth, &message);
}

static void barrier_put(struct synth *synth, int rank, int second, int64_t at)
{
    struct ck_collective barrier = {
        .e = {.kind = CK_KIND_COLLECTIVE,
              .name = NAME_BARRIER,
              .start = clock_of(rank, at + rank * 20 * US)},
        .dur = 30 * US - rank * 20 * US,
        .comm = 1,
        .seq = (uint32_t)second + 1,
        .root = -1,
    };

    synth_put(synth, &barrier);
}

/* A barrier each 40 ms, and the rank that comes late to it: rank 1 by 2 ms,
 * rank 0 by 10 ms, rank 1 by 10 ms. */
static void late_put(struct synth *synth, int rank, int number)
{
    static const int64_t late[3] = {2 * MS, 10 * MS, 10 * MS};
    int64_t at = 2000 * S + number * 40 * MS;
    int64_t begin = at + (rank == (number % 3 != 1) ? late[number % 3] : 0);
    int64_t end = at + late[number % 3] + 100 * US;
    struct ck_collective barrier = {
        .e = {.kind = CK_KIND_COLLECTIVE,
              .name = NAME_BARRIER,
              .start = clock_of(rank, begin)},
        .dur = end - begin,
        .call = (uint32_t)number + 1,
        .comm = 1,
        .seq = (uint32_t)number + 1,
        .root = -1,
    };

    synth_put(synth, &barrier);
}

static void probe_put(struct synth *synth, int64_t at, int64_t delay)
{
    struct ck_clock_fact fact = {
        .e = {.kind = CK_KIND_CLOCK_PROBE,
              .flags = CK_FLAG_RAW,
              .start = clock_of(1, at)},
        .value = at + delay,
        .t3 = at + delay + 2 * US,
        .t4 = clock_of(1, at + 2 * delay + 2 * US),
        .width = 20,
    };

    synth_put(synth, &fact);
}

/* What a run holds. */
enum world { PROBED, BLIND, ONE_WAY, TIED, LATE };

static void rank_put(const char *dir, int rank, enum world world)
{
    static const char *const names[] = {"MPI_Send", "MPI_Recv", "MPI_Barrier"};
    static const char reference[] =
        "reference_boot_id=b\nreference_timens=zero\n";
    struct synth_rank who = {.rank = rank,
                             .size = 2,
                             .host = rank == 0 ? "first" : "second",
                             .timens = rank == 0 ? "zero" : "one"};
    struct synth *synth = synth_create(dir, (unsigned)rank, &who);

    for (int second = 0; world == PROBED && rank == 1 && second < SECONDS;
         second++) {
        probe_put(synth, 2000 * S + second * S + S / 2, 3 * US);
    }
    for (int i = 0; world == TIED && rank == 1 && i < SECONDS; i++) {
        probe_put(synth, 2000 * S + i * 40 * MS + 20 * MS, 3 * MS);
    }
    synth_text(synth, CK_KIND_EXIT, 0, 0, 0, reference, strlen(reference));
    synth_stream(synth, 1, 0, 100);
    for (uint32_t i = 0; i < 3; i++) {
        synth_text(synth, CK_KIND_NAME, i + 1, 0, 0, names[i],
                   strlen(names[i]));
    }
    for (int i = 0; (world == TIED || world == LATE) && i < SECONDS; i++) {
        late_put(synth, rank, i);
    }
    for (int second = 0; world != TIED && world != LATE && second < SECONDS;
         second++) {
        int64_t at = 2000 * S + second * S;

        if (world != ONE_WAY) {
            barrier_put(synth, rank, second, at);
        }
        for (int from = 0; from < (world == ONE_WAY ? 1 : 2); from++) {
            int64_t start = at + (100 + from * 100) * US;

            if (from == rank) {
                message_put(synth, CK_KIND_SEND, rank, start, start + US);
            } else {
                message_put(synth, CK_KIND_RECV, rank, start, start + 10 * US);
            }
        }
    }
    synth_destroy(synth);
}

struct fixture {
    char *probed;
    char *blind;   /* the same without probes */
    char *one_way; /* only messages from rank 0 */
    char *tied;    /* probes of 3 ms, waits of 2 and of 10 ms */
    char *late;    /* the same without probes */
    char *text;    /* of the last command */
};

static int fixture_setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->probed = synth_dir();
    fixture->blind = synth_dir();
    fixture->one_way = synth_dir();
    fixture->tied = synth_dir();
    fixture->late = synth_dir();
    for (int rank = 0; rank < 2; rank++) {
        rank_put(fixture->probed, rank, PROBED);
        rank_put(fixture->blind, rank, BLIND);
        rank_put(fixture->one_way, rank, ONE_WAY);
        rank_put(fixture->tied, rank, TIED);
        rank_put(fixture->late, rank, LATE);
    }
    *state = fixture;
    return 0;
}

static int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;

    synth_remove(fixture->probed);
    synth_remove(fixture->blind);
    synth_remove(fixture->one_way);
    synth_remove(fixture->tied);
    synth_remove(fixture->late);
    free(fixture->text);
    free(fixture);
    return 0;
}

/* Run `ckmerge ARGS RUN` and keep both its outputs; its status. */
static int merge(struct fixture *fixture, const char *args, const char *run)
{
    char command[8192], buffer[4096];
    size_t length = 0, n;
    FILE *pipe, *memory;

    (void)snprintf(command, sizeof(command), "%s %s %s 2>&1 </dev/null",
                   CK_TEST_CKMERGE, args, run);
    free(fixture->text);
    fixture->text = NULL;
    memory = open_memstream(&fixture->text, &length);
    pipe = popen(command, "re");
    assert_non_null(pipe);
    while ((n = fread(buffer, 1, sizeof(buffer), pipe)) > 0) {
        (void)fwrite(buffer, 1, n, memory);
    }
    assert_int_equal(fclose(memory), 0);
    return WEXITSTATUS(pclose(pipe));
}

/* The number after `"key": ` where `from` was seen before. */
static int64_t number(const char *text, const char *from, const char *key)
{
    const char *at = strstr(text, from);

    assert_non_null(at);
    at = strstr(at, key);
    assert_non_null(at);
    return strtoll(at + strlen(key) + 2, NULL, 10);
}

static void the_report_has_offset_drift_and_bound(void **state)
{
    struct fixture *fixture = *state;
    const char *text;

    assert_int_equal(merge(fixture, "-o json", fixture->probed), 0);
    text = strstr(fixture->text, "\"method\": \"probes and messages\"");
    assert_non_null(text);
    /* theta at half the time of the probes, at 2025 s. */
    assert_true(llabs(number(text, "probes", "\"offset_ns\"") -
                      (1000 * S + 2025 * S / 50000)) < 12000);
    assert_true(llabs(number(text, "probes", "\"drift_ppb\"") - 20000) < 500);
    assert_true(number(text, "probes", "\"bound_max_ns\"") < 10000);
    assert_true(number(text, "probes", "\"bound_max_ns\"") > 1000);
    assert_int_equal(number(text, "probes", "\"lost\""), 0);
    assert_int_equal(merge(fixture, "", fixture->probed), 0);
    assert_non_null(strstr(fixture->text, "2 clock domains, all calibrated"));
    assert_non_null(strstr(fixture->text, "50 probes, 0 lost"));
    assert_null(strstr(fixture->text, "assumed: its rate"));
}

static void no_message_runs_backwards_once_aligned(void **state)
{
    struct fixture *fixture = *state;

    (void)merge(fixture, "-o json", fixture->probed);
    assert_int_equal(number(fixture->text, "causality", "\"messages\""), 100);
    assert_int_equal(number(fixture->text, "causality", "\"messages_before\""),
                     50);
    assert_int_equal(number(fixture->text, "causality", "\"messages_after\""),
                     0);
    assert_int_equal(
        number(fixture->text, "causality", "\"collectives_before\""), 50);
    assert_int_equal(
        number(fixture->text, "causality", "\"collectives_after\""), 0);
    (void)merge(fixture, "--verify", fixture->probed);
    assert_non_null(strstr(fixture->text, "0 of 100 receives"));
}

static void messages_alone_recover_the_offset(void **state)
{
    struct fixture *fixture = *state;
    const char *text;

    assert_int_equal(merge(fixture, "-o json", fixture->blind), 0);
    text = strstr(fixture->text, "\"method\": \"messages\"");
    assert_non_null(text);
    /* theta at half the time of the messages, at 2024.5 s: between the messages
     * the truth is anywhere in 10 us. */
    assert_true(llabs(number(text, "messages", "\"offset_ns\"") -
                      (1000 * S + (20245 * S / 10) / 50000)) < 10000);
    assert_true(llabs(number(text, "messages", "\"drift_ppb\"") - 20000) < 500);
    assert_true(number(text, "messages", "\"bound_max_ns\"") < 20000);
    assert_int_equal(number(text, "messages", "\"wander_ppb\""), 1000);
    assert_in_range(number(text, "messages", "\"wander_hidden_ppb\""), 1, 8000);
    (void)merge(fixture, "--verify", fixture->blind);
    assert_non_null(strstr(fixture->text, "0 of 100 receives"));
    assert_non_null(strstr(fixture->text, "0 of 50 collectives"));
    (void)merge(fixture, "", fixture->blind);
    assert_non_null(strstr(fixture->text, "by messages"));
    assert_non_null(strstr(fixture->text, "assumed: its rate wanders by no "));
    assert_non_null(strstr(fixture->text, "no probe confirms that"));
}

static void what_is_used_can_be_chosen_and_is_reported(void **state)
{
    struct fixture *fixture = *state;

    (void)merge(fixture, "-o json --clock-facts=probes", fixture->probed);
    assert_non_null(strstr(fixture->text, "\"method\": \"probes\""));
    assert_null(strstr(fixture->text, "\"method\": \"probes and messages\""));
    assert_int_equal(number(fixture->text, "probes", "\"messages\""), 0);
    (void)merge(fixture, "-o json --clock-facts=messages", fixture->probed);
    assert_non_null(strstr(fixture->text, "\"method\": \"messages\""));
    assert_null(strstr(fixture->text, "\"method\": \"probes"));
    (void)merge(fixture, "-o json --clock-facts=all", fixture->probed);
    assert_non_null(
        strstr(fixture->text, "\"method\": \"probes and messages\""));
}

static void messages_that_run_backwards_are_found(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge(fixture, "--verify", fixture->one_way), 3);
    assert_non_null(strstr(fixture->text, "50 of 50 receives"));
}

static void why_a_clock_is_not_calibrated_is_reported_with_a_cure(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge(fixture, "", fixture->one_way), 0);
    assert_non_null(
        strstr(fixture->text, "second: not calibrated: it was not probed\n"));
    assert_non_null(strstr(
        fixture->text, "clocks that are not calibrated are not attributed"));
    assert_non_null(strstr(fixture->text, "see ckagg --clock-port"));
    assert_int_equal(
        merge(fixture, "-o json --clock-facts=probes", fixture->blind), 0);
    assert_non_null(strstr(fixture->text, "\"why\": \"it was not probed\""));
    assert_int_equal(merge(fixture, "", fixture->probed), 0);
    assert_null(strstr(fixture->text, "not calibrated"));
}

/* Calls that may have been waits are no "0.0 %". */
static void waits_across_a_clock_that_is_not_known_are_unknown(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge(fixture, "--clock-facts=probes", fixture->late), 0);
    if (strstr(fixture->text, "waited 0.0 %") != NULL ||
        strstr(fixture->text, "unknown") == NULL) {
        fail_msg("%s", fixture->text);
    }
}

static void what_the_clocks_cannot_show_is_a_tie(void **state)
{
    struct fixture *fixture = *state;

    (void)merge(fixture, "--clock-facts=probes", fixture->tied);
    /* No rank is named for waits of 2 ms, one is for those of 10 ms. */
    assert_non_null(strstr(fixture->text, "tie (below clock error) rank"));
    assert_non_null(strstr(fixture->text, "for rank 0"));
    assert_non_null(strstr(fixture->text, "for rank 1"));
    assert_non_null(strstr(fixture->text, "with rank 0: tie (below clock "));
    (void)merge(fixture, "-o json --clock-facts=probes", fixture->tied);
    assert_true(number(fixture->text, "\"ranks\": [",
                       "\"waited_below_clock_ns\"") > 30 * MS);
    assert_non_null(
        strstr(fixture->text, "\"cause\": \"below_clock_resolution\""));
}

static void facts_that_decide_leave_no_tie(void **state)
{
    struct fixture *fixture = *state;

    /* The barriers themselves bound the clocks to 0.1 ms. */
    (void)merge(fixture, "", fixture->tied);
    assert_null(strstr(fixture->text, "tie (below clock error) rank"));
}

/* What python sees of a run that is merged by its probes alone: the trace's
 * events in t, the rest of it in o, the report in j. */
static void
trace_holds(struct fixture *fixture, const char *run, const char *it)
{
    char args[2048], command[8192];

    (void)snprintf(args, sizeof(args),
                   "-q --clock-facts=probes -o json=%s/r.json "
                   "-o chrome=%s/t.json",
                   run, run);
    (void)merge(fixture, args, run);
    (void)snprintf(
        command, sizeof(command),
        "python3 -c 'import json\n"
        "j = json.load(open(\"%s/r.json\"))\n"
        "o = json.load(open(\"%s/t.json\"))\n"
        "t = o[\"traceEvents\"]\n"
        "o = o[\"otherData\"]\n"
        "hosts = {e[\"args\"][\"name\"] for e in t"
        " if e[\"name\"] == \"process_name\"}\n"
        "bounds = {}\n"
        "for e in t:\n"
        "    if e[\"ph\"] == \"C\" and e[\"name\"].startswith(\"bound\"):\n"
        "        bounds.setdefault(e[\"name\"], []).append("
        "(e[\"ts\"], e[\"args\"][\"value\"]))\n"
        "waits = [e for e in t if e.get(\"cat\") == \"wait\"]\n"
        "%s'",
        run, run, it);
    assert_int_equal(system(command), 0);
}

static void the_trace_has_the_clocks_bounds_over_time(void **state)
{
    struct fixture *fixture = *state;

    trace_holds(
        fixture, fixture->tied,
        "assert hosts == {\"rank 0 (first)\", \"rank 1 (second)\","
        " \"clocks\"}, hosts\n"
        "first, second = (\"bound of clock 0 (first), ns\","
        " \"bound of clock 1 (second), ns\")\n"
        "assert set(bounds) == {first, second}, set(bounds)\n"
        "assert [v for _, v in bounds[first]] == [0], bounds[first]\n"
        "at = [ts for ts, _ in bounds[second]]\n"
        "v = [v for _, v in bounds[second]]\n"
        "assert at[0] == 0 and at == sorted(at) and len(at) > 10, at\n"
        "assert 2900000 < min(v) < max(v), v\n"
        "clock = [c for c in j[\"clocks\"] if c[\"host\"] == \"second\"][0]\n"
        "assert max(v) == clock[\"bound_max_ns\"], (max(v), clock)\n");
}

/* Of 50 barriers, by turns: rank 1 late by 2 ms, rank 0 by 10, rank 1 by 10. */
static void the_trace_has_the_error_of_each_wait(void **state)
{
    struct fixture *fixture = *state;

    trace_holds(
        fixture, fixture->tied,
        "n = lambda pid, name: sum(e[\"pid\"] == pid and"
        " e[\"name\"] == name for e in waits)\n"
        "assert n(1, \"wait for rank 0\") == 17, waits\n"
        "assert n(0, \"wait for rank 1\") == 16, waits\n"
        "assert n(0, \"tie (below clock error)\") == 17, waits\n"
        "assert len(waits) == 50, len(waits)\n"
        "for e in waits:\n"
        "    error = e[\"args\"][\"error_ns\"]\n"
        "    is_tie = e[\"name\"].startswith(\"tie\")\n"
        "    assert 2900000 < error < 4000000, e\n"
        "    assert (e[\"dur\"] * 1000 <= error) == is_tie, e\n"
        "    assert is_tie or abs(e[\"dur\"] * 1000 - 10000000) <= error, e\n"
        "    assert e[\"args\"][\"kind\"] == \"wait_at_barrier\", e\n");
}

static void the_trace_names_hosts_that_are_not_calibrated(void **state)
{
    struct fixture *fixture = *state;

    trace_holds(
        fixture, fixture->late,
        "assert \"rank 1 (second, clock not calibrated)\" in hosts, hosts\n"
        "assert \"rank 0 (first)\" in hosts, hosts\n"
        "assert set(bounds) == {\"bound of clock 0 (first), ns\"}, bounds\n"
        "assert not waits, waits\n"
        "assert [(c[\"host\"], c[\"calibrated\"]) for c in o[\"clocks\"]] =="
        " [(\"first\", True), (\"second\", False)], o\n");
}

static void the_gate_wants_a_unit(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge(fixture, "-q --max-clock-error 1", fixture->probed),
                     2);
    assert_non_null(
        strstr(fixture->text, "'1' has no unit; write 1us, 1ms or 1s"));
    assert_int_equal(
        merge(fixture, "-q --max-clock-error soon", fixture->probed), 2);
    assert_non_null(strstr(fixture->text, "'soon' is not a time"));
}

static void the_gate_passes_fails_or_cannot_decide(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(
        merge(fixture, "-q --max-clock-error 20us", fixture->probed), 0);
    assert_int_equal(
        merge(fixture, "-q --max-clock-error 1us", fixture->probed), 4);
    assert_non_null(strstr(fixture->text, "(rank 0) and "));
    assert_non_null(strstr(fixture->text, "(rank 1) are known to +- "));
    assert_int_equal(
        merge(fixture, "--verify --max-clock-error 1us", fixture->probed), 4);
    assert_int_equal(
        merge(fixture, "-q --max-clock-error 1us", fixture->one_way), 5);
    assert_non_null(strstr(fixture->text, "not calibrated"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_has_offset_drift_and_bound),
        cmocka_unit_test(no_message_runs_backwards_once_aligned),
        cmocka_unit_test(messages_alone_recover_the_offset),
        cmocka_unit_test(what_is_used_can_be_chosen_and_is_reported),
        cmocka_unit_test(messages_that_run_backwards_are_found),
        cmocka_unit_test(why_a_clock_is_not_calibrated_is_reported_with_a_cure),
        cmocka_unit_test(waits_across_a_clock_that_is_not_known_are_unknown),
        cmocka_unit_test(what_the_clocks_cannot_show_is_a_tie),
        cmocka_unit_test(facts_that_decide_leave_no_tie),
        cmocka_unit_test(the_trace_has_the_clocks_bounds_over_time),
        cmocka_unit_test(the_trace_has_the_error_of_each_wait),
        cmocka_unit_test(the_trace_names_hosts_that_are_not_calibrated),
        cmocka_unit_test(the_gate_wants_a_unit),
        cmocka_unit_test(the_gate_passes_fails_or_cannot_decide),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
