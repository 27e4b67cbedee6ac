/* test_textcalls.c - calls and messages of the text report, made by hand
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

#include "tests/merge/saying.h"

#define S ((ck_time_t)1000000000)

/* 12 places of one function, 2 of them on one line, before another function. */
static void a_function_of_many_places_hides_no_other(void **state)
{
    static char functions[12][16];
    struct report_call calls[13] = {0};
    struct report_function rows[] = {
        {.name = "MPI_Isend",
         .kind = "send",
         .calls = 120,
         .total = 12 * S,
         .max = S,
         .ranks = 4,
         .places = 12,
         .moved = {.sent = {120, 360}, .sent_sizes = {120, 1, 9}}},
        {.name = "MPI_Bcast",
         .kind = "collective",
         .calls = 4,
         .total = S,
         .max = S,
         .ranks = 4,
         .places = 1,
         .moved = {.collectives = {4, 100, 300},
                   .collective_sizes = {8, 50, 50}}},
    };
    struct report report = {.calls = calls,
                            .calls_count = 13,
                            .functions = rows,
                            .functions_count = 2};

    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        (void)snprintf(functions[i], sizeof(functions[i]), "halo_%u", i);
        calls[i] = (struct report_call){
            .name = "MPI_Isend",
            .kind = "send",
            .place = {functions[i], "/w/halo.c", i < 2 ? 7 : 10 + i},
            .calls = 10,
            .total = (13 - i) * S,
            .ranks = 4};
    }
    calls[12] = (struct report_call){.name = "MPI_Bcast",
                                     .kind = "collective",
                                     .place = {"main", "/w/main.c", 3},
                                     .calls = 4,
                                     .total = S,
                                     .ranks = 4,
                                     .function = 1};
    say(page_calls, &report);
    assert_non_null(strstr(text, " MPI_Isend, 12 places "));
    assert_non_null(strstr(text, "   halo.c:7 (halo_0) "));
    assert_non_null(strstr(text, "   halo.c:7 (halo_1) "));
    assert_non_null(strstr(text, "   halo.c:12 "));
    assert_null(strstr(text, "   halo.c:21 ")); /* the 12th */
    assert_non_null(strstr(text, " MPI_Bcast  main.c:3 "));
    assert_non_null(strstr(text, " 360 B        -      3 B     4\n"
                                 "   1 B to 9 B each\n"));
    assert_null(strstr(text, "50 B each")); /* all of one size */
    assert_non_null(strstr(text, " 100 B    300 B     50 B     4\n"));
}

/* Templates and overloads of one name, in a library without lines: their
 * places have no address, for each is its function. */
static void instances_of_a_template_are_distinguished(void **state)
{
    static const char *const functions[] = {
        "_ZN3gmx10ddSendrecvIfEEvPKT_", "_ZN3gmx10ddSendrecvIiEEvPKT_",
        "_ZN3gmx10ddSendrecvIiEEvNS_3RefIT_EE", "_ZN3gmx4waitEi"};
    struct report_function row = {.name = "MPI_Sendrecv",
                                  .kind = "send",
                                  .calls = 4,
                                  .total = S,
                                  .places = 4};
    struct report_call calls[4];
    struct report report = {.calls = calls,
                            .calls_count = 4,
                            .functions = &row,
                            .functions_count = 1};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        calls[i] = (struct report_call){.name = "MPI_Sendrecv",
                                        .kind = "send",
                                        .place = {functions[i], NULL, 0},
                                        .calls = 1,
                                        .total = S};
    }
    say(page_calls, &report);
    assert_non_null(strstr(text, "\n   ddSendrecv<float> "));
    assert_non_null(strstr(text, "\n   ddSendrecv<int>(int const*) "));
    assert_non_null(strstr(text, "\n   ddSendrecv<int>(gmx::Ref<int>) "));
    assert_non_null(strstr(text, "\n   gmx::wait "));
    assert_null(strstr(text, "0x"));
}

/* The same in the table of waits. */
static void waits_in_instances_of_a_template_are_distinguished(void **state)
{
    struct report_cause waits[2];
    struct report report = {.region = {0, S},
                            .size = 2,
                            .present = 2,
                            .waits = waits,
                            .waits_count = 2};

    (void)state;
    for (int i = 0; i < 2; i++) {
        waits[i] = (struct report_cause){
            .cause = CAUSE_MPI_WAIT,
            .wait = "late_sender",
            .rank = 1,
            .ranks = 1,
            .ns = S,
            .count = 3,
            .last = 0,
            .blamed = 0,
            .did = {.call = "MPI_Sendrecv",
                    .place = {i == 0 ? "_ZN3gmx10ddSendrecvIfEEvPKT_"
                                     : "_ZN3gmx10ddSendrecvIiEEvPKT_",
                              NULL, 0}}};
    }
    say(page_mpi, &report);
    assert_non_null(strstr(text, "in MPI_Sendrecv (ddSendrecv<float>) for 0"));
    assert_non_null(strstr(text, "in MPI_Sendrecv (ddSendrecv<int>) for 0"));
}

/* A communicator whose label has no room beside what is counted of it. */
static void sizes_of_a_communicator_are_distinguished(void **state)
{
    static const char *const comms[] = {
        "MPI_COMM_WORLD", "split of MPI_COMM_WORLD, 2 ranks",
        "split of another communicator, 12 ranks"};
    static struct report_sizes sizes[3];
    struct report report = {.traffic = {.sizes = sizes, .sizes_count = 3}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        sizes[i].comm = comms[i];
        sizes[i].comms = 1;
        sizes[i].all = sizes[i].bins[3] = (struct report_messages){7, 28};
        sizes[i].collectives = sizes[i].collective_bins[3] =
            (struct report_collectives){9, 36, 36};
    }
    say(page_traffic, &report);
    assert_non_null(strstr(text, "\n MPI_COMM_WORLD           "));
    assert_non_null(strstr(text, "\n MPI_COMM_WORLD, collectives*  "));
    assert_non_null(strstr(text, "\n split of MPI_COMM_WORLD, 2 ranks  "));
    assert_non_null(strstr(text, "\n split of MPI_COMM_WORLD, 2 ranks\n"
                                 "   collectives*   "));
    assert_non_null(strstr(text, "\n split of another communicator, 12 ranks\n"
                                 "   messages   "));
    assert_non_null(strstr(text, "\n split of another communicator, 12 ranks\n"
                                 "   collectives*   "));
}

/* All calls of libc were made by the MPI library's own threads. */
static void a_table_without_rows_has_no_columns(void **state)
{
    struct report_libc libc[] = {{.name = "poll",
                                  .group = "io",
                                  .calls = 4,
                                  .total = S,
                                  .threads = 1,
                                  .ranks = 1,
                                  .own_calls = 4,
                                  .own_total = S,
                                  .own_threads = 1}};
    struct report report = {.libc = libc, .libc_count = 1};

    (void)state;
    say(page_libc, &report);
    assert_non_null(strstr(text, "none by the program's own threads\n Apart, "
                                 "in the MPI library's own threads: poll 1.00 "
                                 "s."));
    assert_null(strstr(text, "longest from"));
    libc[0].calls = 5;
    say(page_libc, &report);
    assert_non_null(strstr(text, "longest from"));
    assert_null(strstr(text, "none by"));
}

/* Two places in a program without symbols. */
static void waits_in_a_file_without_symbols_have_their_offsets(void **state)
{
    struct report_cause waits[2];
    struct report report = {.region = {0, S},
                            .size = 2,
                            .present = 2,
                            .waits = waits,
                            .waits_count = 1};

    (void)state;
    for (int i = 0; i < 2; i++) {
        waits[i] = (struct report_cause){
            .cause = CAUSE_MPI_WAIT,
            .wait = "wait_at_nxn",
            .rank = 1,
            .ranks = 1,
            .ns = S,
            .count = 3,
            .last = 0,
            .blamed = 0,
            .did = {.call = "MPI_Allreduce",
                    .place = {i == 0 ? "pw.x+0x12b9" : "pw.x+0x77c", NULL, 0}}};
    }
    say(page_mpi, &report);
    assert_non_null(strstr(text, "in MPI_Allreduce (pw.x) for 0"));
    report.waits_count = 2;
    say(page_mpi, &report);
    assert_non_null(strstr(text, "in MPI_Allreduce (pw.x+0x12b9) for 0"));
    assert_non_null(strstr(text, "in MPI_Allreduce (pw.x+0x77c) for 0"));
}

static void pairs_of_many_ranks_are_the_largest(void **state)
{
    struct report_rank ranks[17] = {0};
    struct report_pair pairs[7];
    struct report report = {.ranks = ranks,
                            .ranks_count = 17,
                            .traffic = {.pairs = pairs,
                                        .pairs_count = 7,
                                        .sent = {7, 7000},
                                        .received = {7, 7000}}};

    (void)state;
    for (int i = 0; i < 17; i++) {
        ranks[i].number = i;
    }
    for (int i = 0; i < 7; i++) {
        pairs[i] = (struct report_pair){.from = i,
                                        .to = i + 1,
                                        .sent = {1, 1000},
                                        .received = {1, 1000},
                                        .waits = {.all = 3 * S}};
    }
    say(page_traffic, &report);
    assert_non_null(strstr(text, "7 sent from rank to rank, 7.00 kB\n"));
    assert_null(strstr(text, "from\\to"));
    assert_non_null(strstr(text, "  0 to 1: 1 message, 1.00 kB (mean 1.00 kB)\n"
                                 "  1 to 2: "));
    pairs[0].waits = (struct report_pair_waits){
        .all = 3 * S, .sender = S, .collective = 2 * S, .receiver = 4 * S};
    say(page_traffic, &report);
    assert_non_null(
        strstr(text, "(mean 1.00 kB)\n"
                     "      1 waited 1.00 s for 0 to send\n"
                     "      0 waited 4.00 s for 1 to receive\n"
                     "      1 waited 2.00 s for 0 in collectives, MPI_Init or "
                     "MPI_Finalize\n"));
    assert_non_null(strstr(text, "  and 2 more pairs (report.json)\n"));
    report.ranks_count = 8;
    say(page_traffic, &report);
    assert_non_null(strstr(text, "from\\to    0    1    2"));
    assert_non_null(strstr(text, "        1    -    - 1.0k    -"));
}

static void without_devices_there_is_no_line_about_them(void **state)
{
    struct report_rank ranks[2] = {{.number = 0, .useful = S, .mpi_calls = 1},
                                   {.number = 1, .useful = S, .mpi_calls = 1}};
    struct report_function function = {.name = "MPI_Barrier",
                                       .kind = "collective"};
    struct report report = {
        .present = 2,
        .size = 2,
        .region = {0, 2 * S},
        .ranks = ranks,
        .ranks_count = 2,
        .efficiency = {.ranks = 2, .region = 2 * S, .useful = 2 * S},
        .functions = &function,
        .functions_count = 1};

    (void)state;
    say(page_host_answer, &report);
    assert_null(strstr(text, "evice"));
    say(page_hosts, &report);
    assert_null(strstr(text, "STEP"));
    ranks[1].steps = 3;
    say(page_hosts, &report);
    assert_non_null(strstr(text, "STEP"));
    /* It asked a device for something, and nothing came. */
    function.kind = "opencl";
    say(page_host_answer, &report);
    assert_non_null(strstr(text, " No device work was recorded.\n"));
}

/* --ranks with one rank. */
static void one_selected_rank_is_singular(void **state)
{
    struct report_rank rank = {.number = 1, .useful = S, .mpi_calls = 1};
    struct report report = {
        .present = 2,
        .size = 2,
        .region = {0, 2 * S},
        .is_filtered = true,
        .ranks = &rank,
        .ranks_count = 1,
        .efficiency = {.ranks = 1, .region = 2 * S, .useful = S}};

    (void)state;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "1 selected rank was outside MPI 50.0 % of "
                                 "its time"));
}

static void a_file_without_symbols_is_named_with_what_helps_once(void **state)
{
    struct report_hot hot[] = {
        {.place = {"pw.x", NULL, 0}, .is_file = true, .ns = 8 * S},
        {.place = {"libfft.so", NULL, 0}, .is_file = true, .ns = S}};
    struct report report = {.present = 1,
                            .size = 1,
                            .region = {0, 10 * S},
                            .hot = hot,
                            .hot_count = 2,
                            .samples = {.total = 9 * S}};
    const char *hint;

    (void)state;
    say(page_hot_answer, &report);
    hint = strstr(text, " No symbols in pw.x: install its debug symbols (its "
                        "package's -dbgsym) or compile");
    assert_non_null(hint);
    assert_null(strstr(hint + 2, "No symbols"));
    report.unnamed = (struct report_unnamed){
        .file = "pw.x", .build_id = "ab12", .package = "espresso"};
    say(page_hot_answer, &report);
    assert_non_null(strstr(text, "pw.x: install espresso-dbgsym (of"));
    strcpy(report.unnamed.package, "libc6");
    say(page_hot_answer, &report);
    assert_non_null(strstr(text, "pw.x: install libc6-dbg or compile"));
    report.unnamed.package[0] = '\0';
    say(page_hot_answer, &report);
    assert_non_null(strstr(text, "(debuginfod-find"));
    assert_non_null(strstr(text, "ab12 fetches"));
    assert_non_null(strstr(text, "/usr/lib/debug/.build-id/ab/12.debug"));
    report.unnamed.has_rpm = true;
    say(page_hot_answer, &report);
    assert_non_null(strstr(text, "/usr/lib/debug/.build-id/ab/12.debug"));
    report.unnamed.file = "another";
    say(page_hot_answer, &report);
    assert_null(strstr(text, ".build-id"));
    hot[0].is_file = hot[1].is_file = false;
    say(page_hot_answer, &report);
    assert_null(strstr(text, "No symbols"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_function_of_many_places_hides_no_other,
                                  teardown),
        cmocka_unit_test_teardown(pairs_of_many_ranks_are_the_largest,
                                  teardown),
        cmocka_unit_test_teardown(without_devices_there_is_no_line_about_them,
                                  teardown),
        cmocka_unit_test_teardown(
            a_file_without_symbols_is_named_with_what_helps_once, teardown),
        cmocka_unit_test_teardown(instances_of_a_template_are_distinguished,
                                  teardown),
        cmocka_unit_test_teardown(
            waits_in_instances_of_a_template_are_distinguished, teardown),
        cmocka_unit_test_teardown(sizes_of_a_communicator_are_distinguished,
                                  teardown),
        cmocka_unit_test_teardown(one_selected_rank_is_singular, teardown),
        cmocka_unit_test_teardown(a_table_without_rows_has_no_columns,
                                  teardown),
        cmocka_unit_test_teardown(
            waits_in_a_file_without_symbols_have_their_offsets, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
