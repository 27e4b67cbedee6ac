/* test_region.c - the part of a run that its figures are about
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *      ms  0    1    2    3    4              10   11
 *   rank 0 [ Init ]  ........ computes .......|Finalize, waits for rank 1 .|
 *   rank 1 [    Init      ]  .... computes ................|Finalize
 *
 * Rank 0 comes back from MPI_Init at 2 ms and calls MPI_Finalize at 6, rank 1
 * at 3 and 10.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/merge/program.h"
#include "tests/merge/synth.h"

#define MS ((int64_t)1000000)
#define SITE ((uint64_t)0x401000)

enum name { N_INIT = 1, N_FINALIZE, N_KERNEL, N_LAUNCH };

struct fixture {
    char *dir;
    char *text;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->dir = synth_dir();
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    free(fixture->text);
    synth_remove(fixture->dir);
    free(fixture);
    return 0;
}

/* A rank that began MPI from 1 ms to `back`. */
static struct synth *begin(const char *dir, int rank, int64_t back)
{
    const struct synth_rank who = {.rank = rank,
                                   .size = 2,
                                   .host = "node",
                                   .timens = "t",
                                   .clock = CK_CLOCK_RAW};
    struct synth *synth = synth_create(dir, (unsigned)rank + 1, &who);

    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, N_INIT, 0, 0, "MPI_Init", 8);
    synth_text(synth, CK_KIND_NAME, N_FINALIZE, 0, 0, "MPI_Finalize", 12);
    synth_text(synth, CK_KIND_NAME, N_KERNEL, 0, 0, "forward", 7);
    synth_text(synth, CK_KIND_NAME, N_LAUNCH, 0, 0, "clFlush", 7);
    synth_call(synth, CK_KIND_MPI_CALL, N_INIT, MS, back - MS, SITE, 1);
    return synth;
}

static void end(struct synth *synth, int64_t finalize)
{
    synth_call(synth, CK_KIND_MPI_CALL, N_FINALIZE, finalize,
               11 * MS - finalize, SITE, 9);
    synth_exit(synth, 0, 12 * MS, 0);
    synth_destroy(synth);
}

static const char *json(struct fixture *fixture, const char *options)
{
    assert_int_equal(program_merge(&fixture->text, "/", "-o json %s %s",
                                   options, fixture->dir),
                     0);
    return fixture->text;
}

static void it_goes_from_the_first_mpi_init_to_the_last_finalize(void **state)
{
    struct fixture *fixture = *state;
    const char *text;

    end(begin(fixture->dir, 0, 2 * MS), 6 * MS);
    end(begin(fixture->dir, 1, 3 * MS), 10 * MS);
    text = json(fixture, "");
    assert_non_null(strstr(text, "\"start_ns\": 2000000,\n"
                                 "    \"end_ns\": 10000000,\n"
                                 "    \"ns\": 8000000,\n"
                                 "    \"kind\": \"mpi\""));
    /* Rank 0 outside MPI for 4 ms, rank 1 for 7 of 8: 11 of 16. */
    assert_non_null(strstr(text, "\"useful_ns\": 4000000"));
    assert_non_null(strstr(text, "\"useful_ns\": 7000000"));
    assert_non_null(strstr(text, "\"parallel\": 0.6875"));
    assert_non_null(strstr(text, "\"serialisation\": 0.875"));
    assert_non_null(strstr(text, "\"startup_ns\": 1000000"));
}

static void a_wait_in_finalize_is_one_like_at_a_barrier(void **state)
{
    struct fixture *fixture = *state;
    const char *text;

    end(begin(fixture->dir, 0, 2 * MS), 6 * MS);
    end(begin(fixture->dir, 1, 3 * MS), 10 * MS);
    text = json(fixture, "");
    assert_non_null(strstr(text, "\"waited_ns\": 4000000"));
    assert_non_null(strstr(text, "\"caused_ns\": 4000000"));
    text = strstr(text, "\"waits\"");
    assert_non_null(text);
    assert_non_null(strstr(text, "\"wait\": \"wait_at_finalize\""));
    assert_true(strstr(text, "\"wait\": \"wait_at_finalize\"") <
                strstr(text, "\"edge_waits\""));
    assert_int_equal(program_merge(&fixture->text, "/", "%s", fixture->dir), 0);
    assert_non_null(strstr(fixture->text, "Others waited 4.00 ms for rank 1"));
    assert_null(strstr(fixture->text, "in MPI_Finalize for rank 1"));
}

/* Of the device's idle time until it ends: up to 3 ms rank 1 is in its startup,
 * though it had given the device work before. */
static void startup_ends_with_a_ranks_own_mpi_init(void **state)
{
    struct fixture *fixture = *state;
    struct synth *synth = begin(fixture->dir, 1, 3 * MS);
    const char *text;

    synth_kernel(synth, N_KERNEL, MS / 4, MS / 4, 100, 0);
    synth_call(synth, CK_KIND_API_OPENCL, N_LAUNCH, 5 * MS, MS, SITE, 2);
    synth_kernel(synth, N_KERNEL, 6 * MS, MS, 100, 2);
    end(synth, 10 * MS);
    end(begin(fixture->dir, 0, 2 * MS), 6 * MS);
    text = json(fixture, "");
    assert_non_null(strstr(text, "\"startup\": 1000000"));
    assert_non_null(strstr(text, "\"host_compute\": 2000000"));
    assert_non_null(strstr(text, "\"end_of_work\": 3000000"));
    assert_non_null(strstr(text, "\"ledger_closed\": true"));
}

/* Rank 0's device could have had more work, had rank 1 been there. */
static void a_device_waits_in_finalize_for_the_rank_that_is_late(void **state)
{
    struct fixture *fixture = *state;
    struct synth *synth = begin(fixture->dir, 0, 2 * MS);
    const char *text;

    synth_call(synth, CK_KIND_API_OPENCL, N_LAUNCH, 2 * MS, MS, SITE, 2);
    synth_kernel(synth, N_KERNEL, 3 * MS, 2 * MS, 100, 2);
    end(synth, 6 * MS);
    end(begin(fixture->dir, 1, 3 * MS), 10 * MS);
    text = json(fixture, "");
    assert_non_null(strstr(text, "\"end_of_work\": 1000000"));
    assert_non_null(strstr(text, "\"mpi_wait\": 4000000"));
    assert_non_null(strstr(text, "\"ledger_closed\": true"));
}

static void calls_are_counted_in_the_whole_run(void **state)
{
    struct fixture *fixture = *state;
    const char *text;

    end(begin(fixture->dir, 0, 2 * MS), 6 * MS);
    end(begin(fixture->dir, 1, 3 * MS), 10 * MS);
    text = strstr(json(fixture, ""), "\"calls\": [");
    assert_non_null(text);
    assert_non_null(strstr(text, "\"calls\": 2,\n      \"calls_in_run\": 2"));
    assert_null(strstr(text, "\"calls\": 0,"));
    /* Of a part that was asked for, those in it. */
    text = strstr(json(fixture, "--from 0.003s --to 0.004s"), "\"calls\": [");
    assert_non_null(text);
    assert_non_null(strstr(text, "\"calls\": 0,\n      \"calls_in_run\": 2"));
}

/* The rank is in a call from then on, until a signal ends it at 12 ms. Its ring
 * shows that call behind its end, too. */
static void stay(struct synth *synth, enum name name, int64_t start, int signal)
{
    struct ck_open open = {
        .e = {.kind = CK_KIND_OPEN, .name = name, .start = start},
        .site = SITE,
        .tid = 100,
        .call = 9,
        .incarnation = 1,
        .kind = CK_KIND_MPI_CALL,
        .seen = start + 8 * MS};

    if (name != 0) {
        synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
        synth_put(synth, &open);
    }
    synth_exit(synth, signal, 12 * MS, 0);
    synth_destroy(synth);
}

/* Rank 0 is in MPI_Finalize from 6 ms on, rank 1 never calls it. */
static void a_call_that_never_ends_is_a_wait(void **state)
{
    struct fixture *fixture = *state;
    const char *text;

    stay(begin(fixture->dir, 0, 2 * MS), N_FINALIZE, 6 * MS, 15);
    stay(begin(fixture->dir, 1, 3 * MS), 0, 0, 15);
    text = json(fixture, "");
    assert_non_null(strstr(text, "\"start_ns\": 2000000,\n"
                                 "    \"end_ns\": 12000000"));
    assert_non_null(strstr(text, "\"waited_ns\": 6000000"));
    assert_non_null(strstr(text, "\"caused_ns\": 6000000"));
    assert_non_null(strstr(text, "\"ns\": 6000000"));
    assert_non_null(strstr(text, "\"absent\": [\n        1\n      ]"));
    assert_int_equal(program_merge(&fixture->text, "/", "%s", fixture->dir), 0);
    assert_non_null(strstr(fixture->text, " When it was interrupted:\n"
                                          "   1 of 2 ranks had waited in "
                                          "MPI_Finalize, which rank 1 had not "
                                          "entered, for 6.00 ms\n"));
}

/* Rank 1 died: what rank 0 waited, it waited for that one. */
static void a_rank_that_died_is_waited_for(void **state)
{
    struct fixture *fixture = *state;

    stay(begin(fixture->dir, 0, 2 * MS), N_FINALIZE, 6 * MS, 15);
    stay(begin(fixture->dir, 1, 3 * MS), 0, 0, 11);
    assert_int_equal(program_merge(&fixture->text, "/", "%s", fixture->dir), 0);
    assert_null(strstr(fixture->text, "interrupted:"));
    assert_non_null(strstr(fixture->text,
                           "\n 1 of 2 ranks waited in MPI_Finalize, which rank "
                           "1 never entered, for 6.00 ms\n"));
}

/* Rank 1 dies at 8 ms, between two calls; rank 0 waits for it from 6 ms to its
 * own end at 12. */
static void behind_its_end_a_rank_has_no_time_and_does_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct synth *dead = begin(fixture->dir, 1, 3 * MS);
    const char *text;

    stay(begin(fixture->dir, 0, 2 * MS), N_FINALIZE, 6 * MS, 15);
    synth_exit(dead, 11, 8 * MS, 0);
    synth_destroy(dead);
    text = json(fixture, "");
    assert_non_null(strstr(text, "\"start_ns\": 2000000,\n"
                                 "    \"end_ns\": 12000000"));
    /* Rank 1 from 3 to 8 ms, rank 0 from 2 to 6. */
    assert_non_null(strstr(text, "\"gone_ns\": 4000000,\n"
                                 "      \"useful_ns\": 5000000"));
    assert_non_null(strstr(text, "\"gone_ns\": 4000000,\n"
                                 "    \"useful_ns\": 9000000"));
    /* Of 6 ms that rank 0 waited it did something in 2. */
    assert_non_null(strstr(text, "\"seen_ns\": 2000000"));
    assert_null(strstr(text, "\"seen_ns\": 6000000"));
    assert_int_equal(program_merge(&fixture->text, "/", "%s", fixture->dir), 0);
    assert_non_null(strstr(fixture->text, "% of it rank 1 had ended."));
    assert_null(strstr(fixture->text, "While they waited it was"));
}

/* A program that writes to what is mapped in it overwrote them. */
static void times_of_all_times_make_no_region_without_a_length(void **state)
{
    const struct synth_rank who = {
        .size = 1, .host = "node", .timens = "t", .clock = CK_CLOCK_RAW};
    struct fixture *fixture = *state;
    struct synth *synth = synth_create(fixture->dir, 1, &who);
    int64_t far = INT64_MAX / 10 * 9;

    synth_stream(synth, 1, 0, 100);
    synth_text(synth, CK_KIND_NAME, N_LAUNCH, 0, 0, "clFlush", 7);
    synth_call(synth, CK_KIND_API_OPENCL, N_LAUNCH, -far, MS, SITE, 1);
    synth_call(synth, CK_KIND_API_OPENCL, N_LAUNCH, 5 * MS, MS, SITE, 2);
    synth_call(synth, CK_KIND_API_OPENCL, N_LAUNCH, far, MS, SITE, 3);
    synth_exit(synth, 0, 12 * MS, 0);
    synth_destroy(synth);
    (void)program_merge(&fixture->text, "/", "-o json %s", fixture->dir);
    assert_non_null(strstr(fixture->text, "\"kind\": \"whole\""));
    assert_non_null(strstr(fixture->text, "\"ns\": 4611686018427387904,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            it_goes_from_the_first_mpi_init_to_the_last_finalize, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            a_wait_in_finalize_is_one_like_at_a_barrier, setup, teardown),
        cmocka_unit_test_setup_teardown(startup_ends_with_a_ranks_own_mpi_init,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_device_waits_in_finalize_for_the_rank_that_is_late, setup,
            teardown),
        cmocka_unit_test_setup_teardown(calls_are_counted_in_the_whole_run,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_that_never_ends_is_a_wait, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_rank_that_died_is_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            behind_its_end_a_rank_has_no_time_and_does_nothing, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            times_of_all_times_make_no_region_without_a_length, setup,
            teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
