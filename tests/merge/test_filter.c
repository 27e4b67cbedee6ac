/* test_filter.c - ckmerge --ranks on random runs
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run is merged as a whole, for some of its ranks and for the others. A
 * filter chooses rows and changes none: sums of both halves are those of the
 * whole, and the rows of ranks and devices are the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/rankset.h"
#include "tests/merge/chance.h"
#include "tests/merge/flatjson.h"
#include "tests/merge/program.h"
#include "tests/merge/synth.h"

#define US ((int64_t)1000)
#define MS ((int64_t)1000000)
#define RANKS_MAX 5
#define ROUNDS_MAX 10
#define RUNS 40
#define TID 100
#define LAUNCH_SITE 0x401000
#define MPI_SITE 0x402000

enum name {
    NAME_LAUNCH = 1,
    NAME_ALLREDUCE,
    NAME_SEND,
    NAME_RECV,
    NAME_FORWARD,
    NAME_BACKWARD,
    NAME_LOAD,
    NAME_INIT,
    NAME_FINALIZE,
    NAMES,
    NAME_CLOCK = 1 /* of the collector */
};

struct player {
    struct synth *synth;
    int64_t now;
    uint32_t call;
};

/* The program that is recorded. */
struct program {
    char *dir;
    int size;
    struct player ranks[RANKS_MAX];
    uint32_t seq;
    char *text; /* of ckmerge */
};

/* What only the collector knows: a counter, and where it met the thread. */
static void collector_put(struct player *player)
{
    struct ck_counter clock = {
        .e = {.kind = CK_KIND_COUNTER, .name = NAME_CLOCK, .start = MS},
        .value = chance_below(MS)};
    struct ck_sample sample = {.e = {.kind = CK_KIND_SAMPLE,
                                     .name = 1,
                                     .start = player->now + chance_below(MS)},
                               .tid = TID,
                               .weight = chance_below(MS) + 1};

    synth_text(player->synth, CK_KIND_NAME, NAME_CLOCK, 0, 0, "task-clock", 10);
    synth_put(player->synth, &clock);
    synth_put(player->synth, &sample);
}

static void rank_begin(struct program *program, int rank, int devices)
{
    static const char *const names[] = {[NAME_LAUNCH] =
                                            "clEnqueueNDRangeKernel",
                                        [NAME_ALLREDUCE] = "MPI_Allreduce",
                                        [NAME_SEND] = "MPI_Send",
                                        [NAME_RECV] = "MPI_Recv",
                                        [NAME_FORWARD] = "forward",
                                        [NAME_BACKWARD] = "backward",
                                        [NAME_LOAD] = "load",
                                        [NAME_INIT] = "MPI_Init",
                                        [NAME_FINALIZE] = "MPI_Finalize"};
    struct synth_rank who = {.rank = rank,
                             .size = program->size,
                             .host = rank % 2 == 0 ? "even" : "odd",
                             .timens = "t",
                             .clock = CK_CLOCK_RAW};
    struct player *player = &program->ranks[rank];
    char text[128];
    int length;

    *player = (struct player){
        .synth = synth_create(program->dir, (unsigned)rank, &who),
        .now = MS + chance_below(MS)};
    collector_put(player);
    synth_stream(player->synth, 1, 0, TID);
    for (uint32_t i = 1; i < NAMES; i++) {
        synth_text(player->synth, CK_KIND_NAME, i, 0, 0, names[i],
                   strlen(names[i]));
    }
    length =
        snprintf(text, sizeof(text), "name=gpu\nuuid=u%d\n", rank % devices);
    synth_text(player->synth, CK_KIND_DEVICE, 1, 0, 0, text, (size_t)length);
    length = snprintf(text, sizeof(text),
                      "how=world\nsize=%d\nrank=%d\nmembers=0-%d\n",
                      program->size, rank, program->size - 1);
    synth_text(player->synth, CK_KIND_COMM, 1, 0, 0, text, (size_t)length);
}

static void collective_put(struct program *program)
{
    int64_t last = 0;

    for (int rank = 0; rank < program->size; rank++) {
        last =
            program->ranks[rank].now > last ? program->ranks[rank].now : last;
    }
    program->seq++;
    for (int rank = 0; rank < program->size; rank++) {
        struct player *player = &program->ranks[rank];
        struct ck_collective record = {
            .e = {.kind = CK_KIND_COLLECTIVE,
                  .name = NAME_ALLREDUCE,
                  .start = player->now},
            .dur = last + 2 * US - player->now,
            .site = MPI_SITE,
            .call = ++player->call,
            .comm = 1,
            .seq = program->seq,
            .root = -1,
            .bytes_out = 8,
            .bytes_in = 8,
        };

        synth_put(player->synth, &record);
        player->now = last + 2 * US;
    }
}

static void message_put(struct program *program, int from, int to)
{
    struct player *sender = &program->ranks[from];
    struct player *taker = &program->ranks[to];
    int64_t come = sender->now + 3 * US;
    struct ck_message record = {
        .e = {.kind = CK_KIND_SEND, .name = NAME_SEND, .start = sender->now},
        .dur = 2 * US,
        .site = MPI_SITE + 64,
        .call = ++sender->call,
        .comm = 1,
        .peer = to,
        .tag = 1,
        .bytes = 8,
    };

    synth_put(sender->synth, &record);
    sender->now += 2 * US;
    come = taker->now + US > come ? taker->now + US : come;
    record.e = (struct ck_event){
        .kind = CK_KIND_RECV, .name = NAME_RECV, .start = taker->now};
    record.dur = come - taker->now;
    record.site = MPI_SITE + 128;
    record.call = ++taker->call;
    record.peer = from;
    synth_put(taker->synth, &record);
    taker->now = come;
}

/* It launches, and goes on while the device works. */
static void work_put(struct player *player)
{
    struct ck_kernel kernel = {
        .e = {.kind = CK_KIND_KERNEL,
              .name = chance_below(2) == 0 ? NAME_FORWARD : NAME_BACKWARD,
              .start = player->now + chance_below(40 * US) + US},
        .dur = chance_below(60 * US) + US,
        .tid = TID,
        .call = ++player->call,
        .device = 1,
        .queue = 1,
    };

    synth_call(player->synth, CK_KIND_API_OPENCL, NAME_LAUNCH, player->now,
               2 * US, LAUNCH_SITE, player->call);
    synth_put(player->synth, &kernel);
    player->now += 3 * US;
}

static void range_put(struct player *player, int64_t start)
{
    struct ck_mark mark = {
        .e = {.kind = CK_KIND_RANGE, .name = NAME_LOAD, .start = start},
        .dur = player->now - start};

    synth_put(player->synth, &mark);
}

static void round_put(struct program *program, int round, bool has_steps)
{
    int64_t begin[RANKS_MAX];

    for (int rank = 0; rank < program->size; rank++) {
        struct player *player = &program->ranks[rank];

        begin[rank] = player->now;
        player->now += chance_below(100 * US) + US;
        for (int64_t i = chance_below(3); i > 0; i--) {
            work_put(player);
        }
        range_put(player, begin[rank]);
        player->now += US;
    }
    for (int64_t i = chance_below(3); i > 0; i--) {
        int from = (int)chance_below(program->size);
        int to = (int)chance_below(program->size);

        if (from != to) {
            message_put(program, from, to);
        }
    }
    collective_put(program);
    for (int rank = 0; has_steps && rank < program->size; rank++) {
        synth_step(program->ranks[rank].synth, begin[rank],
                   program->ranks[rank].now - begin[rank], round);
    }
}

/* All ranks in MPI_Init or MPI_Finalize, until the last one is. */
static void edge_put(struct program *program, enum name name)
{
    int64_t last = 0;

    for (int rank = 0; rank < program->size; rank++) {
        last =
            program->ranks[rank].now > last ? program->ranks[rank].now : last;
    }
    for (int rank = 0; rank < program->size; rank++) {
        struct player *player = &program->ranks[rank];
        int64_t end = last + chance_below(50 * US) + US;

        synth_call(player->synth, CK_KIND_MPI_CALL, name, player->now,
                   end - player->now, MPI_SITE + 192, ++player->call);
        player->now = end;
    }
}

static void program_make(struct program *program)
{
    int devices = 1 + (int)chance_below(RANKS_MAX);
    int rounds = 2 + (int)chance_below(ROUNDS_MAX - 1);
    bool has_steps = chance_below(2) == 0;
    bool has_edges = chance_below(2) == 0;

    *program = (struct program){.dir = synth_dir(),
                                .size = 2 + (int)chance_below(RANKS_MAX - 1)};
    for (int rank = 0; rank < program->size; rank++) {
        rank_begin(program, rank, devices);
    }
    if (has_edges) {
        edge_put(program, NAME_INIT);
    }
    for (int round = 0; round < rounds; round++) {
        round_put(program, round, has_steps);
    }
    if (has_edges) {
        edge_put(program, NAME_FINALIZE);
    }
    for (int rank = 0; rank < program->size; rank++) {
        synth_exit(program->ranks[rank].synth, 0,
                   program->ranks[rank].now + 20 * US, 0);
        synth_destroy(program->ranks[rank].synth);
    }
}

static void program_end(struct program *program)
{
    synth_remove(program->dir);
    free(program->text);
}

/* What ckmerge finds of some of the ranks; NULL = of all. */
static void report_of(struct program *program,
                      const char *options,
                      const char *ranks,
                      struct flatjson *flat)
{
    if (program_merge(&program->text, "/", "%s%s%s -o json %s", options,
                      ranks == NULL ? "" : " --ranks ",
                      ranks == NULL ? "" : ranks, program->dir) != 0) {
        fail_msg("%s", program->text);
    }
    flatjson_read(flat, program->text);
}

/* ---- what holds --------------------------------------------------------- */

static bool is_sum(const struct flatjson *whole,
                   const struct flatjson halves[2],
                   const char *table,
                   const char *field)
{
    int64_t all = flatjson_sum(whole, table, field);
    int64_t sum = flatjson_sum(&halves[0], table, field) +
                  flatjson_sum(&halves[1], table, field);

    if (all != sum) {
        print_error("%s.%s: %lld of all, %lld of both\n", table, field,
                    (long long)all, (long long)sum);
    }
    return all == sum;
}

static bool do_halves_add_up(const struct flatjson *whole,
                             const struct flatjson halves[2])
{
    static const struct {
        const char *table, *field;
    } sums[] = {
        {"ranks", "waited_ns"},
        {"ranks", "useful_ns"},
        {"ranks", "mpi_ns"},
        {"ranks", "waits"},
        {"edge_waits", "ns"},
        {"waits", "ns"},
        {"waits", "count"},
        {"stragglers", "caused_ns"},
        {"kernels", "calls"},
        {"kernels", "busy_ns"},
        {"kernels", "total_ns"},
        {"lines", "busy_ns"},
        {"lines", "core_ns"},
        {"lines", "calls"},
        {"calls", "calls"},
        {"calls", "total_ns"},
        {"calls", "bytes"},
        {"ranges", "calls"},
        {"ranges", "total_ns"},
        {"counters", "value"},
        {"hot_spots", "ns"},
        {"step_table.rows", "launches"},
        {"step_table.rows", "collectives"},
        {"step_table.rows", "waited_ns"},
    };
    bool is_right = true;

    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        is_right =
            is_sum(whole, halves, sums[i].table, sums[i].field) && is_right;
    }
    return is_right;
}

static int64_t value_of(const struct flatjson *flat, const char *path)
{
    const char *value = flatjson_at(flat, "%s", path);

    assert_non_null(value);
    return strtoll(value, NULL, 10);
}

/* Who waited, for whom, why, and what is shown as late are one sum. */
static bool is_one_sum(const struct flatjson *flat)
{
    int64_t waited = flatjson_sum(flat, "ranks", "waited_ns");
    int64_t waits = flatjson_sum(flat, "waits", "ns");
    int64_t late = flatjson_sum(flat, "stragglers", "caused_ns");
    int64_t delays = flatjson_sum(flat, "delays.items", "ns") +
                     value_of(flat, "delays.others_ns") +
                     value_of(flat, "delays.unexplained_ns");
    const char *closed = flatjson_at(flat, "trust.ledger_closed");

    if (waits != waited || late != waited || delays != waited ||
        strcmp(closed, "true") != 0) {
        print_error("waited %lld, in rows %lld, late %lld, by delays %lld, "
                    "ledger %s\n",
                    (long long)waited, (long long)waits, (long long)late,
                    (long long)delays, closed);
        return false;
    }
    return true;
}

/* Each row of a half is a row of the whole, known by a field. */
static bool are_rows_kept(const struct flatjson *whole,
                          const struct flatjson *half,
                          const char *table,
                          const char *key)
{
    size_t length = strlen(table);

    for (size_t i = 0; i < half->count; i++) {
        const struct flatjson_item *item = &half->items[i];
        const char *name, *kept;
        char *field;
        long row;

        if (strncmp(item->path, table, length) != 0 ||
            item->path[length] != '.') {
            continue;
        }
        row = strtol(item->path + length + 1, &field, 10);
        name = flatjson_at(half, "%s.%ld.%s", table, row, key);
        kept = flatjson_at(whole, "%s.%d%s", table,
                           flatjson_row(whole, table, key, name), field);
        /* Waits are those of the ranks that are shown. */
        if (strcmp(field, ".caused_ns") != 0 &&
            (kept == NULL || strcmp(kept, item->value) != 0)) {
            print_error("%s: %s of all, %s here\n", item->path,
                        kept == NULL ? "nothing" : kept, item->value);
            return false;
        }
    }
    return true;
}

static bool is_region_kept(const struct flatjson *whole,
                           const struct flatjson *half)
{
    static const char *const paths[] = {"region.start_ns",  "region.end_ns",
                                        "region.kind",      "whole.ns",
                                        "step_table.count", "trust.events"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const char *of_all = flatjson_at(whole, "%s", paths[i]);
        const char *here = flatjson_at(half, "%s", paths[i]);

        if (of_all == NULL || here == NULL || strcmp(of_all, here) != 0) {
            print_error("%s: %s of all, %s here\n", paths[i], of_all, here);
            return false;
        }
    }
    return true;
}

/* Some of the ranks, at least one, and not all; and the others. */
static void ranks_split(int size, char *texts[2])
{
    int32_t lists[2][RANKS_MAX];
    size_t counts[2] = {0, 0};

    while (counts[0] == 0 || counts[1] == 0) {
        counts[0] = counts[1] = 0;
        for (int32_t rank = 0; rank < size; rank++) {
            int64_t half = chance_below(2);

            lists[half][counts[half]++] = rank;
        }
    }
    for (int half = 0; half < 2; half++) {
        texts[half] = rankset_text(lists[half], counts[half]);
    }
}

static bool is_filter_wrong(void *state)
{
    struct flatjson whole = {0}, halves[2] = {{0}, {0}};
    struct program program;
    static const char *const parts[] = {"", "--from 5us --to 1200us",
                                        "--region load#2"};
    const char *part = parts[chance_below(3)];
    char *ranks[2];
    bool is_right;

    (void)state;
    program_make(&program);
    ranks_split(program.size, ranks);
    report_of(&program, part, NULL, &whole);
    is_right = is_one_sum(&whole);
    for (int half = 0; half < 2; half++) {
        report_of(&program, part, ranks[half], &halves[half]);
        is_right = is_one_sum(&halves[half]) &&
                   is_region_kept(&whole, &halves[half]) &&
                   are_rows_kept(&whole, &halves[half], "ranks", "rank") &&
                   are_rows_kept(&whole, &halves[half], "devices", "uuid") &&
                   is_right;
        free(ranks[half]);
    }
    is_right = do_halves_add_up(&whole, halves) && is_right;
    flatjson_fini(&whole);
    flatjson_fini(&halves[0]);
    flatjson_fini(&halves[1]);
    program_end(&program);
    return !is_right;
}

static void a_filter_chooses_rows_and_changes_none(void **state)
{
    (void)state;
    chance_worlds(RUNS, is_filter_wrong, NULL);
}

/* Four ranks, each with a device, the last one late in each of 20 rounds. */
static void late_make(struct program *program)
{
    *program = (struct program){.dir = synth_dir(), .size = 4};
    for (int rank = 0; rank < program->size; rank++) {
        rank_begin(program, rank, program->size);
        program->ranks[rank].now = MS;
    }
    for (int round = 0; round < 20; round++) {
        for (int rank = 0; rank < program->size; rank++) {
            work_put(&program->ranks[rank]);
            program->ranks[rank].now = MS + round * 6 * MS;
        }
        program->ranks[3].now += 5 * MS;
        collective_put(program);
    }
    for (int rank = 0; rank < program->size; rank++) {
        synth_exit(program->ranks[rank].synth, 0, program->ranks[rank].now, 0);
        synth_destroy(program->ranks[rank].synth);
    }
}

/* Who is late is named though he was not asked for, and marked. */
static void a_late_rank_that_is_left_out_is_marked(void **state)
{
    struct program program;

    (void)state;
    late_make(&program);
    assert_int_equal(
        program_merge(&program.text, "/", "--ranks 0,2 %s", program.dir), 0);
    assert_non_null(strstr(program.text, "2 of 4 ranks selected"));
    assert_non_null(strstr(program.text, "ranks waited 200 ms for rank 3 "
                                         "(not among --ranks)"));
    assert_non_null(strstr(program.text, "2 of 2 ranks in MPI_Allreduce"));
    assert_non_null(strstr(program.text, "  0,2\n")); /* of a kernel */
    assert_int_equal(
        program_merge(&program.text, "/", "--ranks 0,3 %s", program.dir), 0);
    assert_null(strstr(program.text, "not among"));
    program_end(&program);
}

static double elapsed_of(struct program *program, const char *options)
{
    struct flatjson flat = {0};
    char path[4096], command[8192];
    FILE *file;
    size_t length;
    double elapsed;

    (void)snprintf(path, sizeof(path), "%s/lines.json", program->dir);
    (void)snprintf(command, sizeof(command), "--kernel-only -q %s %s %s",
                   options, program->dir, path);
    assert_int_equal(program_merge(&program->text, "/", "%s", command), 0);
    free(program->text);
    program->text = calloc(1, 1 << 20);
    file = fopen(path, "re");
    assert_non_null(file);
    length = fread(program->text, 1, (1 << 20) - 1, file);
    assert_int_equal(fclose(file), 0);
    assert_true(length > 0);
    flatjson_read(&flat, program->text);
    elapsed = strtod(flatjson_at(&flat, "elapsed_time_sec"), NULL);
    flatjson_fini(&flat);
    return elapsed;
}

/* Times of lines are sums over the ranks that are shown. */
static void a_profile_of_some_ranks_lasts_as_long_as_they_do(void **state)
{
    struct program program;
    double all, half;

    (void)state;
    late_make(&program);
    all = elapsed_of(&program, "");
    half = elapsed_of(&program, "--ranks 1,3");
    assert_true(all > 0.4 && half > 0.499 * all && half < 0.501 * all);
    program_end(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_chooses_rows_and_changes_none),
        cmocka_unit_test(a_late_rank_that_is_left_out_is_marked),
        cmocka_unit_test(a_profile_of_some_ranks_lasts_as_long_as_they_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
