/* test_ckmerge.c - the program on a run of four ranks with a known truth
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Four ranks, ten steps of 1 ms, from 1 ms on. In each step:
 *   two kernels that overlap (queues 1 and 2): [100,400) and [300,500) us
 *   one copy: [600,650) us              MPI_Allreduce: [700,700+50*rank) us
 * so a device is busy 450 us of each 1000. Rank 2 dies by signal 9 at 10.9 ms
 * inside the MPI_Allreduce of its last step.
 */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/merge/program.h"
#include "tests/merge/synth.h"

#define US ((int64_t)1000)
#define MS ((int64_t)1000000)
#define SITE ((uint64_t)0x401000)

enum name {
    NAME_FORWARD = 1,
    NAME_BACKWARD,
    NAME_ALLREDUCE,
    NAME_LAUNCH,
    NAME_COPY,
    NAME_CLOCK,
};

static void names_put(struct synth *synth)
{
    static const char *const names[] = {"forward", "backward", "MPI_Allreduce",
                                        "clEnqueueNDRangeKernel", "write"};

    for (uint32_t i = 0; i < 5; i++) {
        synth_text(synth, CK_KIND_NAME, i + 1, 0, 0, names[i],
                   strlen(names[i]));
    }
    synth_text(synth, CK_KIND_DEVICE, 1, 0, 0, "name=pocl\nscope=process\n",
               24);
}

static void step_put(struct synth *synth, int64_t start, int step, int rank)
{
    uint32_t call = (uint32_t)step * 3 + 1;
    struct ck_copy copy = {.e = {.kind = CK_KIND_COPY_H2D,
                                 .name = NAME_COPY,
                                 .start = start + 600 * US},
                           .dur = 50 * US,
                           .tid = 100,
                           .call = call,
                           .device = 1,
                           .queue = 1,
                           .bytes = 4096};
    struct ck_kernel second = {.e = {.kind = CK_KIND_KERNEL,
                                     .name = NAME_BACKWARD,
                                     .start = start + 300 * US},
                               .dur = 200 * US,
                               .tid = 100,
                               .call = call,
                               .device = 1,
                               .queue = 2};

    synth_stream(synth, 1, 0, 100);
    synth_call(synth, CK_KIND_API_OPENCL, NAME_LAUNCH, start + 50 * US, 10 * US,
               SITE, call);
    if (rank != 2 || step != 9) {
        synth_call(synth, CK_KIND_COLLECTIVE, NAME_ALLREDUCE, start + 700 * US,
                   50 * US * rank, SITE + 64, call + 1);
    }
    synth_step(synth, start, MS, step);
    /* The device's thread stores in the order of completion. */
    synth_stream(synth, 1, 1, 101);
    synth_put(synth, &second);
    synth_kernel(synth, NAME_FORWARD, start + 100 * US, 300 * US, 100, call);
    synth_put(synth, &copy);
}

static void rank_put(const char *dir, int rank, int size)
{
    struct synth_rank who = {.rank = rank,
                             .size = size,
                             .host = "node",
                             .timens = "t",
                             .clock = CK_CLOCK_RAW,
                             .start_raw = 0,
                             .start_realtime = 0};
    static const char *const lost[] = {
        "9 samples were lost", "1 samples were lost", "1 samples were lost",
        "12 switches were lost"};
    struct synth *synth = synth_create(dir, (unsigned)rank, &who);
    struct ck_counter clock = {
        .e = {.kind = CK_KIND_COUNTER, .name = NAME_CLOCK, .start = 10 * MS},
        .value = 8 * MS,
        .enabled = 100,
        .running = 50};
    struct ck_open open = {.e = {.kind = CK_KIND_OPEN,
                                 .name = NAME_ALLREDUCE,
                                 .start = 10 * MS + 700 * US},
                           .site = SITE + 64,
                           .tid = 100,
                           .call = 29,
                           .incarnation = 1,
                           .kind = CK_KIND_COLLECTIVE,
                           .seen = 10 * MS + 800 * US};

    synth_text(synth, CK_KIND_PROCESS, 1, 100, 0, "train", 5);
    synth_text(synth, CK_KIND_SYMBOL, 1, SITE + 64, 212, "step\0/s/train.c",
               15);
    synth_text(synth, CK_KIND_NAME, NAME_CLOCK, 0, 0, "task-clock", 10);
    synth_text(synth, CK_KIND_NOTE, 0, 0, 0, lost[rank % 4],
               strlen(lost[rank % 4]));
    synth_text(synth, CK_KIND_NOTE, 0, 0, 0, "no counters", 11);
    synth_put(synth, &clock);
    if (rank == 2) {
        synth_put(synth, &open);
    }
    synth_stream(synth, 1, 0, 100);
    names_put(synth);
    for (int step = 0; step < 10; step++) {
        step_put(synth, MS + step * MS, step, rank);
    }
    synth_exit(synth, rank == 2 ? 9 : 0,
               rank == 2 ? 10 * MS + 900 * US : 12 * MS, 100 * US);
    synth_destroy(synth);
}

struct fixture {
    char *base;
    char run[4096];
    char *text; /* of the last command */
};

static int fixture_setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->base = synth_dir();
    (void)snprintf(fixture->run, sizeof(fixture->run), "%s/synth-four",
                   fixture->base);
    if (mkdir(fixture->run, 0700) != 0) {
        return -1;
    }
    for (int rank = 0; rank < 4; rank++) {
        rank_put(fixture->run, rank, 4);
    }
    *state = fixture;
    return 0;
}

static int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;

    synth_remove(strdup(fixture->run));
    synth_remove(fixture->base);
    free(fixture->text);
    free(fixture);
    return 0;
}

#define merge(fixture, ...)                                                    \
    program_merge(&(fixture)->text, (fixture)->base, __VA_ARGS__)

static char *file_text(const char *path)
{
    char *text = calloc(1, 1 << 20);
    FILE *file = fopen(path, "re");

    assert_non_null(text);
    if (file == NULL) {
        free(text);
        return NULL;
    }
    (void)fread(text, 1, (1 << 20) - 1, file);
    (void)fclose(file);
    return text;
}

/* Compare with tests/data; CK_REFRESH=1 writes it anew instead. */
static void expect_file(const char *text, const char *name)
{
    char path[4096];
    char *expected;

    (void)snprintf(path, sizeof(path), "%s/%s", CK_TEST_EXPECT, name);
    if (getenv("CK_REFRESH") != NULL) {
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    expected = file_text(path);
    assert_non_null(expected);
    assert_string_equal(text, expected);
    free(expected);
}

static void the_report_is_the_expected_one(void **state)
{
    struct fixture *fixture = *state;
    char path[8192];
    char *kept;

    assert_int_equal(merge(fixture, "synth-four"), 0);
    expect_file(fixture->text, "report.txt");
    (void)snprintf(path, sizeof(path), "%s/report.txt", fixture->run);
    kept = file_text(path);
    assert_non_null(kept);
    assert_string_equal(kept, fixture->text);
    free(kept);
    (void)snprintf(path, sizeof(path), "%s/report.json", fixture->run);
    kept = file_text(path);
    assert_non_null(kept);
    assert_int_equal(merge(fixture, "--output json %s", fixture->run), 0);
    assert_string_equal(kept, fixture->text);
    expect_file(fixture->text, "report.json");
    free(kept);
}

static void the_truth_is_in_the_json(void **state)
{
    static const char *const facts[] = {
        "\"busy_ns\": 4500000,", /* ten times 450 us */
        "\"idle_ns\": 5500000,", /* the rest of 10 ms */
        "\"copy_ns\": 500000,",
        "\"kernel_core_ns\": 5000000,", /* overlap counted twice */
        "\"kernel_busy_ns\": 4000000,",
        "\"busy_ns\": 10000000,", /* forward: 250 us, 10 steps, 4 ranks */
        "\"busy_ns\": 6000000,",  /* backward: 150 us */
        "\"mpi_ns\": 1500000,",   /* rank 3 */
        "\"mpi_ns\": 1100000,",   /* rank 2: 9 x 100 + 200 us, cut */
        "\"end\": \"signal\"",
        "\"name\": \"MPI_Allreduce\"",
        "\"file\": \"/s/train.c\"",
        "\"line\": 212",
        "\"kind\": \"steps\"",
        "\"value\": 64000000", /* counted half of the time */
        "\"ledger_closed\": true",
        /* rank 0 in its first step, until it launches */
        "\"at_start\": true,\n      \"ns\": 50000,\n      \"count\": 1,",
        "\"text\": \"11 samples were lost\",\n        \"count\": 3",
        "\"text\": \"12 switches were lost\",\n        \"count\": 1",
        "\"text\": \"no counters\",\n        \"count\": 4",
    };
    struct fixture *fixture = *state;

    assert_int_equal(merge(fixture, "-o json %s", fixture->run), 0);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        if (strstr(fixture->text, facts[i]) == NULL) {
            fail_msg("not in the JSON: %s", facts[i]);
        }
    }
}

static void a_part_of_the_run_and_some_ranks_can_be_asked_for(void **state)
{
    struct fixture *fixture = *state;

    /* The run starts at 1 ms: this is [100, 400) us of the first step. */
    assert_int_equal(merge(fixture,
                           "--from 100us --to 400us --ranks 1,3 -o json %s",
                           fixture->run),
                     0);
    assert_non_null(strstr(fixture->text, "\"wall_ns\": 600000,"));
    assert_non_null(strstr(fixture->text, "\"busy_ns\": 600000,"));
    assert_int_equal(merge(fixture, "--from 20ms %s", fixture->run), 1);
    assert_int_equal(merge(fixture, "--ranks 7 %s", fixture->run), 1);
    assert_non_null(strstr(fixture->text, "none of these ranks"));
    assert_int_equal(merge(fixture, "-q --ranks 0,9 %s", fixture->run), 0);
    assert_non_null(
        strstr(fixture->text, "--ranks 0,9: the run has no rank 9"));
    assert_int_equal(merge(fixture, "-q --ranks 2-9 %s", fixture->run), 0);
    assert_non_null(strstr(fixture->text, "the run has 2 of the ranks 2-9"));
    assert_int_equal(merge(fixture, "-q --ranks 0-3 %s", fixture->run), 0);
    assert_string_equal(fixture->text, "");
    assert_int_equal(merge(fixture, "--ranks x %s", fixture->run), 2);
}

/* Rank 2 died; its fellows are asked for. */
static void where_ranks_are_is_of_those_asked_for(void **state)
{
    struct fixture *fixture = *state;

    merge(fixture, "--live -o where %s", fixture->run);
    assert_non_null(strstr(fixture->text, "rank 2 died of signal 9"));
    merge(fixture, "--live -o where --ranks 1,3 %s", fixture->run);
    assert_non_null(strstr(fixture->text, "2 of 4 ranks selected"));
    assert_null(strstr(fixture->text, "rank 2 died"));
}

static void ranks_that_are_not_selected_are_not_missing(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge(fixture, "--ranks 1-2 %s", fixture->run), 0);
    assert_non_null(strstr(fixture->text, "2 of 4 ranks selected"));
    assert_null(strstr(fixture->text, "not in the run"));
    assert_int_equal(merge(fixture, "--verify --ranks 1-2 %s", fixture->run),
                     0);
    assert_string_equal(fixture->text, "");
}

static void what_is_damaged_is_reported_before_all_else(void **state)
{
    struct fixture *fixture = *state;
    const struct synth_rank who = {.rank = 0,
                                   .size = 1,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 9, &who);
    const char *said, *busy;

    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, 1, 0, 0, "forward", 7);
    synth_kernel(synth, 1, MS, MS, 100, 1);
    synth_skip(synth, 8);
    synth_kernel(synth, 1, 3 * MS, MS, 100, 2);
    synth_garbage(synth, dir);
    synth_destroy(synth);
    assert_int_equal(merge(fixture, "%s", dir), 3);
    said = strstr(fixture->text,
                  "not all was kept: at least 1 of 3 events were lost, "
                  "1 gap in the streams, "
                  "1 damaged place in the files");
    busy = strstr(fixture->text, "Devices were busy");
    assert_non_null(said);
    assert_true(busy == NULL || said < busy);
    assert_non_null(strstr(fixture->text, "0 of 1 rank recorded to the end"));
    assert_int_equal(merge(fixture, "--verify %s", dir), 3);
    assert_non_null(strstr(fixture->text, "rank 0 lacks records: 1 gap"));
    synth_remove(dir);
}

/* A shell of one rank that runs a program twice. */
static void programs_of_one_rank_are_distinguished(void **state)
{
    static const char device[] = "name=pocl\nscope=process\n";
    struct fixture *fixture = *state;
    const struct synth_rank who = {.rank = 0,
                                   .size = 1,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 9, &who);

    synth_text(synth, CK_KIND_PROCESS, 1, 100, 0, "/opt/it/train -o /x", 20);
    synth_text(synth, CK_KIND_PROCESS, 2, 200, 0, "check", 5);
    for (uint32_t i = 1; i <= 2; i++) {
        synth_stream(synth, i, 0, 100 * i);
        synth_text(synth, CK_KIND_NAME, 1, 0, 0, "forward", 7);
        synth_text(synth, CK_KIND_DEVICE, 1, 0, 0, device, strlen(device));
        synth_kernel(synth, 1, 10 * i * MS, MS, 100 * i, 1);
    }
    synth_destroy(synth);
    (void)merge(fixture, "%s", dir);
    assert_non_null(strstr(
        fixture->text,
        "by train -o /x (process 100), from 0 ns to 1.00 ms of the run\n"));
    assert_non_null(
        strstr(fixture->text,
               "by check (process 200), from 10.0 ms to 11.0 ms of the run\n"));
    assert_null(strstr(fixture->text, "1 pieces"));
    synth_remove(dir);
}

/* How a rank ended that is recorded to have outlived its ckagent. */
static void expect_end(struct fixture *fixture,
                       const char *exit,
                       int status,
                       const char *said)
{
    const struct synth_rank who = {.rank = 0,
                                   .size = 1,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 9, &who);

    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    synth_text(synth, CK_KIND_EXIT, 0, (uint64_t)status, 0, exit, strlen(exit));
    synth_destroy(synth);
    (void)merge(fixture, "%s", dir);
    if (strstr(fixture->text, said) == NULL) {
        fail_msg("%s\nnot said: %s", fixture->text, said);
    }
    synth_remove(dir);
}

static void
a_program_that_outlives_its_ckagent_was_not_killed_with_it(void **state)
{
    struct fixture *fixture = *state;

    expect_end(fixture, "outlived_ns=800000000\n", 3 << 8,
               "rank 0 lost its ckagent, which was killed, and ended with "
               "status 3");
    expect_end(fixture, "outlived_ns=800000000\n", 0,
               "rank 0 lost its ckagent, which was killed, and ended with "
               "status 0");
    expect_end(fixture, "outlived_ns=2000000\n", 9,
               "rank 0 was killed together with its ckagent");
    expect_end(fixture, "outlived_ns=-1\n", 9,
               "rank 0 died of signal 9 (Killed)");
}

static void an_end_that_was_not_seen_is_no_missing_record(void **state)
{
    const struct synth_rank who = {.rank = 0,
                                   .size = 1,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    struct fixture *fixture = *state;
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 9, &who);

    synth_exit_unseen(synth, "status=0\noutlived_ns=800000000\n");
    synth_destroy(synth);
    assert_int_equal(merge(fixture, "%s", dir), 3);
    assert_non_null(strstr(fixture->text,
                           "rank 0 lost its ckagent, which was "
                           "killed, and ended with unknown status"));
    assert_int_equal(merge(fixture, "--verify %s", dir), 3);
    assert_string_equal(
        fixture->text,
        "rank 0 lost its ckagent, and its exit status is unknown\n");
    synth_remove(dir);
}

/* Damaged counts, whose plain sum is 2^64: none. */
static void the_sum_of_losses_does_not_wrap(void **state)
{
    static const struct {
        int64_t records;
        uint32_t reason;
    } losses[] = {{INT64_MAX, CK_LOST_RING},
                  {INT64_MAX, CK_LOST_NOSLOT},
                  {1, CK_LOST_DEVICE},
                  {1, CK_LOST_DEVICE}};
    const struct synth_rank who = {.rank = 0,
                                   .size = 1,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    struct fixture *fixture = *state;
    char *dir = synth_dir();
    struct synth *synth = synth_create(dir, 9, &who);

    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
        struct ck_counter lost = {
            .e = {.kind = CK_KIND_LOST, .flags = CK_FLAG_RAW, .start = 5000000},
            .value = losses[i].records,
            .enabled = 1000000,
            .reason = losses[i].reason};

        synth_put(synth, &lost);
    }
    synth_exit(synth, 0, 9000000, 100000);
    synth_destroy(synth);
    assert_int_equal(merge(fixture, "-o json %s", dir), 0);
    assert_non_null(strstr(fixture->text, "\n      \"lost\": "
                                          "18446744073709551615"));
    assert_non_null(strstr(fixture->text, "\n    \"lost\": "
                                          "18446744073709551615"));
    assert_int_equal(merge(fixture, "%s", dir), 0);
    assert_null(strstr(fixture->text, " 0 of 1 events lost"));
    synth_remove(dir);
}

static void a_sound_run_verifies(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge(fixture, "--verify %s", fixture->run), 0);
    assert_string_equal(fixture->text, "");
}

/* A run that came from another user may hold a link. */
static void the_trace_follows_no_link_out_of_the_run(void **state)
{
    struct fixture *fixture = *state;
    char other[PATH_MAX + 16], name[PATH_MAX + 16];
    struct stat st;
    int fd;

    (void)snprintf(other, sizeof(other), "%s.other", fixture->run);
    (void)snprintf(name, sizeof(name), "%s/trace.json", fixture->run);
    fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(symlink(other, name), 0);
    assert_int_not_equal(merge(fixture, "-q -o chrome %s", fixture->run), 0);
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(st.st_size, 0);
    /* A name that the user gives is the user's. */
    assert_int_equal(merge(fixture, "-q -o chrome=%s %s", name, fixture->run),
                     0);
    assert_int_equal(stat(other, &st), 0);
    assert_true(st.st_size > 1000);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(unlink(other), 0);
}

/* As where it was exchanged for a file after the name was looked at. */
static void a_link_of_another_user_is_not_followed(void **state)
{
    struct fixture *fixture = *state;
    char other[PATH_MAX + 16], name[PATH_MAX + 16];
    struct stat st;
    int fd;

    (void)snprintf(other, sizeof(other), "%s.other", fixture->run);
    (void)snprintf(name, sizeof(name), "%s/t.json", fixture->run);
    fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(symlink(other, name), 0);
    if (lchown(name, 65534, 65534) != 0) {
        assert_int_equal(unlink(name), 0);
        assert_int_equal(unlink(other), 0);
        skip(); /* only root can be two users */
    }
    assert_int_equal(merge(fixture, "-q -o chrome=%s %s", name, fixture->run),
                     1);
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(unlink(name), 0);
    /* Over several links of one's own, to a file that is not there yet. */
    assert_int_equal(unlink(other), 0);
    assert_int_equal(symlink("u.json", name), 0);
    (void)snprintf(name, sizeof(name), "%s/u.json", fixture->run);
    assert_int_equal(symlink(other, name), 0);
    (void)snprintf(name, sizeof(name), "%s/t.json", fixture->run);
    assert_int_equal(merge(fixture, "-q -o chrome=%s %s", name, fixture->run),
                     0);
    assert_int_equal(stat(other, &st), 0);
    assert_true(st.st_size > 1000);
    assert_int_equal(unlink(other), 0);
}

static void the_trace_is_json_with_every_slice_and_arrow(void **state)
{
    struct fixture *fixture = *state;
    char command[12288];

    assert_int_equal(merge(fixture, "-q -o chrome=%s/t.json.gz %s",
                           fixture->run, fixture->run),
                     0);
    (void)snprintf(
        command, sizeof(command),
        "python3 -c 'import gzip, json\n"
        "t = json.load(gzip.open(\"%s/t.json.gz\"))[\"traceEvents\"]\n"
        "x = [e for e in t if e[\"ph\"] == \"X\"]\n"
        "n = lambda c: sum(e[\"cat\"] == c for e in x)\n"
        "assert n(\"kernel\") == 80 and n(\"copy\") == 40, \"device\"\n"
        "assert n(\"collective\") == 40, \"one is cut\"\n"
        "assert n(\"step\") == 40 and n(\"opencl\") == 40, \"host\"\n"
        "assert sum(e[\"ph\"] == \"s\" for e in t) == 120, \"arrows\"\n"
        "assert sum(e[\"ph\"] == \"f\" for e in t) == 120, \"arrows\"\n"
        "tracks = {}\n"
        "for e in sorted(x, key=lambda e: (e[\"ts\"], -e[\"dur\"])):\n"
        "    s = tracks.setdefault((e[\"pid\"], e[\"tid\"]), [])\n"
        "    end = round((e[\"ts\"] + e[\"dur\"]) * 1000)\n"
        "    while s and s[-1] <= round(e[\"ts\"] * 1000): s.pop()\n"
        "    assert not s or end <= s[-1], \"slices overlap\"\n"
        "    s.append(end)\n"
        "assert len(tracks) == 12 + 4, \"a device has one for its idle time\"\n"
        "idle = sum(e[\"dur\"] for e in x if e[\"cat\"] == \"idle\")\n"
        "assert round(idle) == 22000, \"as in the report\"\n"
        "assert not [e for e in t if e[\"ph\"] == \"C\" and"
        " e[\"name\"].startswith(\"bound\")], \"one clock\"\n'",
        fixture->run);
    assert_int_equal(system(command), 0);
}

/* The first bytes of a file of the run; "" = it is not there. */
static void head_of(char head[64], const char *path)
{
    FILE *file = fopen(path, "re");
    size_t length = file == NULL ? 0 : fread(head, 1, 63, file);

    head[length] = '\0';
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void
the_page_lies_beside_the_report_whose_last_line_names_it(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_MAX + 16], last[PATH_MAX + 64], head[64];
    size_t length;

    (void)snprintf(path, sizeof(path), "%s/report.html", fixture->run);
    (void)unlink(path);
    assert_int_equal(merge(fixture, "--no-page %s", fixture->run), 0);
    head_of(head, path);
    assert_string_equal(head, "");
    assert_null(strstr(fixture->text, " PAGE "));
    assert_int_equal(merge(fixture, "--to 5ms %s", fixture->run), 0);
    head_of(head, path);
    assert_string_equal(head, "");
    assert_null(strstr(fixture->text, " PAGE "));

    assert_int_equal(merge(fixture, "%s", fixture->run), 0);
    head_of(head, path);
    assert_int_equal(strncmp(head, "<!DOCTYPE html>", 15), 0);
    (void)snprintf(last, sizeof(last), "\n PAGE        %s\n", path);
    length = strlen(fixture->text);
    assert_true(length > strlen(last));
    assert_string_equal(fixture->text + length - strlen(last), last);
}

static void the_page_follows_no_link_out_of_the_run(void **state)
{
    static const char *const asked[] = {"-q %s", "-q --no-page -o html %s"};
    struct fixture *fixture = *state;
    char other[PATH_MAX + 16], name[PATH_MAX + 16];
    struct stat st;
    int fd;

    (void)snprintf(other, sizeof(other), "%s.other", fixture->run);
    (void)snprintf(name, sizeof(name), "%s/report.html", fixture->run);
    fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        (void)unlink(name);
        assert_int_equal(symlink(other, name), 0);
        assert_int_equal(merge(fixture, asked[i], fixture->run), 0);
        assert_int_equal(stat(other, &st), 0);
        assert_int_equal(st.st_size, 0);
        assert_int_equal(lstat(name, &st), 0);
        assert_true(S_ISREG(st.st_mode) && st.st_size > 10000);
    }
    assert_int_equal(unlink(other), 0);
}

static void a_merge_of_profiles_has_a_page_and_replaces_no_other(void **state)
{
    struct fixture *fixture = *state;
    char merged[PATH_MAX + 16], page[PATH_MAX + 32], head[64];
    FILE *file;

    (void)snprintf(merged, sizeof(merged), "%s/merged.json", fixture->run);
    (void)snprintf(page, sizeof(page), "%s.html", merged);
    file = fopen(page, "we");
    assert_non_null(file);
    assert_true(fputs("<html>a person's own</html>", file) >= 0);
    assert_int_equal(fclose(file), 0);
#define PROFILES "--kernel-only -q " CK_TEST_EXPECT "/../profiles/kineto.json "
    assert_int_equal(merge(fixture, PROFILES "%s", merged), 1);
    assert_non_null(strstr(fixture->text, "--no-page"));
    head_of(head, merged);
    assert_string_equal(head, ""); /* nothing was begun */
    assert_int_equal(merge(fixture, "--no-page " PROFILES "%s", merged), 0);
    head_of(head, page);
    assert_string_equal(head, "<html>a person's own</html>");
    assert_int_equal(merge(fixture, "--force " PROFILES "%s", merged), 0);
    head_of(head, page);
    assert_int_equal(strncmp(head, "<!DOCTYPE html>", 15), 0);
    assert_int_equal(merge(fixture, PROFILES "%s", merged), 0); /* ours now */
    assert_int_equal(unlink(merged), 0);
    assert_int_equal(unlink(page), 0);
}

static void file_put(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#define ASKED "-q --no-page -o %s=%s %s"
#define ASKED_WORDS outputs[i].format, named, fixture->run

/* What a person has there stays; what ckmerge wrote, it replaces. */
static void a_named_file_is_replaced_if_it_is_empty_or_ours(void **state)
{
    static const char foreign[] = "{\"traceEvents\":[]} a person's own\n";
    static const struct {
        const char *format;
        const char *name;
        const char *written; /* what is there then */
    } outputs[] = {
        {"text", "x", "x"},
        {"json", "x", "x"},
        {"html", "x", "x"},
        {"chrome", "x.json", "x.json"},
        {"chrome", "x.json.gz", "x.json.gz"},
        {"perfetto", "x", "x"},
        {"perfetto", "x.gz", "x.gz"},
        {"csv", "", "ledger.csv"},
        {"folded", "x", "x"},
        {"speedscope", "x", "x"},
        {"flamescope", "x", "x"},
        {"firefox", "x", "x"},
        {"svg-ledger", "x", "x"},
        {"svg-timeline", "x", "x"},
        {"svg-steps", "x", "x"},
        {"svg-flame", "x", "x"},
        {"openmetrics", "x", "x"},
        {"sqlite", "x", "x"},
        {"where", "x", "x"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        char dir[PATH_MAX + 16], named[PATH_MAX + 64], path[PATH_MAX + 64];
        char head[64];

        (void)snprintf(dir, sizeof(dir), "%s/own%zu", fixture->run, i);
        assert_int_equal(mkdir(dir, 0700), 0);
        (void)snprintf(named, sizeof(named), "%s/%s", dir, outputs[i].name);
        (void)snprintf(path, sizeof(path), "%s/%s", dir, outputs[i].written);
        file_put(path, foreign);
        assert_int_equal(merge(fixture, ASKED, ASKED_WORDS), 1);
        assert_non_null(strstr(fixture->text, outputs[i].written));
        assert_non_null(strstr(fixture->text, "--force"));
        head_of(head, path);
        assert_string_equal(head, foreign);
        assert_int_equal(merge(fixture, "--force " ASKED, ASKED_WORDS), 0);
        head_of(head, path);
        assert_string_not_equal(head, foreign);
        /* Ours now. */
        assert_int_equal(merge(fixture, ASKED, ASKED_WORDS), 0);
        file_put(path, "");
        assert_int_equal(merge(fixture, ASKED, ASKED_WORDS), 0);
    }
}

static void two_outputs_do_not_share_stdout(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge(fixture, "-o json=- -o svg-ledger %s", fixture->run),
                     2);
    assert_non_null(strstr(fixture->text, "both go to stdout"));
    assert_int_equal(merge(fixture, "-o json " PROFILES "-"), 2);
    assert_non_null(strstr(fixture->text, "both go to stdout"));
}

static void missing_ranks_and_damage_are_reported_and_partial(void **state)
{
    struct fixture *fixture = *state;
    char path[8192];
    FILE *file;

    /* The file of rank 3: id "agent-3". */
    (void)snprintf(path, sizeof(path),
                   "%s/seg-6167656e742d33000000000000000000.ck", fixture->run);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(merge(fixture, "%s", fixture->run), 3);
    assert_non_null(strstr(fixture->text, "3 of 4 ranks"));
    assert_non_null(strstr(fixture->text, "rank 3 is not in the run"));
    rank_put(fixture->run, 3, 4);
    file = fopen(path, "ae");
    assert_non_null(file);
    assert_true(fputs("torn", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(merge(fixture, "%s", fixture->run), 3);
    assert_non_null(strstr(fixture->text, "1 damaged place"));
    assert_int_equal(merge(fixture, "--verify %s", fixture->run), 3);
    assert_non_null(strstr(fixture->text, "damaged"));
    assert_int_equal(unlink(path), 0);
    rank_put(fixture->run, 3, 4);
}

static size_t lines_with(const char *text, const char *part)
{
    size_t count = 0;

    for (text = strstr(text, part); text != NULL;
         text = strstr(text + 1, part)) {
        count++;
    }
    return count;
}

static void many_ranks_show_the_extremes_unless_all_are_asked_for(void **state)
{
    struct fixture *fixture = *state;
    char *dir = synth_dir();

    for (int rank = 0; rank < 40; rank++) {
        rank_put(dir, rank, 40);
    }
    assert_int_equal(merge(fixture, "%s", dir), 0);
    assert_int_equal(lines_with(fixture->text, " pocl "), 9);
    assert_non_null(strstr(fixture->text, "31 more devices: --all-ranks"));
    assert_non_null(strstr(fixture->text, "40 devices"));
    assert_int_equal(merge(fixture, "--all-ranks %s", dir), 0);
    assert_int_equal(lines_with(fixture->text, " pocl "), 40);
    synth_remove(dir);
}

static void misuse_gets_one_line_and_exit_two(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(merge(fixture, ""), 2);
    assert_non_null(strstr(fixture->text, "no run directory"));
    assert_int_equal(merge(fixture, "a b"), 2);
    assert_int_equal(merge(fixture, "--output pdf %s", fixture->run), 2);
    assert_int_equal(merge(fixture, "--no-such-option"), 2);
    assert_int_equal(merge(fixture, "/nonexistent"), 1);
    assert_ptr_equal(strchr(fixture->text, '\n'),
                     fixture->text + strlen(fixture->text) - 1);
    assert_int_equal(
        merge(fixture, "-q -o json=/nonexistent/x %s", fixture->run), 1);
    assert_int_equal(merge(fixture, "--help"), 0);
    assert_non_null(strstr(fixture->text, "--output"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_is_the_expected_one),
        cmocka_unit_test(the_truth_is_in_the_json),
        cmocka_unit_test(a_part_of_the_run_and_some_ranks_can_be_asked_for),
        cmocka_unit_test(where_ranks_are_is_of_those_asked_for),
        cmocka_unit_test(ranks_that_are_not_selected_are_not_missing),
        cmocka_unit_test(what_is_damaged_is_reported_before_all_else),
        cmocka_unit_test(programs_of_one_rank_are_distinguished),
        cmocka_unit_test(
            a_program_that_outlives_its_ckagent_was_not_killed_with_it),
        cmocka_unit_test(an_end_that_was_not_seen_is_no_missing_record),
        cmocka_unit_test(the_sum_of_losses_does_not_wrap),
        cmocka_unit_test(a_sound_run_verifies),
        cmocka_unit_test(the_trace_follows_no_link_out_of_the_run),
        cmocka_unit_test(a_link_of_another_user_is_not_followed),
        cmocka_unit_test(the_trace_is_json_with_every_slice_and_arrow),
        cmocka_unit_test(
            the_page_lies_beside_the_report_whose_last_line_names_it),
        cmocka_unit_test(the_page_follows_no_link_out_of_the_run),
        cmocka_unit_test(a_merge_of_profiles_has_a_page_and_replaces_no_other),
        cmocka_unit_test(a_named_file_is_replaced_if_it_is_empty_or_ours),
        cmocka_unit_test(two_outputs_do_not_share_stdout),
        cmocka_unit_test(missing_ranks_and_damage_are_reported_and_partial),
        cmocka_unit_test(many_ranks_show_the_extremes_unless_all_are_asked_for),
        cmocka_unit_test(misuse_gets_one_line_and_exit_two),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
