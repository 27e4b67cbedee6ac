/* test_question.c - where the ranks of a job are that runs: what of its run is
 * read for that
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks, some hundred frames each of sixteen MPI_Allreduce 1 ms apart, with
 * 3 s between two of them in the middle. In frame 40 both ranks are once in a
 * MPI_Bcast on a communicator that only they have.
 */
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merge/input/rundir.h"
#include "schema/store/frameindex.h"
#include "schema/store/run.h"
#include "tests/aggregator/runindex.h"
#include "tests/merge/program.h"
#include "tests/merge/synth.h"

#define MS ((int64_t)1000000)
#define SITE ((uint64_t)0x401000)
#define FRAMES 100
#define CALLS 16
#define PAUSE (3000 * MS)
#define BCAST_FRAME 40

enum name { NAME_ALLREDUCE = 1, NAME_BCAST };
enum comm { COMM_WORLD = 1, COMM_PAIR };

struct fixture {
    char *run;
    char *text; /* of the last command */
    char *other;
    void *index; /* of its frames */
};

/* Frames of each rank. */
static int frames = FRAMES;

/* A call that rank 1 is in when its collector looks, `age` later. */
struct in_call {
    enum name name;
    enum comm comm;
    uint32_t seq;
    int64_t age;
};

static int64_t end_of(int frame)
{
    return (int64_t)(frame + 1) * CALLS * MS +
           (frame >= frames / 2 ? PAUSE : 0);
}

static void collective_put(struct synth *synth,
                           enum name name,
                           enum comm comm,
                           uint32_t seq,
                           int64_t start)
{
    struct ck_collective record = {
        .e = {.kind = CK_KIND_COLLECTIVE, .name = name, .start = start},
        .dur = MS / 10,
        .site = SITE + name,
        .call = (uint32_t)(start / (MS / 10)),
        .comm = comm,
        .seq = seq,
        .root = name == NAME_BCAST ? 0 : -1};

    synth_put(synth, &record);
}

static void frame_put(struct synth *synth, int frame)
{
    for (int i = 0; i < CALLS; i++) {
        collective_put(synth, NAME_ALLREDUCE, COMM_WORLD,
                       (uint32_t)(frame * CALLS + i + 1),
                       end_of(frame) - (CALLS - i) * MS);
    }
    if (frame == BCAST_FRAME) {
        collective_put(synth, NAME_BCAST, COMM_PAIR, 1, end_of(frame) - MS / 2);
    }
    synth_flush(synth);
}

/* What the collector saw before: calls that were left, stacks. */
static void looks_put(struct synth *synth)
{
    for (int frame = 0; frame < frames - 1; frame += 10) {
        const uint64_t stack[] = {SITE, SITE + (uint64_t)frame};
        struct ck_open open = {.e = {.kind = CK_KIND_OPEN,
                                     .name = NAME_ALLREDUCE,
                                     .start = end_of(frame) - MS},
                               .site = SITE + NAME_ALLREDUCE,
                               .tid = 100,
                               .call =
                                   (uint32_t)((end_of(frame) - MS) / (MS / 10)),
                               .object = COMM_WORLD,
                               .incarnation = 1,
                               .kind = CK_KIND_COLLECTIVE,
                               .seen = end_of(frame) - MS / 2};

        synth_put(synth, &open);
        synth_flush(synth);
        synth_text(synth, CK_KIND_STACK, (uint32_t)frame + 1, 0, 1,
                   (const char *)stack, sizeof(stack));
        synth_flush(synth);
    }
}

static void rank_put(const char *dir, int rank, const struct in_call *in)
{
    const struct synth_rank who = {.rank = rank,
                                   .size = 2,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    char pair[64], world[64];
    struct synth *synth = synth_create(dir, (unsigned)rank, &who);
    struct ck_open open = {.e = {.kind = CK_KIND_OPEN,
                                 .name = in->name,
                                 .start = end_of(frames - 1)},
                           .site = SITE + in->name,
                           .tid = 100,
                           .call = 1,
                           .object = in->comm,
                           .seq = in->seq,
                           .incarnation = 1,
                           .kind = CK_KIND_COLLECTIVE,
                           .seen = end_of(frames - 1) + in->age};

    synth_text(synth, CK_KIND_PROCESS, 1, 100, 0, "train", 5);
    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, NAME_ALLREDUCE, 0, 0, "MPI_Allreduce", 13);
    synth_text(synth, CK_KIND_NAME, NAME_BCAST, 0, 0, "MPI_Bcast", 9);
    (void)snprintf(world, sizeof(world),
                   "how=world\nrank=%d\nsize=2\nmembers=0,1\n", rank);
    synth_text(synth, CK_KIND_COMM, COMM_WORLD, 0, 0, world, strlen(world));
    (void)snprintf(pair, sizeof(pair),
                   "how=split\nrank=%d\nsize=2\nmembers=0,1\n", rank);
    synth_text(synth, CK_KIND_COMM, COMM_PAIR, COMM_WORLD, 1, pair,
               strlen(pair));
    for (int frame = 0; frame < frames; frame++) {
        frame_put(synth, frame);
    }
    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    if (rank == 1) {
        looks_put(synth);
        synth_put(synth, &open);
    }
    synth_destroy(synth);
}

#define WHERE "--live --quiet --no-page --output where "

/* The run. */
static void run_make(struct fixture *fixture, struct in_call in)
{
    char path[PATH_MAX];
    FILE *file;

    fixture->run = synth_dir();
    for (int rank = 0; rank < 2; rank++) {
        rank_put(fixture->run, rank, &in);
    }
    (void)snprintf(path, sizeof(path), "%s/manifest.json", fixture->run);
    file = fopen(path, "we");
    assert_non_null(file);
    fputs("{\"version\": 1, \"state\": \"run\", \"agents\": []}\n", file);
    assert_int_equal(fclose(file), 0);
}

/* A run goes on that was written to of late, however slow this machine is. */
static void write_again(const char *run)
{
    struct ck_run_files files;

    assert_int_equal(ck_run_files(run, &files, NULL), 0);
    assert_true(files.count > 0);
    for (size_t i = 0; i < files.count; i++) {
        assert_int_equal(utimensat(AT_FDCWD, files.paths[i], NULL, 0), 0);
    }
    ck_run_files_free(&files);
}

/* It, and the answer to where its ranks are. */
static const char *ask(struct fixture *fixture, struct in_call in)
{
    run_make(fixture, in);
    (void)program_merge(&fixture->text, fixture->run, WHERE ".");
    return fixture->text;
}

/* The index of its frames: so many of their last bytes may be read. */
static size_t index_make(struct fixture *fixture, uint64_t most)
{
    size_t bytes;

    free(fixture->index);
    fixture->index = runindex_make(fixture->run, most, &bytes);
    assert_non_null(fixture->index);
    assert_int_equal(ck_frameindex_check(fixture->index, bytes, NULL), 0);
    return bytes;
}

/* The answer by the first so many bytes of the index. */
static const char *ask_by(struct fixture *fixture, size_t bytes)
{
    char path[PATH_MAX];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/index", fixture->run);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(fixture->index, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    write_again(fixture->run);
    (void)program_merge(&fixture->other, fixture->run,
                        WHERE "--frames index .");
    return fixture->other;
}

static int setup(void **state)
{
    frames = FRAMES;
    *state = calloc(1, sizeof(struct fixture));
    return *state == NULL;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    synth_remove(fixture->run);
    free(fixture->text);
    free(fixture->other);
    free(fixture->index);
    free(fixture);
    return 0;
}

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        print_error("no \"%s\" in:\n%s", words, text);
        fail();
    }
}

static void old_frames_are_not_read_for_where_ranks_are_now(void **state)
{
    const char *text =
        ask(*state, (struct in_call){NAME_ALLREDUCE, COMM_WORLD,
                                     (uint32_t)frames * CALLS + 1, 20 * MS});

    assert_says(text, "MPI_Allreduce");
    assert_says(text, "rank 0 ");
    assert_says(text, "the longest 1.00 ms (of late)");
}

static void all_are_read_where_a_call_may_be_a_hang(void **state)
{
    const char *text =
        ask(*state, (struct in_call){NAME_ALLREDUCE, COMM_WORLD,
                                     (uint32_t)frames * CALLS + 1, 2000 * MS});

    assert_says(text, "the longest 3.00 s.");
}

static void a_rank_that_left_a_collective_long_ago_is_not_missing(void **state)
{
    const char *text =
        ask(*state, (struct in_call){NAME_BCAST, COMM_PAIR, 1, 20 * MS});

    assert_null(strstr(text, "had not entered"));
    assert_says(text, "The job is running");
}

static const struct in_call short_call = {NAME_ALLREDUCE, COMM_WORLD,
                                          FRAMES *CALLS + 1, 20 * MS};
static const struct in_call long_call = {NAME_ALLREDUCE, COMM_WORLD,
                                         FRAMES *CALLS + 1, 2000 * MS};
static const struct in_call left_call = {NAME_BCAST, COMM_PAIR, 1, 20 * MS};

static void by_an_index_the_answer_is_the_same(void **state)
{
    const struct in_call calls[] = {short_call, long_call, left_call};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (fixture->run != NULL) {
            synth_remove(fixture->run);
        }
        (void)ask(fixture, calls[i]);
        assert_string_equal(ask_by(fixture, index_make(fixture, UINT64_MAX)),
                            fixture->text);
    }
}

static void by_an_index_that_is_cut_the_answer_is_the_same(void **state)
{
    struct fixture *fixture = *state;
    size_t bytes;

    (void)ask(fixture, short_call);
    bytes = index_make(fixture, UINT64_MAX);
    for (size_t cut = 0; cut < bytes; cut += 1 + bytes / 50) {
        const char *text = ask_by(fixture, cut);

        assert_says(text, "ckmerge: warn: the index of frames cannot be "
                          "used: ");
        assert_string_equal(strchr(text, '\n') + 1, fixture->text);
    }
}

/* Frames that are not where the index has them, or are others. */
static void an_index_of_another_run_is_not_believed(void **state)
{
    struct fixture *fixture = *state;
    struct ck_frameindex_file *file;
    struct ck_frameindex_row *rows;
    size_t bytes;

    (void)ask(fixture, short_call);
    bytes = index_make(fixture, UINT64_MAX);
    file = (void *)((struct ck_frameindex_head *)fixture->index + 1);
    for (int fault = 0; fault < 5; fault++) {
        const char *text;
        uint32_t skip = 0;

        (void)index_make(fixture, UINT64_MAX);
        file = (void *)((struct ck_frameindex_head *)fixture->index + 1);
        rows = (void *)ck_frameindex_rows(file);
        while (rows[skip + 1].is_joined == 0 ||
               rows[skip + 1].first == rows[skip].first + rows[skip].units) {
            skip++;
        }
        rows[skip].offset += fault == 0 ? 8 : 0;
        rows[0].units += fault == 1;
        rows[0].first += fault == 2;
        rows[0].records += fault == 3;
        file->end += fault == 4 ? 1 << 20 : 0;
        ck_frameindex_seal(fixture->index, bytes, 2);
        assert_int_equal(ck_frameindex_check(fixture->index, bytes, NULL), 0);
        text = ask_by(fixture, bytes);
        assert_says(text, "ckmerge: warn: the index of frames is not one of "
                          ".: the headers of all are read\n");
        assert_string_equal(strchr(text, '\n') + 1, fixture->text);
    }
}

/* Only a part of the older frames: what is usual is known of that time. */
static void of_an_old_job_the_last_bytes_are_read(void **state)
{
    struct fixture *fixture = *state;

    frames = 4000;
    run_make(fixture,
             (struct in_call){NAME_ALLREDUCE, COMM_WORLD,
                              (uint32_t)frames * CALLS + 1, 5000 * MS});
    (void)program_merge(&fixture->text, fixture->run, WHERE ".");
    assert_says(fixture->text, "5.00 s");
    (void)ask_by(fixture, index_make(fixture, (uint64_t)256 << 10));
    assert_says(fixture->other, "5.00 s");
    assert_says(fixture->other, "(1.00 ms, of late)");
}

static void
clock_ignore(void *state, uint32_t agent, const struct ck_clock_fact *fact)
{
    (void)state;
    (void)agent;
    (void)fact;
}

/* Bytes that opening the run for a question reads. */
static uint64_t read_of(struct fixture *fixture, const void *index)
{
    const struct rundir_question question = {
        .classes = UINT32_MAX - 1, .is_recent = true, .index = index};
    struct defs *defs = defs_create();
    uint64_t before = 0, after = 0;
    struct rundir *rundir;
    FILE *io;

    io = fopen("/proc/self/io", "re");
    assert_non_null(io);
    assert_int_equal(fscanf(io, "rchar: %" SCNu64, &before), 1);
    assert_int_equal(fclose(io), 0);
    rundir = rundir_create_of(fixture->run, defs,
                              (struct clocktaker){.take = clock_ignore},
                              &question, NULL);
    assert_non_null(rundir);
    assert_false(rundir_is_misled(rundir));
    rundir_destroy(rundir);
    defs_destroy(defs);
    io = fopen("/proc/self/io", "re");
    assert_non_null(io);
    assert_int_equal(fscanf(io, "rchar: %" SCNu64, &after), 1);
    assert_int_equal(fclose(io), 0);
    return after - before;
}

/* As each collector has one while it runs: it keeps room on the disk. */
static void empty_spools_make(const struct fixture *fixture)
{
    struct ck_run_files files;

    assert_int_equal(ck_run_files(fixture->run, &files, NULL), 0);
    for (size_t i = 0; i < files.count; i++) {
        struct ck_run_name name;
        char path[PATH_MAX];
        FILE *file;

        assert_true(ck_run_name(files.paths[i], &name));
        assert_int_equal(
            ck_run_segment_path(path, fixture->run, name.agent, true), 0);
        file = fopen(path, "wxe");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
    }
    ck_run_files_free(&files);
}

static void what_is_read_does_not_grow_with_the_age(void **state)
{
    struct fixture *fixture = *state;
    uint64_t young, walked;

    frames = 10 * FRAMES;
    run_make(fixture, short_call);
    (void)index_make(fixture, UINT64_MAX);
    young = read_of(fixture, fixture->index);
    walked = read_of(fixture, NULL);
    synth_remove(fixture->run);
    frames = 40 * FRAMES;
    run_make(fixture, short_call);
    (void)index_make(fixture, UINT64_MAX);
    empty_spools_make(fixture);
    print_message("read: %" PRIu64 " and %" PRIu64 " bytes, without an index "
                  "%" PRIu64 " and %" PRIu64 "\n",
                  young, read_of(fixture, fixture->index), walked,
                  read_of(fixture, NULL));
    assert_true(read_of(fixture, fixture->index) < young + young / 4);
    assert_true(read_of(fixture, NULL) > 3 * walked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            old_frames_are_not_read_for_where_ranks_are_now, setup, teardown),
        cmocka_unit_test_setup_teardown(all_are_read_where_a_call_may_be_a_hang,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_rank_that_left_a_collective_long_ago_is_not_missing, setup,
            teardown),
        cmocka_unit_test_setup_teardown(by_an_index_the_answer_is_the_same,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            by_an_index_that_is_cut_the_answer_is_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(an_index_of_another_run_is_not_believed,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(of_an_old_job_the_last_bytes_are_read,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_read_does_not_grow_with_the_age,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
