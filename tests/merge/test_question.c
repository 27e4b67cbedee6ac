/* test_question.c - where the ranks of a job are that runs: what of its run is
 * read for that
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks, a hundred frames each of sixteen MPI_Allreduce 1 ms apart, with 3
 * s between two of them in the middle. In frame 40 both ranks are once in a
 * MPI_Bcast on a communicator that only they have.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
};

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
           (frame >= FRAMES / 2 ? PAUSE : 0);
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
                                 .start = end_of(FRAMES - 1)},
                           .site = SITE + in->name,
                           .tid = 100,
                           .call = 1,
                           .object = in->comm,
                           .seq = in->seq,
                           .incarnation = 1,
                           .kind = CK_KIND_COLLECTIVE,
                           .seen = end_of(FRAMES - 1) + in->age};

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
    for (int frame = 0; frame < FRAMES; frame++) {
        frame_put(synth, frame);
    }
    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    if (rank == 1) {
        synth_put(synth, &open);
    }
    synth_destroy(synth);
}

/* The run, and the answer to where its ranks are. */
static const char *ask(struct fixture *fixture, struct in_call in)
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
    (void)program_merge(&fixture->text, fixture->run,
                        "--live --quiet --no-page --output where .");
    return fixture->text;
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return *state == NULL;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    synth_remove(fixture->run);
    free(fixture->text);
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
                                     FRAMES * CALLS + 1, 20 * MS});

    assert_says(text, "MPI_Allreduce");
    assert_says(text, "rank 0 ");
    assert_says(text, "the longest 1.00 ms (of late)");
}

static void all_are_read_where_a_call_may_be_a_hang(void **state)
{
    const char *text =
        ask(*state, (struct in_call){NAME_ALLREDUCE, COMM_WORLD,
                                     FRAMES * CALLS + 1, 2000 * MS});

    assert_says(text, "the longest 3.00 s.");
}

static void a_rank_that_left_a_collective_long_ago_is_not_missing(void **state)
{
    const char *text =
        ask(*state, (struct in_call){NAME_BCAST, COMM_PAIR, 1, 20 * MS});

    assert_null(strstr(text, "had not entered"));
    assert_says(text, "The job is running");
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
